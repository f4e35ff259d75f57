"""How good an observation matrix W is, as a smooth function of its singular values.

The gradient by W is exact, U f'(s) V^T with W = U s V^T, also where singular values coincide; it is
handed to CasADi, which carries it on through the graph that W came from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import numpy as np

from appell.robots.robot import Array

Criterion = Callable[[Array], tuple[float, Array]]

_POWER = 12.0  # of the means that stand for the largest and the smallest singular value
_TINY = 1e-12  # a singular value of zero counts as so much of the largest


def log_determinant(s: Array) -> tuple[float, Array]:
    """D-optimality: minus the mean of log s, and its derivative."""
    return -float(np.log(s).mean()), -1 / (s * len(s))


def log_condition(s: Array) -> tuple[float, Array]:
    """log of (sum s^p)^(1/p) (sum s^-p)^(1/p), which exceeds the condition number's by at most
    2 log(count) / p, and its derivative."""
    log = np.log(s)
    high, low = log.max(), log.min()
    up, down = np.exp(_POWER * (log - high)), np.exp(_POWER * (low - log))
    value = high - low + (np.log(up.sum()) + np.log(down.sum())) / _POWER
    return float(value), (up / up.sum() - down / down.sum()) / s


CRITERIA: dict[str, Criterion] = {"condition": log_condition, "d_optimal": log_determinant}


class Spectral(casadi.Callback):
    """A criterion of the singular values of W, which comes as one column: instant by instant, in
    each column by column."""

    def __init__(self, criterion: Criterion, shape: tuple[int, int, int]) -> None:
        super().__init__()
        self.criterion, self.size = criterion, shape
        self.kept: list[Any] = []  # CasADi does not hold what it is given
        self.construct("spectral", {"enable_fd": False})

    def get_sparsity_in(self, i: int) -> Any:
        return casadi.Sparsity.dense(int(np.prod(self.size)), 1)

    def matrix(self, w: Any) -> Array:
        instants, n, k = self.size
        W = np.asarray(w).reshape(instants, k, n).transpose(0, 2, 1)
        return W.reshape(instants * n, k)

    def column(self, W: Array) -> Array:
        instants, n, k = self.size
        return W.reshape(instants, n, k).transpose(0, 2, 1).reshape(-1)

    def eval(self, arguments: Any) -> Any:
        s = np.linalg.svd(self.matrix(arguments[0]), compute_uv=False)
        return [self.criterion(np.maximum(s, _TINY * s[0]))[0]]

    def gradient(self, w: Any) -> Array:
        U, s, Vt = np.linalg.svd(self.matrix(w), full_matrices=False)
        _, slopes = self.criterion(np.maximum(s, _TINY * s[0]))
        return self.column((U * slopes) @ Vt)

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, inames: Any, onames: Any, options: Any) -> Any:
        made = _Jacobian(self, name)
        self.kept.append(made)
        return made


class _Jacobian(casadi.Callback):
    def __init__(self, of: Spectral, name: str) -> None:
        super().__init__()
        self.of = of
        self.construct(name, {"enable_fd": False})

    def get_n_in(self) -> int:
        return 2

    def get_sparsity_in(self, i: int) -> Any:
        return self.of.get_sparsity_in(0) if i == 0 else casadi.Sparsity.dense(1, 1)

    def get_sparsity_out(self, i: int) -> Any:
        return casadi.Sparsity.dense(1, int(np.prod(self.of.size)))

    def eval(self, arguments: Any) -> Any:
        return [self.of.gradient(arguments[0])[None, :]]
