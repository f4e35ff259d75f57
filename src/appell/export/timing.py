"""How long exported C takes for one step on this machine."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from appell.errors import AppellError
from appell.export.code import Exported

# Valera et al. 2003, section 4: a step of control, in s.
PAPER = {"Pentium, 150 MHz": 0.225e-3, "Pentium II, 350 MHz": 0.061e-3}


def seconds_per_step(exported: Exported) -> float | None:
    """The self-test's time, compiled by $CC or cc with -O2; None if there is no compiler."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not compiler or not shutil.which(compiler[0]):
        return None
    sources = [str(path.resolve()) for path in exported.files if path.suffix == ".c"]
    with TemporaryDirectory(prefix="appell-export-") as folder:
        program = str(Path(folder) / "test")
        flags = ["-std=c99", "-O2", "-DTIMING", "-o", program]
        _run([*compiler, *flags, *sources])
        told = _run([program]).splitlines()[-1]
    return float(told.split()[0]) * 1e-9


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        told = (done.stderr or done.stdout).strip()
        raise AppellError(f"{command[0]} failed with status {done.returncode}: {told}")
    return done.stdout
