"""Tracked: a closed loop's run, sample by sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.control.plant import Step
from appell.errors import InputError
from appell.robot import Array
from appell.simulation.path import NODES, Piece
from appell.simulation.run import Run


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Tracked(Run):
    """The motion under a law, at its N samples: t, q, v, energies, and tau, what the motors gave at
    the start of each period. ``run(t)`` gives q and v between samples, too."""

    desired: Array  # (N, n) where the joints were to be
    commanded: Array  # (N, n) what the law asked for, before any limit
    measured: Array  # (N, n) what the law saw
    state: Array  # (N, nstate) the law's own
    voltage: Array | None = None  # (N, n) of the motors, where they have one

    @property
    def error(self) -> Array:
        """(N, n) desired minus actual positions."""
        return self.desired - self.q

    @property
    def max_error(self) -> float:
        """The largest of all joints and samples; of one joint: abs(run.error[:, j]).max()."""
        return float(np.abs(self.error).max())

    @property
    def rms_error(self) -> float:
        """The root of the mean square over joints and samples."""
        return float(np.sqrt(np.mean(self.error**2)))

    @property
    def final_error(self) -> float:
        """The largest of all joints at the end."""
        return float(np.abs(self.error[-1]).max())

    def __repr__(self) -> str:
        name = self.robot.name if self.robot else "a robot"
        end = f", stopped: {self.stopped}" if self.stopped else ""
        return (
            f"<Tracked run of {name}: {self.t[0]:g} s to {self.t[-1]:g} s, {len(self.t)} samples, "
            f"error at most {self.max_error:.3g}{end}>"
        )

    def resume(self, until: float, **changes: Any) -> Run:
        raise InputError("a tracked run is not resumed; call track with a later until=.")


def pieces(steps: Sequence[Step]) -> list[Piece]:
    """The motion within the integrator's steps: positions, speeds and accelerations at both ends
    make a polynomial of degree five a joint."""
    if not steps:
        return []
    n = steps[0].y0.shape[0] // 2
    starts, ends = (np.array([s[k] for s in steps]) for k in (0, 1))
    y0, y1, dy0, dy1 = (np.array([s[k] for s in steps]) for k in range(2, 6))
    h = (ends - starts)[:, None]
    known = [
        y0[:, :n],
        h * y0[:, n:],
        h**2 * dy0[:, n:],
        y1[:, :n],
        h * y1[:, n:],
        h**2 * dy1[:, n:],
    ]
    q = np.einsum("kc,cin->ikn", _VALUES, known)
    v = np.einsum("kc,cin->ikn", _SLOPES, known) / h[:, None]
    # In the order that files keep: another order is summed, and rounded, in another way.
    nodes = np.ascontiguousarray(np.concatenate([q, v], axis=-1))
    return [
        Piece(start, end, y, end)
        for start, end, y in zip(starts.tolist(), ends.tolist(), nodes, strict=True)
    ]


def _hermite() -> tuple[Array, Array]:
    """What q, q', q'' at 0 and at 1 contribute to q and q' at the nodes, (8, 6) each."""
    powers = np.arange(6)
    at_1 = [powers**0, powers, powers * (powers - 1)]
    at_0 = [np.where(powers == k, (1, 1, 2)[k], 0) for k in range(3)]
    coefficients = np.linalg.inv(np.array([*at_0, *at_1], dtype=float))
    values = NODES[:, None] ** powers
    slopes = powers * NODES[:, None] ** np.maximum(powers - 1, 0)
    return values @ coefficients, slopes @ coefficients


_VALUES, _SLOPES = _hermite()
