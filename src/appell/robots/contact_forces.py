"""Forces that contacts take: those that hold, and those within cones of friction.

With U = K^T J^T (see :mod:`appell.equations.motion.contact_motion`) forces f change x to x + U f.
All functions take batches: leading axes broadcast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from appell.robots.system import Array

Flags = npt.NDArray[np.bool_]

# Contacts are as good as independent while the part of each row that is at right angles to those
# before it is longer than 1e-3 of it: the squares in J M^-1 J^T then cost six digits of sixteen.
INDEPENDENT = 1e-6
_RANK = 1e-10  # of the largest singular value: what is smaller is rounding


def holding(U: Array, x: Array, drift: Array, damping: float = 0.0) -> tuple[Array, Array]:
    """Forces f (..., m, k), and x + U f, with U^T (x + U f) + damping f + drift = 0.

    Where contacts repeat each other, the forces are the smallest that satisfy it as well as can be
    (least squares); x + U f is unique.
    """
    Ut = U.swapaxes(-1, -2)
    G = Ut @ U
    if damping:
        G = G + damping * np.eye(U.shape[-1])
    f, well = _solved(G, Ut @ x + drift)
    if not well.any():
        return _least(U, x, drift, damping)
    np.negative(f, out=f)
    after = x + U @ f
    if not well.all():
        part = ~np.broadcast_to(well, f.shape[:-2])
        U, x, drift = (np.broadcast_to(y, (*part.shape, *y.shape[-2:])) for y in (U, x, drift))
        f[part], after[part] = _least(U[part], x[part], drift[part], damping)
    return f, after


def _solved(G: Array, c: Array) -> tuple[Array, Flags]:
    """G^-1 c of symmetric matrices, by Cholesky's factors, and where it can be trusted."""
    if G.ndim == 2 and len(G):  # NumPy's own functions take longer to begin than to compute
        from scipy.linalg.lapack import dpotrf, dpotrs

        L, failed = dpotrf(G, lower=1)
        if failed or not _independent(L, G).all():
            return c, np.zeros(c.shape[:-2], dtype=bool)
        return dpotrs(L, c, lower=1)[0], np.ones(c.shape[:-2], dtype=bool)
    try:
        well = _independent(np.linalg.cholesky(G), G)
    except np.linalg.LinAlgError:  # somewhere among them: their eigenvalues tell where
        size = np.sqrt(np.maximum(np.diagonal(G, 0, -2, -1), 1e-300))
        unit = np.nan_to_num(G / (size[..., :, None] * size[..., None, :]))
        well = np.linalg.eigvalsh(unit)[..., 0] > INDEPENDENT
    safe = G if well.all() else np.where(well[..., None, None], G, np.eye(G.shape[-1]))
    return np.linalg.solve(safe, c), well


def _independent(L: Array, G: Array) -> Flags:
    pivots = np.diagonal(L, 0, -2, -1)
    return np.asarray((pivots * pivots > INDEPENDENT * np.diagonal(G, 0, -2, -1)).all(axis=-1))


def _least(U: Array, x: Array, drift: Array, damping: float) -> tuple[Array, Array]:
    """The same by singular values, which need no squares and tell what is repeated."""
    P, s, Vt = np.linalg.svd(np.nan_to_num(U), full_matrices=False)  # NaN stays in x
    felt = s > _RANK * s.max(axis=-1, initial=0.0, keepdims=True)
    size = np.where(felt, s, 1.0)
    by_x = np.where(felt, size / (size * size + damping), 0.0)[..., None]
    by_drift = by_x / size[..., None]
    V = Vt.swapaxes(-1, -2)
    f = -(V @ (by_x * (P.swapaxes(-1, -2) @ x) + by_drift * (Vt @ drift)))
    return f, x + U @ f


def repeated(J: Array) -> Array | None:
    """The projection (..., m, m) on forces that press contacts against each other and on nothing
    else, J^T f = 0; None where no contacts repeat others."""
    if _solved(J @ J.swapaxes(-1, -2), J[..., :1])[1].all():
        return None
    P, s, _ = np.linalg.svd(J, full_matrices=True)
    idle = np.ones((*s.shape[:-1], P.shape[-1]))
    idle[..., : s.shape[-1]] = s <= _RANK * s.max(axis=-1, initial=0.0, keepdims=True)
    return (P * idle[..., None, :]) @ P.swapaxes(-1, -2)


