"""Threads that wait for work, so that handing some over takes microseconds.

A thread is woken by releasing a lock that it waits for. Shares of the work are taken one by one
under a lock of the job, and whoever hands work over takes shares, too: it waits only for threads
that have begun, and none is needed for the work to be done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Lock, Thread


class Crew:
    """Up to ``size`` threads, each started when it is first needed."""

    def __init__(self, size: int) -> None:
        self.closed = False
        self.idle: deque[_Helper | None] = deque([None] * size)  # None: not started yet

    def run(self, work: Callable[[int], None], count: int, helpers: int) -> None:
        """Call work(0) to work(count - 1), here and in at most ``helpers`` threads of the crew.

        The first error ends the work, and is raised when nobody is at it any more.
        """
        job = _Job(work, count)
        try:
            for _ in range(min(helpers, count - 1)):
                helper = self._idle_one()
                if helper is None:  # all are busy for other callers
                    break
                helper.take(job)
            job.do()
        finally:
            job.close()
        if job.problem is not None:
            raise job.problem

    def close(self) -> None:
        """Let the threads end; those at work do so afterwards."""
        self.closed = True
        with suppress(IndexError):
            while True:
                if helper := self.idle.pop():
                    helper.take(None)

    def _idle_one(self) -> _Helper | None:
        try:
            helper = self.idle.pop()
        except IndexError:
            return None
        try:
            return helper or _Helper(self)
        except RuntimeError:  # there can be no more threads, or the process ends
            self.idle.appendleft(None)
            return None


class _Helper:
    """A thread of a crew. It does not keep a process alive."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._job: _Job | None = None
        self._woken = Lock()
        self._woken.acquire()
        Thread(target=self._wait, name="appell", daemon=True).start()

    def take(self, job: _Job | None) -> None:
        """Wake the thread for a job, or to end."""
        self._job = job
        self._woken.release()

    def _wait(self) -> None:
        while self._woken.acquire() and (job := self._job) is not None:
            self._job = None
            begun = job.begin()
            if begun:
                job.help()
            self._crew.idle.append(self)  # before its caller may ask for it again
            if begun:
                job.end()
            del job  # it holds the caller's arrays
            if self._crew.closed:
                return


class _Job:
    """Shares of one caller's work."""

    def __init__(self, work: Callable[[int], None], count: int) -> None:
        self.problem: BaseException | None = None
        self._work, self._count, self._next = work, count, 0
        self._helpers, self._lock, self._done = 0, Lock(), Lock()
        self._done.acquire()
        self._awaited = False

    def _shares(self) -> Iterator[int]:
        """Whoever is free takes the next one."""
        while True:
            with self._lock:
                if self._next >= self._count:
                    return
                k, self._next = self._next, self._next + 1
            yield k

    def do(self) -> None:
        for k in self._shares():
            self._work(k)

    def help(self) -> None:
        try:
            self.do()
        except BaseException as problem:
            self.problem = problem
            self._stop()

    def begin(self) -> bool:
        """Whether a helper that has just woken is still of use."""
        with self._lock:
            begun = self._next < self._count
            self._helpers += begun
        return begun

    def end(self) -> None:
        with self._lock:
            self._helpers -= 1
            if self._awaited and not self._helpers:
                self._done.release()

    def close(self) -> None:
        """Wait for the helpers that have begun, whatever happened: they write into arrays."""
        self._stop()
        with self._lock:
            self._awaited = self._helpers > 0
        if self._awaited:
            try:
                self._done.acquire()
            except BaseException:  # an interrupt waits, too; a second one does not
                self._done.acquire()
                raise

    def _stop(self) -> None:
        with self._lock:
            self._next = self._count
