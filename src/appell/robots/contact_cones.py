"""Forces within cones of friction: |tangential part| <= mu * normal part.

Of forces with V f = c, rows V being at right angles to each other, the smallest within cones are
f = P(V^T y), the projections on the cones of forces for some y: that of the least
|P(V^T y)|^2 / 2 - c . y, whose slope is V f - c. Newton's method finds it, to rounding, since the
projection is known in closed form. All functions take batches: leading axes broadcast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.robots.contact_forces import RANK, Flags
from appell.robots.system import Array

_SOFT = 1e-8  # weight of forces against what is missing, where something must be: half the digits
_GOOD, _ROUNDING = 1e-9, 1e-14  # what may be missing, of one, and of the forces
_BEYOND = 1e10  # forces so much larger than those without cones count as impossible
_EPS = 1e-15  # of y: what V^T y is rounded by, and so the forces
_STEPS, _STALLED, _SEARCHES = 100, 6, 30  # of Newton's method, without progress, and along each


class Cones(NamedTuple):
    """Of c forces of three parts each: unit normals (c, 3) and coefficients (c,), infinite where a
    force may point anywhere."""

    normal: Array
    mu: Array

    @property
    def axes(self) -> Array:
        """Axes of the cones (c, 3, 3), as rows: the normal, and two across it."""
        least = np.eye(3)[np.abs(self.normal).argmin(axis=-1)]
        t = np.cross(self.normal, least)
        t = t / np.linalg.norm(t, axis=-1, keepdims=True)
        return np.stack([self.normal, t, np.cross(self.normal, t)], axis=-2)

    def nearest(self, x: Array) -> tuple[Array, Array]:
        """The forces within the cones nearest to x (..., c, 3), both in the cones' axes, and their
        derivatives by x (..., c, 3, 3)."""
        limited = np.isfinite(self.mu)
        mu = np.where(limited, self.mu, 1.0)
        n, across = x[..., 0], x[..., 1:]
        t = np.linalg.norm(across, axis=-1)
        inside = (t <= mu * n) | ~limited
        beside = ~inside & (n > -mu * t)  # else the tip is nearest
        # On the cone's side: along d, and round the cone as f turns with x
        d = np.empty_like(x)
        d[..., 0] = 1.0
        d[..., 1:] = mu[..., None] * across / np.maximum(t, 1e-300)[..., None]
        d = d / np.sqrt(1 + mu * mu)[..., None]
        along = (d * x).sum(axis=-1)
        turned = np.zeros_like(x)
        turned[..., 1], turned[..., 2] = -d[..., 2], d[..., 1]
        round_it = along * np.sqrt(1 + mu * mu) / np.maximum(mu * t, 1e-300)
        slope = _outer(d) + round_it[..., None, None] * _outer(turned)
        f = np.where(inside[..., None], x, np.where(beside[..., None], along[..., None] * d, 0.0))
        every = inside[..., None, None] * np.eye(3)
        return f, every + np.where(beside[..., None, None], slope, 0.0)


def _outer(x: Array) -> Array:
    return x[..., :, None] * x[..., None, :]


def within(A: Array, b: Array, cones: Cones) -> Array:
    """The smallest forces f (..., 3 c) within cones for which A f is nearest to b (..., r).

    With A = P S V, forces miss what of b is at right angles to P, whatever they are. Those that
    miss no more have V f = S^-1 P^T b. Where none of them are within the cones,
    1e-8 |f|^2 + |A f - b|^2 is least, in units of A: as near as rounding lets forces be. (Small
    coefficients ask for large forces, and these count less.)
    """
    lead = np.broadcast_shapes(A.shape[:-2], b.shape[:-1])
    A = np.broadcast_to(A, (*lead, *A.shape[-2:]))
    finite = np.asarray(np.isfinite(A).all(axis=(-2, -1)) & np.isfinite(b).all(axis=-1))
    P, S, V = np.linalg.svd(np.where(finite[..., None, None], A, 0.0), full_matrices=False)
    largest = S.max(axis=-1, initial=0.0, keepdims=True)
    felt = np.where(S > RANK * largest, S, np.inf)  # noqa: SIM300
    V = np.where(np.isfinite(felt)[..., None], V, 0.0)
    c = (P.swapaxes(-1, -2) @ b[..., None])[..., 0] / felt
    f = np.where(finite[..., None], (c[..., None, :] @ V)[..., 0, :], np.nan)
    if not np.isfinite(cones.mu).any():
        return f
    axes, count = cones.axes, len(cones.mu)
    own = (axes @ f.reshape(*lead, count, 3, 1))[..., 0]
    todo = finite & (cones.nearest(own)[0] != own).any(axis=(-2, -1))
    if todo.any():
        V, c = V[todo], c[todo]
        V = (axes @ V.reshape(*V.shape[:-1], count, 3, 1)).reshape(V.shape)
        soft = _SOFT * min(1.0, cones.mu.min()) * (largest / felt)[todo] ** 2
        best = (axes.swapaxes(-1, -2) @ _smallest(V, c, soft, cones)[..., None])[..., 0]
        f[todo] = best.reshape(len(c), -1)
    return f


def _smallest(V: Array, c: Array, soft: Array, cones: Cones) -> Array:
    """The smallest forces (B, c, 3), in the cones' axes, with V f = c; or, where there are none,
    with V f + soft y = c."""
    unit = np.linalg.norm(c, axis=-1, keepdims=True)
    c = c / unit
    f, _, missed = _newton(V, c, np.zeros_like(c), c, cones)
    bad = ~(missed <= _GOOD + _ROUNDING * np.linalg.norm(f, axis=(-2, -1)))
    if bad.any():
        V, c, soft, y = V[bad], c[bad], soft[bad], c[bad]
        for easier in (1e8, 1e6, 1e4, 1e2, 1.0):  # y grows as they fall
            best, y, _ = _newton(V, c, easier * soft, y, cones)
        f[bad] = best
    return f * unit[..., None]


def _newton(V: Array, c: Array, E: Array, y: Array, cones: Cones) -> tuple[Array, Array, Array]:
    """Forces f (B, c, 3) and y (B, k) with f = P(V^T y) and V f + E y = c, and how much is missing
    (B,): by Newton's method from y, or from what is best along it."""
    B, k = c.shape
    y = _best_along(_At(V, c, E, y, cones))
    at = _At(V, c, E, y, cones)
    best, kept, least = at.f, y, np.linalg.norm(at.slope, axis=-1)
    since = np.zeros(B, dtype=int)
    for _ in range(_STEPS):
        going = (
            (least > _ROUNDING + _EPS * np.linalg.norm(y, axis=-1))
            & (since < _STALLED)
            & ~at.beyond
        )
        if not going.any():
            break
        H = at.curvature
        size = np.trace(H, axis1=-2, axis2=-1)
        # Where nothing resists, any step down will do; rounding must not make one up.
        H = H + np.where(size > 0, _EPS * size, 1.0)[:, None, None] * np.eye(k)
        step = -np.linalg.solve(H, at.slope[..., None])[..., 0] * going[:, None]
        y = y + _length(at, step)[:, None] * step
        at = _At(V, c, E, y, cones)
        missing = np.linalg.norm(at.slope, axis=-1)
        better = missing < least
        least = np.where(better, missing, least)
        best = np.where(better[:, None, None], at.f, best)
        kept = np.where(better[:, None], y, kept)
        since = np.where(better, 0, since + 1)
    return best, kept, least


