"""What is timed: a quantity of a robot at a number of states, and who computes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

OURS = "Appell"
OURS_ALIKE = (
    "Appell, float32",
    "Appell, 2 threads",
    "Appell, 2 processes",
    "Appell, float32, 2 threads",
)
BATCH, CALLS = "Pinocchio, batch call", "Pinocchio, call by call"
CASADI, MUJOCO, JAX = "CasADi, compiled map", "MuJoCo, call by call", "JAX, jit and vmap"
CASADI_OURS = "CasADi, our equation"

ALL = (OURS, *OURS_ALIKE, CASADI, CASADI_OURS, JAX, BATCH, CALLS, MUJOCO)
DYNAMICS = ("inverse_dynamics", "forward_dynamics")
DERIVED = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives", "regressor")
CHAINS = {12: 20_000, 24: 10_000, 50: 4_000, 100: 2_000}  # states of a chain of so many joints


@dataclass(frozen=True)
class Case:
    """A quantity of the PUMA 560, or of a random chain of so many joints."""

    section: str
    quantity: str
    states: int
    peers: tuple[str, ...]
    joints: int | None = None

    @property
    def robot(self) -> str:
        return "PUMA 560" if self.joints is None else f"chain of {self.joints} joints"

    def model(self) -> Any:
        from appell.model.library import ROBOTS

        if self.joints is None:
            return ROBOTS["puma560"]()
        return ROBOTS["random_tree"](self.joints, 0, branching=0, prismatic=0)

    def draw(self) -> list[Array]:
        """q, v and a (or tau), each (states, n), or (n,) for one state.

        tau gives accelerations of the size of one, or a long chain would whip about.
        """
        from appell.equations.quantities import QUANTITIES
        from appell.robots.robot import Robot

        robot = Robot(self.model())
        random = np.random.default_rng(0)
        q = random.uniform(-np.pi, np.pi, (self.states, robot.nv))
        v, a = random.normal(size=(2, *q.shape))
        drawn = {"q": q, "v": v, "a": a}
        inputs = QUANTITIES[self.quantity].inputs
        if "tau" in inputs:
            drawn["tau"] = robot.inverse_dynamics(q, v, a)
        return [drawn[name][0] if self.states == 1 else drawn[name] for name in inputs]


def cases(quick: bool = False, states: int | None = None) -> list[Case]:
    """All cases; ``quick`` keeps the first of each section, ``states`` bounds the batches."""
    chosen = [
        *(Case("PUMA 560", x, 100_000, ALL) for x in (*DYNAMICS, "mass_matrix")),
        *(
            Case("chains", x, size, (OURS, *((CASADI, JAX) if n <= 12 else ()), BATCH), n)
            for n, size in CHAINS.items()
            for x in DYNAMICS
        ),
        *(Case("derivatives", x, 10_000, (OURS, CALLS)) for x in DERIVED),
        *(Case("one state", x, 1, (OURS, CALLS, MUJOCO)) for x in (*DYNAMICS, "mass_matrix")),
    ]
    if quick:
        chosen = list({case.section: case for case in reversed(chosen)}.values())[::-1]
        states = states or 20_000
    return [replace(case, states=min(case.states, states or case.states)) for case in chosen]
