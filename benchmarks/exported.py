"""Exported C, as a function that takes many steps in one call."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

_OFTEN = """
#include "puma_step.h"
void often(const double *q, const double *v, const double *qd, const double *vd, const double *ad,
           double *tau, int n)
{
    int k;
    for (k = 0; k < n; k++)
        puma_step(q, v, qd, vd, ad, tau);
}
"""


def stepping(law: Any, states: list[Any], calls: int) -> Callable[[], None] | None:
    """Calls of the law's C at one state; None without a C compiler."""
    import appell

    compiler = shutil.which("cc")
    if compiler is None:
        return None
    with TemporaryDirectory(prefix="appell-benchmarks-") as folder:
        appell.export.c(law, folder, name="puma_step")
        (Path(folder) / "often.c").write_text(_OFTEN)
        library = Path(folder) / "often.so"
        sources = [str(Path(folder) / name) for name in ("often.c", "puma_step.c")]
        flags = ["-std=c99", "-O2", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, *sources, "-o", str(library)], check=True)
        often = ctypes.CDLL(str(library)).often
    arrays = [np.ascontiguousarray(x) for x in states]
    tau = np.empty(law.robot.nv)
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*arrays, tau)]  # which keep them

    def job() -> None:
        often(*pointers, calls)

    job()
    np.testing.assert_array_equal(tau, law.kernel()(*arrays))
    return job
