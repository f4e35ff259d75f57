"""Symmetric systems with the pattern of a tree, solved without square roots.

A tree's inertia matrix couples a joint only to its ancestors and descendants.
Factored from the tips, M = L^T D L, it stays as sparse as it was (Featherstone,
"Efficient factorization of the joint-space inertia matrix for branched
kinematic trees", 2005).
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.maths.scalar import Scalar

Matrix = list[list[Scalar]]
Paths = Sequence[Sequence[int]]


def factorise(M: Matrix, paths: Paths) -> tuple[Matrix, list[Scalar]]:
    """L (unit lower triangle) and 1/D of M = L^T D L; paths[i] are i and its ancestors."""
    H = [list(row) for row in M]
    n = len(H)
    inverse: list[Scalar] = [0] * n
    for k in reversed(range(n)):
        above = paths[k][:-1]
        inverse[k] = 1 / H[k][k]
        for i in reversed(above):
            factor = H[k][i] * inverse[k]
            for j in above[: above.index(i) + 1]:
                H[i][j] = H[i][j] - factor * H[k][j]
            H[k][i] = factor
    return H, inverse


def back_substitute(
    L: Matrix, inverse: Sequence[Scalar], b: Sequence[Scalar], paths: Paths
) -> list[Scalar]:
    """x with L^T D L x = b."""
    x = list(b)
    n = len(x)
    for i in reversed(range(n)):
        for j in paths[i][:-1]:
            x[j] = x[j] - L[i][j] * x[i]
    x = [xi * d for xi, d in zip(x, inverse, strict=True)]
    for i in range(n):
        for j in paths[i][:-1]:
            x[i] = x[i] - L[i][j] * x[j]
    return x


def solve(M: Matrix, b: Sequence[Scalar], paths: Paths) -> list[Scalar]:
    """x with M x = b."""
    return back_substitute(*factorise(M, paths), b, paths)


def invert(M: Matrix, paths: Paths) -> Matrix:
    """The inverse of M, symmetric to the last bit."""
    n = len(M)
    L, inverse = factorise(M, paths)
    X: Matrix = [[0] * n for _ in range(n)]
    for k in range(n):
        unit = [1 if i == k else 0 for i in range(n)]
        column = back_substitute(L, inverse, unit, paths)
        for i in range(k, n):
            X[i][k] = X[k][i] = column[i]
    return X
