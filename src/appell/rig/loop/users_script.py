"""The running script, known to another process: a law or a driver may be defined in it."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from appell.errors import InputError

_NAME = "__rig_main__"  # of the script in the other process


class Script(NamedTuple):
    """Where it is: the name of a module, or of a file."""

    name: str
    module: bool


def script_of(pickled: bytes) -> Script | None:
    """The script, if what was pickled has something of it."""
    if b"__main__" not in pickled:
        return None
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None and spec.name != "__main__":
        return Script(spec.name, module=True)
    places = [] if file is None else [Path(file), Path(file).parent]  # the latter of an archive
    found = next((str(path.absolute()) for path in places if path.is_file()), None)
    if found is None:
        raise InputError(
            "rig: a law, mission or driver is defined in this session, which the process of the "
            "control loop cannot read; put it in a file, and import it from there."
        )
    return Script(found, module=False)


def import_script(script: Script) -> None:
    """As this process's main module, but under another name: what it does is not done again."""
    main = sys.modules[_NAME] = ModuleType(_NAME)
    read = runpy.run_module if script.module else runpy.run_path
    main.__dict__.update(read(script.name, run_name=_NAME))
    sys.modules["__main__"] = main


def refuse_import() -> None:
    """A run must not be started by a script that is imported for its classes only."""
    if _NAME in sys.modules:
        raise InputError(
            "rig: the script starts a run when it is imported, as the control loop does to know "
            "the classes in it; put what the script does under if __name__ == '__main__':."
        )
