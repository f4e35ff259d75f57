"""Blocks of points shared among the workers of Dask (distributed).

Every block is a task of its own that needs nothing but its arguments, so one that is lost is run
again anywhere: a worker may die, and so may the scheduler.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from appell.compile.native import processor
from appell.errors import AppellError, shorten
from appell.study.sweeps.bundle import Bundle, differing
from appell.study.sweeps.engine.connection import TRY, client_of, connected
from appell.study.sweeps.engine.local_cluster import local_cluster, silent_dask
from appell.study.sweeps.engine.work import VersionError, compute_block, environment
from appell.study.sweeps.points import Points
from appell.study.sweeps.storage.block_table import Columns, Stretch

_LOOK = 1.0  # s between looks at whether the scheduler is there
_FETCH = 60.0  # s that a result may take
_ALONE = 60.0  # s without a worker, after which a cluster of ours is started anew
_PER_THREAD = 2  # tasks that wait for each thread of the workers


class DaskEngine:
    """Workers of this machine, ``workers`` of them, or those of a ``scheduler`` at an address."""

    def __init__(
        self,
        bundle: Bundle,
        points: Points,
        *,
        workers: int | None,
        scheduler: str | None,
        security: Any,
        target: str,
        patience: float,
        note: Callable[[str], None],
    ) -> None:
        self.bundle, self.points, self.target, self.note = bundle, points, target, note
        self.scheduler, self.security, self.patience = scheduler, security, patience
        self.workers = workers
        self._cluster: Any = None
        self._processors = {processor()}

    # The cluster

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        """The cluster of this machine, if it is one of ours."""
        if self.scheduler is not None:
            yield
            return
        assert self.workers is not None
        with local_cluster(self.workers) as self._cluster:
            yield

    def _check_workers(self, client: Any, workers: list[str]) -> None:
        """Refuse workers that compute with other versions, and report processors of several kinds.
        A worker that is lost at this moment is left to the tasks, which compare by themselves."""
        try:
            answers = client.run(environment, workers=workers, on_error="return")
        except (OSError, TimeoutError):
            raise _Lost from None
        for address, theirs in answers.items():
            if isinstance(theirs, ImportError | AttributeError):
                raise AppellError(
                    f"the worker at {address} cannot run Appell: {shorten(str(theirs))}. Install "
                    "the same version there."
                )
            if isinstance(theirs, BaseException):
                continue
            their_versions, their_processor = theirs
            other = differing(self.bundle.versions, their_versions)
            if other:
                raise VersionError(
                    f"the worker at {address} has {other}. Results would differ: install the same "
                    "versions there."
                )
            self._note_processor(their_processor)

    def _note_processor(self, kind: str) -> None:
        """Report a worker whose processor is of another kind than this one and those so far."""
        if kind not in self._processors:
            known = ", ".join(sorted(self._processors))
            self.note(
                f"a worker has a processor of another kind ({kind}; so far: {known}): the last "
                "digits of a point depend on which of them computes it"
            )
        self._processors.add(kind)

    # The work

    def blocks(self, stretches: list[Stretch]) -> Iterator[tuple[Stretch, Columns]]:
        """The columns of stretches, as they come."""
        waiting = deque(stretches)
        while waiting:
            with silent_dask(), self._running():
                if self.scheduler is None:
                    client = client_of(self._cluster, None)
                else:
                    client = connected(self.scheduler, self.security, self.patience, self.note)
                try:
                    yield from _Session(self, client).run(waiting)
                finally:
                    with contextlib.suppress(Exception):  # the scheduler may be gone
                        client.close(timeout=2)
                if waiting:
                    self.note("the cluster is lost: blocks under way start again")


class _Lost(Exception):
    """The scheduler is gone, or all workers of ours."""


class _Session:
    """Work of one client, until all is done or its scheduler is lost."""

    def __init__(self, engine: DaskEngine, client: Any) -> None:
        self.engine, self.client = engine, client
        self.done: SimpleQueue[Any] = SimpleQueue()
        self.running: dict[Any, Stretch] = {}
        self.suspects: deque[Stretch] = deque()  # points whose workers died, perhaps by others
        self.futures: dict[Any, Any] = {}  # a future that nobody holds is forgotten
        self.room, self.looked, self.submitted = 0, -1e9, 0
        self.has_waited = False  # for workers, and said so
        self.alone: Stretch | None = None  # the point that runs with nothing beside it
        self.seen = monotonic()  # when there was a worker
        self.compared: set[str] = set()  # workers whose versions are ours

    def run(self, waiting: deque[Stretch]) -> Iterator[tuple[Stretch, Columns]]:
        """Results as they come; stretches that have none yet are ``waiting`` again at the end."""
        try:
            while waiting or self.running or self.suspects:
                self._look()
                if self.suspects and self.room and not waiting and not self.running:
                    self.alone = self.suspects.popleft()
                    self._submit(self.alone)
                while waiting and len(self.running) < self.room:
                    self._submit(waiting.popleft())
                try:
                    future = self.done.get(timeout=_LOOK)
                except Empty:
                    continue
                stretch = self.running.pop(future.key, None)
                if stretch is not None:
                    try:
                        columns = self._result(future, stretch, waiting)
                    except BaseException:
                        waiting.append(stretch)
                        raise
                    if columns is not None:
                        yield stretch, columns
        except _Lost:
            pass
        finally:
            waiting.extend([*self.running.values(), *self.suspects])

    def _submit(self, stretch: Stretch) -> None:
        engine = self.engine
        self.submitted += 1
        key = f"appell-{engine.bundle.hash[:12]}-{stretch.first}-{stretch.last}-{self.submitted}"
        future = self.client.submit(
            compute_block, engine.bundle, stretch.first, stretch.last, engine.target,
            key=key, pure=False,
        )  # fmt: skip
        self.running[future.key], self.futures[future.key] = stretch, future
        future.add_done_callback(self.done.put)

    def _look(self) -> None:
        """Check that the cluster is still there, and how many tasks it can take."""
        if monotonic() - self.looked < _LOOK:
            return
        if self.client.status not in ("running", "newly-created"):
            raise _Lost
        try:
            workers = self.client.nthreads()
        except Exception:  # whatever a broken connection raises
            raise _Lost from None
        newcomers = [address for address in workers if address not in self.compared]
        if newcomers:  # before they are given work
            self.engine._check_workers(self.client, newcomers)
            self.compared.update(newcomers)
        threads = sum(workers.values())
        self.looked = monotonic()
        if threads:
            self.seen = self.looked
        elif self.room:
            self.engine.note("no workers are left; waiting for some")
        elif self.engine.scheduler is not None and not self.has_waited:
            self.has_waited = True
            self.engine.note(
                "the scheduler has no workers; waiting for some: dask worker "
                f"{self.engine.scheduler} starts one"
            )
        elif self.engine.scheduler is None and self.looked - self.seen > _ALONE:
            raise _Lost
        self.room = _PER_THREAD * threads

    def _result(self, future: Any, stretch: Stretch, waiting: deque[Stretch]) -> Columns | None:
        """The columns of a stretch; None if it is to run again, in parts."""
        self.futures.pop(future.key, None)
        if future.status == "finished":
            columns = _fetched(future)
            if columns is None:
                waiting.appendleft(stretch)
            return columns
        if future.status != "error":  # cancelled, or lost
            raise _Lost
        problem = future.exception(timeout=60)
        if isinstance(problem, VersionError):
            raise problem
        deadly = type(problem).__name__ == "KilledWorker"
        if not deadly and not isinstance(problem, MemoryError):
            raise AppellError(
                f"a worker could not compute points {stretch.first} to {stretch.last - 1}: "
                f"{type(problem).__name__}: {shorten(str(problem))}"
            )
        if stretch.last - stretch.first > 1:
            waiting.extendleft(reversed(stretch.parts()))
            return None
        if deadly and stretch != self.alone:  # what else ran there may have killed it
            self.suspects.append(stretch)
            return None
        why = "the workers that ran it died" if deadly else "there was not enough memory for it"
        self.engine.note(f"point {stretch.first}: {why}")
        return self.engine.points.lost(stretch.first, stretch.last, why)


def _fetched(future: Any) -> Columns | None:
    """The result of a future that is finished; None if the worker that has it died."""
    end = monotonic() + _FETCH
    while future.status == "finished" and monotonic() < end:
        try:
            columns: Columns = future.result(timeout=TRY)
        except Exception:  # whatever a broken connection raises
            continue
        return columns
    return None
