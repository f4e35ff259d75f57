"""Appell: its public methods on arrays, results into a given array."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Any

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
        from appell.robots.robot import Robot

        call = partial(
            getattr(Robot(case.model()), case.quantity), *(x.astype(self.dtype) for x in states)
        )
        return (call if case.states == 1 else partial(call, out=call())), as_is


class TwoProcesses(Appell):
    """Half of the states in this process and half in a child: what the machine's second core can
    add at best, for comparison with two threads."""

    def __init__(self) -> None:
        super().__init__()
        if not hasattr(os, "fork") or (os.cpu_count() or 1) < 2:
            raise Absent("this machine cannot run two processes at once")
        self.child: int | None = None

    def prepare(self, case: Case, *states: Array) -> tuple[Run, Read]:
        half = case.states // 2
        whole, read = super().prepare(case, *states)
        out = whole()
        mine, _ = super().prepare(replace(case, states=half), *(x[:half] for x in states))
        other, _ = super().prepare(replace(case, states=half), *(x[half:] for x in states))
        if self.child is not None:
            os.close(self.child)  # the one of an earlier case ends
        go, done = os.pipe(), os.pipe()
        if os.fork() == 0:
            os.close(go[1])
            while os.read(go[0], 1):
                other()
                os.write(done[1], b".")
            os._exit(0)
        os.close(go[0])
        self.child = go[1]

        def run() -> Any:
            os.write(go[1], b".")
            mine()
            os.read(done[0], 1)
            return out

        return run, read