class _At:
    """The function to be least, |P(V^T y)|^2 / 2 + y . E y / 2 - c . y, at y (B, k)."""

    def __init__(self, V: Array, c: Array, E: Array, y: Array, cones: Cones) -> None:
        self.V, self.c, self.E, self.y, self.cones = V, c, E, y, cones
        x = (y[:, None] @ V).reshape(len(y), -1, 3)
        self.f, self.turning = cones.nearest(x)
        self.slope = (V @ self.f.reshape(len(y), -1, 1))[..., 0] + E * y - c

    @property
    def curvature(self) -> Array:
        V = self.V.reshape(*self.V.shape[:2], -1, 3, 1)
        PV = (self.turning[:, None] @ V).reshape(self.V.shape)
        return self.V @ PV.swapaxes(-1, -2) + self.E[..., None] * np.eye(self.E.shape[-1])

    @property
    def beyond(self) -> Flags:
        """Whether all forces with V f = c are too large: they are at least c . y / |P(V^T y)|."""
        least = (self.c * self.y).sum(axis=-1)
        return (least > _BEYOND * np.linalg.norm(self.f, axis=(-2, -1))) & ~self.E.any(axis=-1)


def _best_along(at: _At) -> Array:
    """The multiple of y that is best: with y, f grows in proportion."""
    square = (at.f * at.f).sum(axis=(-2, -1)) + (at.E * at.y * at.y).sum(axis=-1)
    down = np.maximum((at.c * at.y).sum(axis=-1), 0.0)
    return np.where(square > 0, down / np.where(square > 0, square, 1.0), 1.0)[:, None] * at.y


def _length(at: _At, step: Array) -> Array:
    """How much of a step to take, (B,), so that half of its slope is gone, or more."""
    whole = np.abs((at.slope * step).sum(axis=-1))
    a, low, high = (np.full(len(step), x) for x in (1.0, 0.0, np.inf))
    for _ in range(_SEARCHES):
        end = _At(at.V, at.c, at.E, at.y + a[:, None] * step, at.cones)
        slope = (end.slope * step).sum(axis=-1)
        short, far = slope < -0.5 * whole, slope > 0.5 * whole
        if not (short | far).any():
            break
        low, high = np.where(short, a, low), np.where(far, a, high)
        between = np.where(low > 0, (low + high) / 2, high / 8)
        a = np.where(short | far, np.where(np.isinf(high), 8 * a, between), a)
    return a
