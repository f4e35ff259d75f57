"""Samples of candidates shared among processes of Dask on this machine.

A task needs nothing but its arguments, so that one that is lost with its process is run again in
another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from appell.errors import AppellError, shorten
from appell.robots.dynamics import Array
from appell.study.sweeps.bundle import Bundle, opened
from appell.study.sweeps.engine.local_cluster import local_cluster, silent_dask
from appell.study.sweeps.engine.work import once_per_thread, share_cores
from appell.study.sweeps.require import distributed
from appell.study.sweeps.storage.block_table import Columns
from appell.study.tuning.evaluator import Piece
from appell.study.tuning.trials import Trials

_PER_WORKER = 4  # tasks, so that none waits long for the last one
_FETCH = 60.0  # s that a result may take
_DEADLY = "the workers that ran it died"
_MEMORY = "there was not enough memory for it"


class TrialWorkers:
    """So many processes of Dask, which compute the samples of candidates."""

    def __init__(
        self, bundle: Bundle, workers: int, target: str, note: Callable[[str], None]
    ) -> None:
        self.bundle, self.target, self.note, self._submitted = bundle, target, note, 0
        self._suspects: list[Piece] = []
        self.tasks = _PER_WORKER * workers  # into which a batch is divided
        self._open = ExitStack()
        with self._open as stack:
            stack.enter_context(silent_dask())
            cluster = stack.enter_context(local_cluster(workers))
            client = distributed().Client(cluster, set_as_default=False)
            self._client = stack.enter_context(client)
            self._open = stack.pop_all()

    def close(self) -> None:
        """End the processes."""
        self._open.close()

    def computed(self, batch: Array, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Columns]]:
        """The columns of pieces, as they come; one whose processes die has failed."""
        package = distributed()
        waiting = list(pieces)
        while waiting:
            futures = {self._submit(batch, p): p for p in waiting}
            waiting = []
            for future in package.as_completed(list(futures), loop=self._client.loop):
                columns = self._result(future, futures[future], waiting)
                if columns is not None:
                    yield futures[future], columns
            while self._suspects and not waiting:
                # What else ran there may have killed its processes: now nothing runs beside it.
                p = self._suspects.pop()
                future = self._submit(batch, p)
                next(package.as_completed([future], loop=self._client.loop))
                columns = self._result(future, p, waiting, alone=True)
                if columns is not None:
                    yield p, columns

    def _submit(self, batch: Array, p: Piece) -> Any:
        self._submitted += 1
        return self._client.submit(
            compute_piece, self.bundle, self.target, batch[p.begin : p.end], p.first, p.last,
            key=f"appell-tune-{self._submitted}", pure=False,
        )  # fmt: skip

    def _result(
        self, future: Any, piece: Piece, waiting: list[Piece], *, alone: bool = False
    ) -> Columns | None:
        """The columns of a piece; None if it is to run again, in parts or ``alone``."""
        if future.status == "finished":
            try:
                columns: Columns = future.result(timeout=_FETCH)
            except Exception:  # the worker that has it died
                waiting.append(piece)
                return None
            return columns
        if future.status != "error":  # cancelled, or lost with the process that had it
            if self._client.status != "running":
                raise AppellError("the workers are lost; run the same command again to go on.")
            waiting.append(piece)
            return None
        problem = future.exception()
        deadly = type(problem).__name__ == "KilledWorker"
        if not deadly and not isinstance(problem, MemoryError):
            if isinstance(problem, AppellError):
                raise problem
            reason = f"{type(problem).__name__}: {shorten(str(problem))}"
            raise AppellError(f"a worker could not compute samples: {reason}")
        if piece.rows > 1:
            waiting.extend(halves(piece))
            return None
        if deadly and not alone:
            self._suspects.append(piece)
            return None
        why = _DEADLY if deadly else _MEMORY
        self.note(f"sample {piece.first}: {why}")
        return {"failed": np.array([True]), "reason": np.array([why], dtype=object)}


def halves(piece: Piece) -> tuple[Piece, Piece]:
    """The same samples in two parts."""
    if piece.end - piece.begin > 1:
        middle = (piece.begin + piece.end) // 2
        return piece._replace(end=middle), piece._replace(begin=middle)
    middle = (piece.first + piece.last) // 2
    return piece._replace(last=middle), piece._replace(first=middle)


def compute_piece(bundle: Bundle, target: str, batch: Array, first: int, last: int) -> Columns:
    """Samples first to last - 1 of candidates, in a worker of Dask."""
    share_cores()
    trials = once_per_thread(
        ("trials", bundle.hash, target), lambda: Trials(opened(bundle), target)
    )
    return trials.columns(batch, first, last)
