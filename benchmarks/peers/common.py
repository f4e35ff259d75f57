"""What several peers need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.cases import Case

Array = npt.NDArray[np.float64]
Run = Callable[[], Any]
Read = Callable[[Any], Any]


class Absent(Exception):
    """Why a peer does not take part."""


def as_is(result: Any) -> Any:
    return result


# What people write down by the book: Luh, Walker and Paul's Newton-Euler recursion, and Walker
# and Orin's composite bodies.
_TEXTBOOK = {
    "inverse_dynamics": "newton_euler",
    "forward_dynamics": "composite_body",
    "mass_matrix": "composite_body",
}


def equation(case: Case, textbook: bool = False) -> Callable[..., Any]:
    """Our equation, or the textbook's, to be called with the peer's own scalars."""
    from appell.equations.quantities import QUANTITIES
    from appell.robots.robot import Robot

    robot = Robot(case.model())
    ours = robot.default_formulation(case.quantity)
    which = _TEXTBOOK[case.quantity] if textbook else ours
    return partial(QUANTITIES[case.quantity].formulations[which], robot.model)


def call_by_call(call: Callable[..., Any], states: Sequence[Array]) -> Run:
    """One call a state from Python, each result put in its place; a single state is one call."""
    if states[0].ndim == 1:
        return partial(call, *states)
    first = call(*next(zip(*states, strict=True)))
    many = isinstance(first, tuple)
    out = tuple(np.empty((len(states[0]), *x.shape)) for x in (first if many else (first,)))

    def run_many() -> Any:
        for i, state in enumerate(zip(*states, strict=True)):
            for y, x in zip(out, call(*state), strict=True):
                y[i] = x
        return out

    def run() -> Any:
        y = out[0]
        for i, state in enumerate(zip(*states, strict=True)):
            y[i] = call(*state)
        return y

    return run_many if many else run


def placement(body: Any) -> tuple[Array, Array]:
    """A body's axes and origin in its parent's at coordinate zero; its joint is along z."""
    from appell.model.axes import as_array

    R, s = as_array(body.R0), np.array(body.s0, dtype=float)
    if not body.rho:
        return R, s + R[:, 2] * body.shift
    cos, sin = np.cos(body.shift), np.sin(body.shift)
    return R @ [[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]], s
