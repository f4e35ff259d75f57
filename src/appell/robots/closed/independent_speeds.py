"""How many speeds are free, and which of them describe the motion best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from appell.errors import InputError, ModelError
from appell.robots.closed.assemble import Assembly, null_space, pivots
from appell.robots.robot import Array

_RANK = 1e-9  # of the largest singular value: below it a row says nothing new


class Freedom(NamedTuple):
    """What the loops allow: a basis of the allowed speeds at each of some configurations."""

    rank: int
    bases: list[Array]  # in the speeds' units, (joints, freedoms) each

    @property
    def n(self) -> int:
        return int(self.bases[0].shape[1])

    def qualities(self, independent: Sequence[int]) -> list[float]:
        """How well these speeds determine all others at each configuration: 1 at best, 0 if they
        do not."""
        chosen = list(independent)
        return [float(np.linalg.svd(B[chosen], compute_uv=False)[-1]) for B in self.bases]

    def best(self, among: Sequence[int] | None = None) -> list[int]:
        """The speeds (of some) that determine the others with the least amplification: the longest
        rows of the basis, one after another, each at right angles to those before it."""
        basis = self.bases[0]
        if among is None:
            return sorted(pivots(basis))
        return sorted(among[k] for k in pivots(basis[list(among)])) if len(among) >= self.n else []

    def suits(self, chosen: Sequence[int]) -> bool:
        return len(chosen) == self.n and min(self.qualities(chosen)) > 1e-3

    def refuse(self, chosen: Sequence[int], assembly: Assembly) -> None:
        """Refuse speeds that cannot describe the motion."""
        model = assembly.model
        names, best = ([model.joints[k].name for k in x] for x in (chosen, self.best()))
        if len(chosen) != self.n:
            raise InputError(
                f"'{model.name}' has {self.n} degrees of freedom, and independent = {names} names "
                f"{len(chosen)} joints; for instance {best} describe it."
            )
        if max(self.qualities(chosen)) < 1e-9:
            raise InputError(
                f"'{model.name}': the speeds of {names} do not determine the others; for instance "
                f"those of {best} do."
            )


def freedom_at(assembly: Assembly, q: Array) -> Freedom:
    """At one configuration."""
    return _freedom([assembly.rows(q) / assembly.units])


def freedom_about(assembly: Assembly, reference: Array) -> Freedom:
    """At configurations about a reference, which itself may be a special one: where loops are
    redundant, they are so at all of them, or the mechanism does not move."""
    draw = np.random.default_rng(0)
    rank = freedom_at(assembly, reference).rank
    at = [reference]
    for _ in range(3):
        way = draw.uniform(-0.1, 0.1, assembly.model.nv - rank)
        at.insert(0, assembly.moved(reference, way, rank))
    free = _freedom([assembly.rows(q) / assembly.units for q in at])
    if free.n == 0:
        rows = sum(len(c.rows) for c in assembly.mechanism.constraints)
        raise ModelError(
            f"'{assembly.model.name}': its loops leave no freedom: {rows} rows forbid all "
            f"{assembly.model.nv} speeds of the tree. Take loops of kinds that forbid less, or "
            "check lengths and axes: a mechanism that moves only for special dimensions needs them "
            "to 1e-9."
        )
    return free


def _freedom(jacobians: Sequence[Array]) -> Freedom:
    ranks = [_rank(J) for J in jacobians]
    most = max(ranks)
    bases = [null_space(J, most) for J, rank in zip(jacobians, ranks, strict=True) if rank == most]
    return Freedom(most, bases)


def _rank(J: Array) -> int:
    if not J.size:
        return 0
    values = np.linalg.svd(J, compute_uv=False)
    return int((values > _RANK * max(values[0], 1e-300)).sum())
