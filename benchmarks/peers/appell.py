"""Appell: its public methods on arrays, results into a given array."""

from __future__ import annotations

import os
from functools import partial

from benchmarks.cases import Case
from benchmarks.peers.common import Absent, Array, Read, Run, as_is


class Appell:
    def __init__(self, dtype: str = "float64", threads: int = 1) -> None:
        import appell

        if threads > (os.cpu_count() or 1):
            raise Absent(f"this machine has fewer than {threads} cores")
        appell.set_threads(threads)
        self.version = appell.__version__
        self.dtype = dtype

    def prepare(self, case: Case, *states: Array) -> tuple[Run, Read]:
        from appell.robot import Robot

        call = partial(
            getattr(Robot(case.model()), case.quantity), *(x.astype(self.dtype) for x in states)
        )
        return (call if case.states == 1 else partial(call, out=call())), as_is
