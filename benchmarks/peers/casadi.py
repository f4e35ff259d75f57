"""CasADi: an equation as generated C, compiled by gcc and mapped over the states."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.peers.common import Absent, Array, Read, Run, as_is, equation

_GCC = ("gcc", "-O3", "-march=native", "-shared", "-fPIC")


class CasADi:
    def __init__(self, textbook: bool = False) -> None:
        import casadi

        self.textbook = textbook

        if shutil.which("gcc") is None:
            raise Absent("gcc is not installed")
        gcc = subprocess.run(
            ["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True
        )
        self.version = f"{casadi.__version__} with gcc {gcc.stdout.strip()}"

    def prepare(self, case: Case, *states: Array) -> tuple[Run, Read]:
        mapped = _compiled(case, len(states), self.textbook).map(case.states)
        out = np.empty((case.states, mapped.size1_out(0)))
        # A buffer reads and writes NumPy's memory in place; a plain call would copy it.
        buffer, evaluate = mapped.buffer()
        for k, x in enumerate(states):
            buffer.set_arg(k, memoryview(x))
        buffer.set_res(0, memoryview(out))

        def run(kept: Any = (buffer, states)) -> Array:
            evaluate()
            return out

        return run, as_is


def _compiled(case: Case, inputs: int, textbook: bool) -> Any:
    import casadi

    symbols = [casadi.SX.sym(f"x{k}", case.model().nv) for k in range(inputs)]
    result = equation(case, textbook)(*map(casadi.vertsplit, symbols))
    rows = [casadi.horzcat(*row) if isinstance(row, list) else row for row in result]
    column = casadi.vec(casadi.densify(casadi.vertcat(*rows)).T)
    function = casadi.Function("equation", symbols, [casadi.cse(column)])
    generator = casadi.CodeGenerator("equation.c")
    generator.add(function)
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "equation.c"), Path(folder, "equation.so")
        source.write_text(generator.dump())
        subprocess.run([*_GCC, source, "-o", library, "-lm"], check=True)
        return casadi.external("equation", str(library))
