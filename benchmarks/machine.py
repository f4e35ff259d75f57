"""The machine, as far as its speed depends on it."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def libraries() -> dict[str, str]:
    """What Appell itself runs on; the peers tell their own versions."""
    named = {name: version(name) for name in ("numpy", "llvmlite")}
    return {"Python": platform.python_version(), **named}


def _cpu() -> str:
    """Its name, and the microarchitecture that kernels are compiled for."""
    import llvmlite.binding as llvm

    information = Path("/proc/cpuinfo")
    text = information.read_text() if information.exists() else ""
    named = re.search(r"model name\s*:\s*(.+)", text)
    return f"{named[1] if named else platform.processor()} ({llvm.get_host_cpu_name()})"
