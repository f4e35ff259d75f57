"""Evaluations of parameters: computed once, kept, and read again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.robots.dynamics import Array
from appell.study.json_numbers import read, written
from appell.study.sweeps.storage.block_table import Columns
from appell.study.sweeps.storage.dataset import joined
from appell.study.tuning.aims import Evaluation
from appell.study.tuning.trials import Trials
from appell.study.tuning.tune_folder import Memory
from appell.study.tuning.tune_progress import TuneProgress


class Piece(NamedTuple):
    """Samples first to last - 1 of candidates begin to end - 1 of a batch."""

    begin: int
    end: int
    first: int
    last: int

    @property
    def rows(self) -> int:
        """Number of samples in all."""
        return (self.end - self.begin) * (self.last - self.first)


class Evaluator:
    """Evaluates batches of parameters, all samples of all of them together; remembers in which
    order they were asked for, and which were best."""

    def __init__(
        self, trials: Trials, memory: Memory, progress: TuneProgress, workers: Any = None
    ) -> None:
        self.trials, self.memory, self.progress, self.workers = trials, memory, progress, workers
        self.history: dict[tuple[float, ...], Evaluation] = {}
        self.iterations: list[int] = []  # in which each was asked for
        self.iteration = 0
        self.best: Evaluation | None = None
        self.pinned: tuple[float, ...] = ()  # parameters whose columns are wanted in the end
        self.columns: dict[tuple[float, ...], Columns] = {}  # of these and of the best
        self.terms: Any = None  # what the gradient method asks for besides

    def __call__(self, batch: Array) -> list[Evaluation]:
        """The evaluations of rows of parameters."""
        rows = [tuple(map(float, row)) for row in np.atleast_2d(batch)]
        new = list(dict.fromkeys(x for x in rows if x not in self.history))
        kept = {x: record for x in new if (record := self.memory.find("value", x)) is not None}
        before = self.best
        for x, record in kept.items():
            self._take(x, _evaluation(x, record))
        if kept:
            self._tell(list(kept), 0)
        for x, columns in self._computed([x for x in new if x not in kept]):
            evaluation = self._judged(x, columns)
            self.memory.keep("value", x, _record(evaluation))
            self._take(x, evaluation, columns)
            self._tell([x], 1)
        self._put_in_order(before, new)
        return [self.history[x] for x in rows]

    def _put_in_order(self, before: Evaluation | None, new: Sequence[tuple[float, ...]]) -> None:
        """Workers are done in any order; the history, and which of equals is best, is not of
        it."""
        for x in new:
            self.history[x] = self.history.pop(x)
        evaluations = [self.history[x] for x in new]
        if evaluations:
            earlier = [] if before is None else [before]
            self.best = min([*earlier, *evaluations], key=self._rank)

    def _judged(self, x: tuple[float, ...], columns: Columns) -> Evaluation:
        evaluation = self.trials.aims.evaluated(x, columns, self.trials.count)
        if self.terms is not None and not evaluation.failed:
            evaluation = evaluation._replace(terms=self.terms(columns))
        return evaluation

    def _take(self, x: tuple[float, ...], evaluation: Evaluation, columns: Any = None) -> None:
        self.history[x] = evaluation
        self.iterations.append(self.iteration)
        if self.best is None or self._rank(evaluation) < self._rank(self.best):
            self.best = evaluation
        if columns is not None and x in (self.best.x, self.pinned):
            kept = {self.pinned: self.columns[self.pinned]} if self.pinned in self.columns else {}
            self.columns = {**kept, x: columns}

    def _rank(self, e: Evaluation) -> tuple[Any, ...]:
        return self.trials.aims.rank(e, self.trials.count)

    def samples_at(self, x: tuple[float, ...]) -> Columns:
        """Failures and measures of all samples with parameters."""
        if x not in self.columns:
            self.columns[x] = next(columns for _, columns in self._computed([x]))
        return self.columns[x]

    # Computing

    def _computed(
        self, missing: Sequence[tuple[float, ...]]
    ) -> Iterator[tuple[tuple[float, ...], Columns]]:
        """The columns of parameters, as they come whole."""
        if not missing:
            return
        batch = np.array(missing)
        held: dict[int, dict[int, Columns]] = {}
        for piece, columns in self._pieces(batch):
            each = piece.last - piece.first
            for k in range(piece.begin, piece.end):
                part = slice((k - piece.begin) * each, (k - piece.begin + 1) * each)
                of = held.setdefault(k, {})
                of[piece.first] = {name: x[part] for name, x in columns.items()}
                if sum(len(c["failed"]) for c in of.values()) == self.trials.count:
                    yield missing[k], _together([of[first] for first in sorted(of)])
                    del held[k]

    def _pieces(self, batch: Array) -> Iterator[tuple[Piece, Columns]]:
        block, count = self.trials.block, self.trials.count
        if self.workers is not None:
            share = -(-len(batch) * count // self.workers.tasks)
            pieces = pieces_of(len(batch), count, min(block, share))
            yield from self.workers.computed(batch, pieces)
            return
        pieces = pieces_of(len(batch), count, block)
        for p in pieces:
            yield p, self.trials.columns(batch[p.begin : p.end], p.first, p.last)

    def _tell(self, new: Sequence[tuple[float, ...]], computed: int) -> None:
        failed = sum(self.history[x].failed > 0 for x in new)
        self.progress.evaluated(len(new), computed, failed, self.best_in_words())

    def best_in_words(self) -> str:
        """Best evaluation so far, in words."""
        if self.best is None:
            return "nothing yet"
        aims, count = self.trials.aims, self.trials.count
        if self.best.failed:
            return f"nothing yet without failed samples (at best {self.best.failed} of {count})"
        text = f"{aims.objective.in_words(count)} {self.best.objective:.6g}"
        return text if aims.feasible(self.best) else f"{text}, constraints not kept"

    def next_iteration(self) -> None:
        """Count evaluations from now on with the next iteration."""
        self.iteration += 1
        self.progress.iterated(self.iteration)


def pieces_of(candidates: int, samples: int, block: int) -> list[Piece]:
    """The samples of all candidates, in pieces of about a block: of several candidates, or a part
    of one."""
    if samples <= block:
        k = max(1, block // samples)
        return [
            Piece(begin, min(begin + k, candidates), 0, samples)
            for begin in range(0, candidates, k)
        ]
    return [
        Piece(begin, begin + 1, first, min(first + block, samples))
        for begin in range(candidates)
        for first in range(0, samples, block)
    ]


def _together(parts: list[Columns]) -> Columns:
    """The columns of parts one after another."""
    if len(parts) == 1:
        return parts[0]
    counted = [{"point": c["failed"], **c} for c in parts]  # by which `joined` counts
    return {name: x for name, x in joined(counted).items() if name != "point"}


# On disk


def _record(e: Evaluation) -> dict[str, Any]:
    record = {
        "objective": e.objective,
        "constraints": e.constraints,
        "failed": e.failed,
        "reason": e.reason,
        "terms": e.terms,
    }
    return dict(written(record if e.terms else {n: x for n, x in record.items() if n != "terms"}))


def _evaluation(x: tuple[float, ...], record: Mapping[str, Any]) -> Evaluation:
    constraints, terms = (tuple(read(record.get(name, []))) for name in ("constraints", "terms"))
    objective = read(record["objective"])
    return Evaluation(x, objective, constraints, record["failed"], record["reason"], terms)
