"""Robust estimates: samples far from the model count less (Huber 1964), by reweighting.

The loss is quadratic up to 1.345 standard deviations and linear beyond, which keeps 95 % of the
efficiency of least squares for normal noise. The scale of each joint is 1.4826 times the median
of the residuals' sizes, from a histogram, so that samples need not be kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock

import numpy as np

from appell.identify.estimate import solve
from appell.identify.estimate.compress import Block
from appell.identify.estimate.samples import Samples
from appell.identify.estimate.solve import Solution, Triangles
from appell.identify.estimate.task import Task
from appell.robots.robot import Array

TUNING = 1.345
_PASSES = 50
_SETTLED = 0.03  # scales that change by less are held: a histogram tells no finer
_BINS = np.concatenate([[0.0], np.logspace(-6, 4, 2001), [np.inf]])  # of |residual| by the scale


def robust(task: Task, samples: Samples, data: Triangles) -> Solution:
    """The robust estimate: from ordinary least squares on, until it moves by less than a thousandth
    of its standard deviations."""
    found = solve.weighted(data, task.start)
    scale = np.maximum(found.noise, 1e-12 * max(found.noise.max(initial=0.0), 1e-300))
    x, passes, settled = found.x, 0, False
    while passes < _PASSES:
        passes += 1
        tally = _Tally(task.joints)
        weighing = _weighing(task, x, scale, tally)
        weighted = samples.compressed(weighing, task.columns, task.count)
        before, used = x, scale
        x = solve.ordinary(weighted, task.start).x
        seen_scale = np.maximum(tally.median(scale) * 1.4826, 1e-12 * scale.max())
        settled = settled or bool((np.abs(seen_scale / scale - 1) < _SETTLED).all())
        scale = scale if settled else seen_scale
        covariance = _covariance(data, used, tally)
        spread = np.sqrt(np.diag(covariance))
        if (np.abs(x - before) <= 1e-3 * spread + 1e-12 * np.abs(x).max()).all():
            break
    outside = {"passes": passes, "outside": tally.outside()}
    return replace(found, x=x, covariance=covariance, noise=scale, chosen=outside)


class _Tally:
    """A pass's statistics of the residuals u, by the scale: their sizes, psi^2 and psi'."""

    def __init__(self, joints: int) -> None:
        self.counts = np.zeros((joints, len(_BINS) - 1))
        self.squares, self.inside, self.samples = np.zeros(joints), np.zeros(joints), 0
        self._lock = Lock()

    def add(self, j: int, u: Array) -> None:
        counts = np.histogram(np.abs(u), _BINS)[0]
        size = np.minimum(np.abs(u), TUNING)
        with self._lock:
            self.counts[j] += counts
            self.squares[j] += size @ size
            self.inside[j] += float((np.abs(u) < TUNING).sum())
            self.samples += len(u) if j == 0 else 0

    def median(self, scale: Array) -> Array:
        total = self.counts[:, :-1].cumsum(axis=1)  # the last bin has no end
        middle = [
            np.interp(n.sum() / 2, row, _BINS[1:-1])
            for n, row in zip(self.counts, total, strict=True)
        ]
        return np.array(middle) * scale

    def outside(self) -> Array:
        """The share of each joint's samples beyond the quadratic part."""
        return 1 - self.inside / max(self.samples, 1)


def _weighing(task: Task, x: Array, scale: Array, tally: _Tally) -> Callable[[Block], list[Array]]:
    full = np.append(x, -1.0)

    def rows(block: Block) -> list[Array]:
        made = []
        for j, (part, places) in enumerate(zip(task.rows(block), task.columns, strict=True)):
            u = part @ full[[*places, -1]] / scale[j]
            tally.add(j, u)
            weight = np.sqrt(np.minimum(1.0, TUNING / np.maximum(np.abs(u), 1e-300)))
            made.append(part * (weight / scale[j])[:, None])
        return made

    return rows


def _covariance(data: Triangles, scale: Array, tally: _Tally) -> Array:
    """H^-1 V H^-1 with H = sum E[psi'] A'A / s^2 and V = sum E[psi^2] A'A / s^2 (Huber 1981)."""
    n = max(tally.samples, 1)
    inside, squares = np.maximum(tally.inside / n, 1e-3), tally.squares / n
    A, _ = data.system(np.sqrt(inside) / scale)
    P, _, _ = solve.by_qr(A)
    ratio = np.sqrt(squares / inside)
    rows = np.repeat(ratio, [len(R) for R in data.factors])
    return (P * rows**2) @ P.T
