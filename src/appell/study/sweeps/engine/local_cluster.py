"""Workers of Dask on this machine, for nobody but the user who started them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from appell.study.sweeps.require import cryptography, distributed

_SETTINGS = {
    "distributed.scheduler.allowed-failures": 1,  # how often what killed its worker runs again
    # Dask watches itself, fifty times a second in each process: that is work for a core.
    "distributed.admin.tick.interval": "500 ms",
    "distributed.admin.tick.cycle": "5 s",
    "distributed.worker.profile.enabled": False,
}


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
    package = distributed()
    cryptography()
    import dask

    own_folder = TemporaryDirectory(prefix="appell-workers-", ignore_cleanup_errors=True)
    with own_folder as folder, dask.config.set(_SETTINGS), package.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", security=True,
        local_directory=folder, dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"}, silence_logs=logging.CRITICAL,
    ) as cluster:  # fmt: skip
        yield cluster
