"""Linear systems: symmetric ones with the pattern of a tree, and orthogonal columns.

A tree's inertia matrix couples a joint only to its ancestors and descendants.
Factored from the tips, M = L^T D L, it stays as sparse as it was (Featherstone,
"Efficient factorization of the joint-space inertia matrix for branched
kinematic trees", 2005).
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.maths.scalar import Scalar, is_zero, sqrt

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


def coupled(M: Matrix) -> Paths:
    """The paths of a matrix by its zeros: for each row itself and those before it that it is
    coupled to, or becomes so while M is factored."""
    n = len(M)
    before = [{j for j in range(i) if not is_zero(M[i][j])} for i in range(n)]
    for k in reversed(range(n)):
        for i in before[k]:
            before[i] |= {j for j in before[k] if j < i}
    return [[*sorted(found), i] for i, found in enumerate(before)]


def reached(paths: Paths) -> list[set[int]]:
    """The columns of the inverse of a factor that are not zero: where its paths lead, and the paths
    of these."""
    found: list[set[int]] = []
    for i, path in enumerate(paths):
        found.append({i}.union(*(found[j] for j in path[:-1])))
    return found


def inverse_factor(M: Matrix) -> Matrix:
    """K, a lower triangle, with K K^T = M^-1 and K^T M K = 1."""
    n, paths = len(M), coupled(M)
    L, inverse = factorise(M, paths)
    K: Matrix = [[0] * n for _ in range(n)]
    for k in range(n):
        K[k][k] = sqrt(inverse[k])
        for i in range(k + 1, n):
            between = [j for j in paths[i][:-1] if j >= k]
            K[i][k] = -dot([L[i][j] for j in between], [K[j][k] for j in between])
    return K


def determinant(A: Sequence[Sequence[Scalar]]) -> Scalar:
    """The determinant, without divisions: from the last row up, each minor made once."""
    minors: dict[tuple[int, ...], Scalar] = {(): 1}
    for row in reversed(A):
        larger: dict[tuple[int, ...], Scalar] = {}
        for columns, minor in minors.items():
            for c, x in enumerate(row):
                if c in columns or is_zero(x):
                    continue
                place = sum(k < c for k in columns)
                key, term = (*columns[:place], c, *columns[place:]), x * minor
                so_far = larger.get(key, 0)
                larger[key] = so_far - term if place % 2 else so_far + term
        minors = larger
    return minors.get(tuple(range(len(A))), 0)


# Orthogonal columns


class Columns:
    """A = Q R: the columns of Q at right angles (not of unit length), R with a unit diagonal."""

    def __init__(self, A: Sequence[Sequence[Scalar]]) -> None:
        given = [[row[k] for row in A] for k in range(len(A[0]))]
        self.order = sorted(range(len(given)), key=lambda k: sum(not is_zero(x) for x in given[k]))
        self.Q: list[list[Scalar]] = []
        self.R: list[dict[int, Scalar]] = []  # R[k][j] for j < k
        self.squares: list[Scalar] = []
        self.inverse: list[Scalar] = []
        for k in self.order:
            column, above = given[k], {}
            for j, q in enumerate(self.Q):
                above[j] = dot(q, column) * self.inverse[j]
                column = _less(column, above[j], q)
            self.Q.append(column)
            self.R.append(above)
            self.squares.append(dot(column, column))
            self.inverse.append(1 / self.squares[-1])

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """x with A x = b, or nearest to it."""
        n, rest = len(self.Q), list(b)
        z: list[Scalar] = []
        for k in range(n):
            z.append(dot(self.Q[k], rest) * self.inverse[k])
            rest = _less(rest, z[k], self.Q[k])
        for k in reversed(range(n)):
            for j, r in self.R[k].items():
                z[j] = z[j] - r * z[k]
        x: list[Scalar] = [0] * n
        for k, place in enumerate(self.order):
            x[place] = z[k]
        return x

    def least_norm(self, y: Sequence[Scalar]) -> list[Scalar]:
        """The smallest x with A^T x = y (Björck and Paige's order of the sums)."""
        w = [y[k] for k in self.order]
        for k, above in enumerate(self.R):
            for j, r in above.items():
                w[k] = w[k] - r * w[j]
        x: list[Scalar] = [0] * len(self.Q[0])
        for k in reversed(range(len(self.Q))):
            share = (dot(self.Q[k], x) - w[k]) * self.inverse[k]
            x = _less(x, share, self.Q[k])
        return x


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The scalar product of two rows, without terms that are zero."""
    total: Scalar = 0
    for x, y in zip(a, b, strict=True):
        if not is_zero(x) and not is_zero(y):
            total = total + x * y
    return total


def _less(a: Sequence[Scalar], k: Scalar, b: Sequence[Scalar]) -> list[Scalar]:
    """a - k b."""
    return [x if is_zero(y) or is_zero(k) else x - k * y for x, y in zip(a, b, strict=True)]
