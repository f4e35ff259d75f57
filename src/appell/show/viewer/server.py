"""A server of pages on this machine, through viser: started and stopped without a word."""

from __future__ import annotations

import atexit
import io
from contextlib import redirect_stdout
from importlib.util import find_spec
from typing import Any

from appell.errors import AppellError, InputError

LOOPBACK = "127.0.0.1"


def missing() -> list[str]:
    """What the viewer is made of and is not installed."""
    return [name for name in ("viser", "trimesh") if find_spec(name) is None]


def require_viewer() -> None:
    """Refuse, with the cure, where what the viewer is made of is not installed."""
    if absent := missing():
        raise AppellError(
            f"the viewer needs {' and '.join(absent)}: pip install 'appell[view]' (or pip install "
            "'viser>=1.1' 'trimesh>=4' pycollada)"
        )


def start_server(host: str = LOOPBACK, port: int = 0) -> Any:
    """A viser server, which ends with its process; port 0 is any that is free."""
    require_viewer()
    if not isinstance(host, str) or not host:
        raise InputError(f"host = {host!r}; expected a name or an address, such as {LOOPBACK}.")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536:
        raise InputError(f"port = {port!r}; expected a whole number from 0 (any) to 65535.")
    import viser

    with redirect_stdout(io.StringIO()):
        try:
            server = viser.ViserServer(host=host, port=port, verbose=False)
        except OSError as problem:
            raise AppellError(f"no viewer at {host}:{port}: {problem}; give another.") from None
    atexit.unregister(server.stop)
    atexit.register(stop_server, server)
    return server


def stop_server(server: Any) -> None:
    """Stop a server; one that has been stopped stays so."""
    if not getattr(server, "stopped_by_appell", False):
        server.stopped_by_appell = True
        with redirect_stdout(io.StringIO()):
            server.stop()
