"""Who is timed. A peer prepares a case: ``run()`` computes it once, ``read(run())`` is its result.

A peer imports its library when it is made, so that a process holds only its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from benchmarks.cases import BATCH, CALLS, CASADI, CASADI_OURS, JAX, MUJOCO, OURS
from benchmarks.peers.appell import Appell, TwoProcesses
from benchmarks.peers.casadi import CasADi
from benchmarks.peers.jax import Jax
from benchmarks.peers.mujoco import MuJoCo
from benchmarks.peers.pinocchio import Pinocchio, PinocchioBatch


class Peer(NamedTuple):
    make: Callable[[], Any]
    threads: int = 1
    tolerance: float = 1e-9  # of its results against ours, relative


# Six decimal digits, less what solving with the PUMA's inertia matrix costs.
_SINGLE = 1e-3

PEERS = {
    OURS: Peer(Appell),
    "Appell, float32": Peer(partial(Appell, "float32"), tolerance=_SINGLE),
    "Appell, 2 threads": Peer(partial(Appell, threads=2), threads=2),
    "Appell, 2 processes": Peer(TwoProcesses, threads=2),
    "Appell, float32, 2 threads": Peer(partial(Appell, "float32", 2), 2, _SINGLE),
    CASADI: Peer(partial(CasADi, textbook=True)),
    CASADI_OURS: Peer(CasADi),
    JAX: Peer(Jax),
    BATCH: Peer(PinocchioBatch),
    CALLS: Peer(Pinocchio),
    MUJOCO: Peer(MuJoCo),
}
