"""Forces by which contacts hold.

With U = K^T J^T (see `appell.equations.motion.contact_motion`) forces f change x to x + U f.
All functions take batches: leading axes broadcast.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from appell.robots.system import Array

Flags = npt.NDArray[np.bool_]

# Contacts are as good as independent while the part of each row that is at right angles to those
# before it is longer than 1e-3 of it: the squares in J M^-1 J^T then cost six digits of sixteen.
INDEPENDENT = 1e-6
RANK = 1e-10  # of the largest singular value: what is smaller is rounding


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
    P, s, Vt = np.linalg.svd(finite_or_zero(U), full_matrices=False)  # NaN stays in x
    felt = s > RANK * s.max(axis=-1, initial=0.0, keepdims=True)
    size = np.where(felt, s, 1.0)
    by_drift = np.where(felt, 1 / (size * size + damping), 0.0)[..., None]
    by_x = size[..., None] * by_drift
    V, own = Vt.swapaxes(-1, -2), Vt @ drift
    f = -(V @ (by_x * (P.swapaxes(-1, -2) @ x) + by_drift * own))
    after = x + U @ f
    if damping:  # holds what contradicts the other contacts, by forces that change nothing else
        f = f - (drift - V @ np.where(felt[..., None], own, 0.0)) / damping
    return f, after


def finite_or_zero(x: Array) -> Array:
    """Matrices (..., m, n) whose singular values can be found: zero where one is not finite."""
    return np.where(np.isfinite(x).all(axis=(-2, -1), keepdims=True), x, 0.0)


def repeated(J: Array) -> Array | None:
    """The projection (..., m, m) on forces that press contacts against each other and on nothing
    else, J^T f = 0; None where no contacts repeat others."""
    if _solved(J @ J.swapaxes(-1, -2), J[..., :1])[1].all():
        return None
    P, s, _ = np.linalg.svd(finite_or_zero(J), full_matrices=True)
    idle = np.ones((*s.shape[:-1], P.shape[-1]))
    idle[..., : s.shape[-1]] = s <= RANK * s.max(axis=-1, initial=0.0, keepdims=True)
    return (P * idle[..., None, :]) @ P.swapaxes(-1, -2)
