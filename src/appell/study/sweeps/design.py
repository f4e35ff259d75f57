"""The points of a study: where in the space of its variables they lie.

A point's values depend on the study and its number alone, not on the block that it is computed in.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from appell.errors import InputError
from appell.robots.dynamics import Array
from appell.study.sweeps.study_file import Study
from appell.study.sweeps.variable import values_of

_CHUNK = 4096  # points whose random numbers are drawn together


class Design:
    """Values of every variable of a study at its points, by point number."""

    def __init__(self, study: Study) -> None:
        self.study, self.names = study, tuple(study.vary)
        self._correlation()

    @cached_property
    def count(self) -> int:
        """Number of points."""
        count = self._count()
        if count > _MOST:
            raise InputError(f"{count:,} points; expected {_MOST:,} at most.")
        return count

    def _count(self) -> int:
        study, variables = self.study, self.study.vary.values()
        if study.sampling == "grid":
            return prod(len(v.levels or ()) for v in variables)
        if study.sampling == "list":
            return len(next(iter(variables)).levels or ())
        assert study.points is not None
        return study.points * (len(self.names) + 2 if study.sampling == "saltelli" else 1)

    def values(self, first: int, last: int) -> dict[str, Any]:
        """The values of the variables at points first to last - 1, an array each."""
        study = self.study
        if study.sampling in ("grid", "list"):
            at = np.arange(first, last)
            shape = [len(v.levels or ()) for v in study.vary.values()]
            places = np.unravel_index(at, shape) if study.sampling == "grid" else [at] * len(shape)
            return {
                name: values_of(v.levels or ())[k]
                for (name, v), k in zip(study.vary.items(), places, strict=True)
            }
        u = self._unit(first, last)
        if self._factor is not None:
            from scipy.special import ndtr, ndtri

            normal = ndtri(np.clip(u, _LEAST, 1 - _LEAST))
            # Term by term: a product of matrices has other last bits in blocks of other sizes.
            terms = (normal[:, k, None] * column for k, column in enumerate(self._factor.T))
            u = ndtr(sum(terms))
        return {
            name: variable.quantile(np.clip(u[:, k], _LEAST, 1 - _LEAST))
            for k, (name, variable) in enumerate(study.vary.items())
        }

    def middle(self) -> dict[str, Any]:
        """The medians of all variables."""
        return {
            name: variable.quantile(np.array([0.5]))[0]
            for name, variable in self.study.vary.items()
        }

    # The unit cube

    def _unit(self, first: int, last: int) -> Array:
        """Points of the unit cube, (last - first, variables)."""
        sampling = self.study.sampling
        if sampling == "random":
            chunks = range(first // _CHUNK, -(-last // _CHUNK))
            drawn = [
                np.random.default_rng((self.study.seed, k)).random((_CHUNK, len(self.names)))
                for k in chunks
            ]
            begin = chunks.start * _CHUNK
            return np.concatenate(drawn)[first - begin : last - begin]
        if sampling == "latin_hypercube":
            return self._hypercube[first:last]
        if sampling == "saltelli":
            return self._saltelli[first:last]
        return self._sobol(len(self.names), first, last)

    def _sobol(self, d: int, first: int, last: int) -> Array:
        from scipy.stats import qmc

        sequence = qmc.Sobol(d, rng=np.random.default_rng(self.study.seed))
        with warnings.catch_warnings():  # of counts that are no powers of two: the page says it
            warnings.simplefilter("ignore", UserWarning)
            if first:
                sequence.fast_forward(first)
            return sequence.random(last - first)

    @cached_property
    def _hypercube(self) -> Array:
        from scipy.stats import qmc

        rng = np.random.default_rng(self.study.seed)
        return qmc.LatinHypercube(len(self.names), rng=rng).random(self.count)

    @cached_property
    def _saltelli(self) -> Array:
        """Two samples A and B, one after the other, and A with one column of B, for each variable:
        what `scipy.stats.sobol_indices` asks for (Saltelli et al. 2010)."""
        d, n = len(self.names), self.study.points
        assert n is not None
        both = self._sobol(2 * d, 0, n)
        A, B = both[:, :d], both[:, d:]
        mixed = [np.where(np.arange(d) == k, B, A) for k in range(d)]
        return np.concatenate([A, B, *mixed])

    # What goes together

    def _correlation(self) -> None:
        study = self.study
        self._factor: Array | None = None
        if not study.correlated:
            return
        matrix = np.eye(len(self.names))
        for pair in study.correlated:
            i, j = (self.names.index(x) for x in pair.between)
            matrix[i, j] = matrix[j, i] = pair.coefficient
        least = np.linalg.eigvalsh(matrix)[0]
        if least < -1e-9:
            raise InputError(
                f"{study.source.place(('correlated',))}: no numbers go together like that: the "
                f"matrix of the coefficients has the eigenvalue {least:.3g}; expected none "
                "below zero."
            )
        self._factor = square_root(matrix)


def square_root(matrix: Array) -> Array:
    """The lower triangle L with L @ L.T = matrix, which has no eigenvalue below zero (Cholesky).

    By sums in a fixed order, so that every processor has the same bits; those of LAPACK differ.
    """
    L = np.zeros_like(matrix)
    for i, j in zip(*np.tril_indices(len(matrix)), strict=True):
        rest = matrix[i, j] - sum(L[i, k] * L[j, k] for k in range(j))
        if i == j:
            L[i, i] = np.sqrt(max(rest, 0.0))
        elif L[j, j] > _NOTHING:
            L[i, j] = rest / L[j, j]
    return L


_NOTHING = 1e-6  # a variable that others determine has no part of its own
_MOST = 2**30  # as many as a Sobol sequence has
_LEAST = 2.0**-53  # the normal distribution has no quantile of 0
