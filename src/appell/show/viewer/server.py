"""A server of pages on this machine, through viser: started and stopped without a word."""

from __future__ import annotations

import atexit
import errno
import io
import os
import socket
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

    _refuse_taken(host, port)
    with redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=host, port=port, verbose=False)
    atexit.unregister(server.stop)
    atexit.register(stop_server, server)
    return server


def _refuse_taken(host: str, port: int) -> None:
    """Refuse an address that cannot be bound: viser would look for another port, or wait for
    ever."""
    name = address(host, port) if port else host
    try:
        known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, where in known:
            with socket.socket(family, kind, protocol) as probe:
                if os.name == "posix":  # as asyncio does: a port that was just left is free
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(where)
                if port:
                    probe.listen()
    except (OSError, UnicodeError) as problem:
        cure = f"host={LOOPBACK!r} serves this machine alone, '0.0.0.0' all that reach it"
        if isinstance(problem, OSError) and problem.errno == errno.EADDRINUSE:
            cure = "give another port, or none: any that is free is then taken"
        why = getattr(problem, "strerror", None) or str(problem)
        raise AppellError(f"no viewer at {name}: {why}; {cure}.") from None


def address(host: str, port: int) -> str:
    """host:port, as in a URL."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def stop_server(server: Any) -> None:
    """Stop a server; one that has been stopped stays so."""
    if not getattr(server, "stopped_by_appell", False):
        server.stopped_by_appell = True
        with redirect_stdout(io.StringIO()):
            server.stop()
