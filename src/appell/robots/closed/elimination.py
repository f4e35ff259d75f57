"""A x = b with A known as scalars: the same operations at every state, and no wrong pivot.

Which entries are zero is known while the equation is written down. That pattern cuts the
system into the smallest blocks that must be solved together, each after those it needs
(the block triangular form: a matching of rows with columns, then Tarjan's components). A
leg of a platform comes out as a block of its own, or as single divisions.

A block is solved by Gram and Schmidt's orthogonal columns, which need no choice of pivots:
nothing vanishes unless the block itself is singular. With the right side orthogonalised as
one more column the solution is as accurate as Householder's (Björck 1967). A block may have
more rows than columns, as where constraints are redundant: then its solution is the least
squares one, exact if the rows agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.equations.linear import Columns
from appell.maths.scalar import Scalar, is_zero

Matrix = Sequence[Sequence[Scalar]]
Vector = list[Scalar]


class Block(NamedTuple):
    """Rows that give the unknowns ``columns``, once those of earlier blocks are known."""

    rows: list[int]
    columns: list[int]


class Elimination:
    """A, taken apart once; then ``solve`` for any right side."""

    def __init__(self, A: Matrix) -> None:
        self.A = A
        self.blocks = blocks([[not is_zero(x) for x in row] for row in A])
        self.parts = [Columns([[A[r][c] for c in b.columns] for r in b.rows]) for b in self.blocks]

    def solve(self, b: Sequence[Scalar]) -> Vector:
        x: Vector = [0] * (len(self.A[0]) if self.A else 0)
        known: list[int] = []
        for block, part in zip(self.blocks, self.parts, strict=True):
            rest = [_minus_known(b[r], self.A[r], x, known) for r in block.rows]
            if len(block.rows) == 1:
                found = [rest[0] / self.A[block.rows[0]][block.columns[0]]]
            else:
                found = part.solve(rest)
            for c, value in zip(block.columns, found, strict=True):
                x[c] = value
            known += block.columns
        return x


def _minus_known(b: Scalar, row: Sequence[Scalar], x: Vector, known: Sequence[int]) -> Scalar:
    for c in known:
        if not is_zero(row[c]) and not is_zero(x[c]):
            b = b - row[c] * x[c]
    return b


# The pattern


def blocks(pattern: Sequence[Sequence[bool]]) -> list[Block]:
    """In an order in which they can be solved; rows without an entry are left out."""
    order: list[Block] = []
    for part in _apart(pattern):
        order += _triangular(pattern, part) if len(part.rows) == len(part.columns) else [part]
    return order


def _apart(pattern: Sequence[Sequence[bool]]) -> list[Block]:
    """Parts that share no unknown."""
    parts: list[Block] = []
    for r, row in enumerate(pattern):
        columns = [c for c, there in enumerate(row) if there]
        if not columns:
            continue
        touched = [p for p in parts if set(p.columns) & set(columns)]
        parts = [p for p in parts if p not in touched]
        rows = [*(x for p in touched for x in p.rows), r]
        parts.append(Block(rows, sorted({*columns, *(c for p in touched for c in p.columns)})))
    return parts


def _triangular(pattern: Sequence[Sequence[bool]], part: Block) -> list[Block]:
    owner = _matching(pattern, part)
    if len(owner) < len(part.columns):
        return [part]  # singular whatever its numbers are
    needs = {c: [d for d in part.columns if d != c and pattern[owner[c]][d]] for c in part.columns}
    return [Block(sorted(owner[c] for c in group), sorted(group)) for group in _groups(needs)]


def _matching(pattern: Sequence[Sequence[bool]], part: Block) -> dict[int, int]:
    """A row for each column, by augmenting paths."""
    owner: dict[int, int] = {}

    def claim(row: int, seen: set[int]) -> bool:
        for c in part.columns:
            if pattern[row][c] and c not in seen:
                seen.add(c)
                if c not in owner or claim(owner[c], seen):
                    owner[c] = row
                    return True
        return False

    for row in part.rows:
        claim(row, set())
    return owner


def _groups(needs: dict[int, list[int]]) -> list[list[int]]:
    """Tarjan's strongly connected components, each after those that it needs."""
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    done: list[list[int]] = []

    def visit(c: int) -> None:
        number[c] = lowest[c] = len(number)
        stack.append(c)
        for d in needs[c]:
            if d not in number:
                visit(d)
            if d in stack:
                lowest[c] = min(lowest[c], lowest[d])
        if lowest[c] == number[c]:
            at = stack.index(c)
            done.append(stack[at:])
            del stack[at:]

    for c in needs:
        if c not in number:
            visit(c)
    return done