# Cones of friction: |tangential part| <= mu * normal part

_STIFF = 1e12  # how much more a missing force counts than a force
_LAST = 1e-13  # of the forces' squares: how far from the best the barrier may leave them
_NEWTON, _HALVINGS = 300, 50  # steps of Newton's method at most, and of each step


class Cones(NamedTuple):
    """Of c forces of three parts each: unit normals (c, 3) and coefficients (c,), infinite where a
    force may point anywhere."""

    normal: Array
    mu: Array

    def inside(self, f: Array) -> Flags:
        """Whether forces (..., c, 3) are within their cones, (..., c)."""
        n = (f * self.normal).sum(axis=-1)
        across = np.linalg.norm(f - n[..., None] * self.normal, axis=-1)
        return (across <= np.where(self.limited, self.mu, 0.0) * n) | ~self.limited

    @property
    def limited(self) -> Flags:
        return np.isfinite(self.mu)


def within(A: Array, b: Array, cones: Cones) -> Array:
    """The smallest forces f (..., 3 c) within cones for which A f is nearest to b (..., r).

    Where the smallest of all forces are within, they are the answer; else a barrier keeps forces
    inside the cones while Newton's method minimises |f|^2 + 1e12 |A f - b|^2, in units of b.
    """
    f = (np.linalg.pinv(A, rcond=_RANK) @ b[..., None])[..., 0]
    missed = np.abs(b - (A @ f[..., None])[..., 0]).max(axis=-1, initial=0.0)
    held = missed <= 1e-9 * np.abs(b).max(axis=-1, initial=0.0)
    fine = held & cones.inside(f.reshape(*f.shape[:-1], -1, 3)).all(axis=-1)
    if not cones.limited.any() or fine.all():
        return f
    todo = ~fine
    f[todo] = _by_barrier(np.broadcast_to(A, (*fine.shape, *A.shape[-2:]))[todo], b[todo], cones)
    return f


def _by_barrier(A: Array, b: Array, cones: Cones) -> Array:
    """By Newton's method, with the barrier -log((mu f_n)^2 - |f_t|^2) of each cone, whose weight
    falls. A and b are scaled, so that forces are about one."""
    size = np.linalg.norm(A, axis=(-2, -1)) / np.sqrt(A.shape[-2])
    big = np.abs(b).max(axis=-1)
    A, b = A / size[:, None, None], b / big[:, None]
    f = np.broadcast_to(cones.normal, (len(b), *cones.normal.shape))
    weight = np.full((len(b), 1), _STIFF)
    for _ in range(_NEWTON):
        at = _Inside(cones, f)
        missing = b[..., None] - A @ f.reshape(len(b), -1, 1)
        slope = at.slope(weight)
        step = _newton_step(A, missing, slope, at.mobility(weight))
        by_step = A @ step.reshape(len(b), -1, 1)
        down = (slope * step).sum(axis=(-2, -1)) - _STIFF * (missing * by_step).sum(axis=(-2, -1))
        worst = 1 + _STIFF * (missing * missing).sum(axis=(-2, -1))
        centred = (-down[:, None] < weight) | (down[:, None] >= 0)
        done = (weight <= _LAST * worst[:, None]) | at.tight
        if (done & centred).all():
            break
        part = at.longest(step)
        for _ in range(_HALVINGS):  # until the sum does not rise again at the step's end
            end = _Inside(cones, f + part[..., None] * step).slope(weight)
            left = missing - part[..., None] * by_step
            rise = (end * step).sum(axis=(-2, -1)) - _STIFF * (left * by_step).sum(axis=(-2, -1))
            far = rise > 0.5 * np.abs(down)
            if not far.any():
                break
            part = np.where(far[:, None], part / 2, part)
        f = f + np.where(done & centred, 0.0, part)[..., None] * step
        weight = np.where(centred & ~done, weight * 0.1, weight)
    return (f * (big / size)[:, None, None]).reshape(len(b), -1)


