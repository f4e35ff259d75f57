"""Workers of Dask on this machine, for nobody but the user who started them."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from tempfile import TemporaryDirectory
from typing import Any

from appell.compile.threads import cores
from appell.errors import AppellError, InputError, shorten
from appell.given import whole
from appell.study.sweeps.require import cryptography, distributed

_PER_CORE = 8
_SETTINGS = {
    "distributed.scheduler.allowed-failures": 1,  # how often what killed its worker runs again
    # Dask watches itself, fifty times a second in each process: that is work for a core.
    "distributed.admin.tick.interval": "500 ms",
    "distributed.admin.tick.cycle": "5 s",
    "distributed.worker.profile.enabled": False,
    # Pages that any user of this machine could read.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}


def worker_count(what: str, given: Any) -> int:
    """Number of workers on this machine, refused where they would only take its memory."""
    count, most = whole(what, given, 1), _PER_CORE * cores()
    if count > most:
        raise InputError(
            f"{what} = {count}; expected {most} at most, {_PER_CORE} per core of this machine: "
            "more are not faster."
        )
    return count


@contextmanager
def silent_dask() -> Iterator[None]:
    """No log lines of Dask: the sweep itself reports what goes wrong, in words of its own."""
    distributed()  # sets the levels of its loggers when it is imported
    loggers = [logging.getLogger(name) for name in [*logging.root.manager.loggerDict]]
    levels = {
        logger: logger.level
        for logger in loggers
        if logger.name.partition(".")[0] == "distributed" and logger.level
    }
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """A cluster of so many processes with a thread each. They listen on the loopback address alone,
    where other users of this machine may knock: who has no certificate of this cluster, made for
    it and never written to a disk, is refused. Their files are in a folder that only this user can
    write to: modules are imported from it."""
    cryptography()
    import dask

    own_folder = TemporaryDirectory(prefix="appell-workers-", ignore_cleanup_errors=True)
    with own_folder as folder, dask.config.set(_SETTINGS):
        cluster = None
        try:
            with _keyboard_held():
                cluster = _started(
                    n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                    security=True, local_directory=folder, dashboard_address=None,
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                    silence_logs=logging.CRITICAL,
                )  # fmt: skip
            yield cluster
        finally:
            if cluster is not None:
                with _keyboard_held():
                    cluster.close()


def _started(**options: Any) -> Any:
    """A cluster; AppellError with the cure if it does not start."""
    try:
        return distributed().LocalCluster(**options)
    except Exception as problem:  # whatever Dask raises of a process that does not start
        raise AppellError(
            f"the workers could not be started: {shorten(_cause(problem))}. Take fewer, or allow "
            "this user more processes and open files (ulimit -u, -n); a program of your own starts "
            "them below if __name__ == '__main__'."
        ) from None


def _cause(problem: BaseException) -> str:
    """The innermost error behind one, in words."""
    while problem.__cause__ is not None:
        problem = problem.__cause__
    return f"{type(problem).__name__}: {problem}"


@contextmanager
def _keyboard_held() -> Iterator[None]:
    """Ctrl-C waits until this ends. Processes that begin within it never hear it: a terminal sends
    it to all of them, and only the one that the user started answers."""
    pressed: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    handler: Any = None
    if is_main:  # the signal may come by any thread that does not block it
        handler = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    mask: Any = None
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        resource_tracker.ensure_running()  # whose start lets a thread hear it again
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if is_main:
            signal.signal(signal.SIGINT, handler or signal.default_int_handler)
    if pressed:
        raise KeyboardInterrupt