class _Inside:
    """Forces (B, c, 3) within their cones: their normal parts n, what is across, and the room
    (mu n)^2 - |across|^2 that is left."""

    def __init__(self, cones: Cones, f: Array) -> None:
        self.f, self.normal, self.limited = f, cones.normal, cones.limited
        self.mu = np.where(self.limited, cones.mu, 0.0)
        self.n = (f * self.normal).sum(axis=-1)
        self.across = f - self.n[..., None] * self.normal
        self.t = np.linalg.norm(self.across, axis=-1)
        room = (self.mu * self.n - self.t) * (self.mu * self.n + self.t)
        self.room = np.where(self.limited, room, 1.0)

    @property
    def tight(self) -> Flags:
        """Whether a force is as near to its bound as rounding lets it be, (B, 1)."""
        return (self.room < _LAST * (self.mu * self.n) ** 2).any(axis=1, keepdims=True)

    def slope(self, weight: Array) -> Array:
        """The gradient of |f|^2 / 2 and the weighted barrier."""
        w = np.where(self.limited, weight / self.room, 0.0)[..., None]
        return self.f - 2 * w * ((self.mu**2 * self.n)[..., None] * self.normal - self.across)

    def mobility(self, weight: Array) -> Array:
        """The inverse of its curvature, (B, c, 3, 3): along the normal, along what is across, and
        along the third direction. Sums are of positive terms: nothing is lost near the cone."""
        mu, n, t, normal = self.mu, self.n, self.t, self.normal
        w = np.where(self.limited, weight / self.room, 0.0)  # (B, c)
        both = 2 * w * ((mu * n) ** 2 + t * t) / self.room
        nn, tt, nt = 1 + mu * mu * both, 1 + both, -4 * w * mu * mu * n * t / self.room
        det = 1 + (1 + mu * mu) * both + (2 * mu * w) ** 2
        third = 1 / (1 + 2 * w)
        along = self.across / np.maximum(t, 1e-300)[..., None]

        def outer(x: Array, y: Array, k: Array) -> Array:
            return k[..., None, None] * x[..., :, None] * y[..., None, :]

        C = third[..., None, None] * np.eye(3) + outer(normal, normal, tt / det - third)
        C = C + outer(along, along, nn / det - third)
        mixed = outer(normal, along, -nt / det)
        return C + mixed + mixed.swapaxes(-1, -2)

    def longest(self, step: Array) -> Array:
        """How much of a step stays well within all cones, (B, 1), at most 1."""
        along = (step * self.normal).sum(axis=-1)
        aside = step - along[..., None] * self.normal
        mu2 = self.mu * self.mu
        a = np.where(self.limited, mu2 * along * along - (aside * aside).sum(axis=-1), 0.0)
        h = mu2 * along * self.n - (aside * self.across).sum(axis=-1)
        h = np.where(self.limited, h, 0.0)
        # The first t > 0 with a t^2 + 2 h t + room = 0, if there is one.
        root = np.sqrt(np.maximum(h * h - a * self.room, 0.0))
        met = (h * h >= a * self.room) & (root > h)
        first = np.where(met, self.room / np.where(met, root - h, 1.0), np.inf)
        back = self.limited & (along < 0)  # not through the tip into the opposite cone
        first = np.minimum(first, np.where(back, self.n / np.where(back, -along, 1.0), np.inf))
        return np.minimum(1.0, 0.95 * first.min(axis=-1, keepdims=True))


def _newton_step(A: Array, missing: Array, slope: Array, C: Array) -> Array:
    """The step of f; the stiff part by its own small equations, which keeps all digits."""
    B, c, _ = slope.shape
    CAt = (C @ A.swapaxes(-1, -2).reshape(B, c, 3, -1)).reshape(B, 3 * c, -1)
    Cs = (C @ slope[..., None]).reshape(B, -1, 1)
    S = A @ CAt + np.eye(A.shape[-2]) / _STIFF
    return (CAt @ np.linalg.solve(S, missing + A @ Cs) - Cs).reshape(slope.shape)
