"""Connections to schedulers of Dask that others have started."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep
from typing import Any

from appell.errors import AppellError
from appell.study.sweeps.require import distributed

TRY = 5.0  # s that a connection may take


def client_of(where: Any, security: Any) -> Any:
    """Client of a cluster, or of a scheduler at an address."""
    client = distributed().Client
    return client(where, timeout=TRY, set_as_default=False, security=security)


def connected(scheduler: str, security: Any, patience: float, note: Callable[[str], None]) -> Any:
    """Client of a scheduler.

    Args:
        scheduler: Address.
        security: TLS as Dask has it; None for that of Dask's own configuration.
        patience: How long to wait for a scheduler that does not answer, in s.
        note: Reports that it waits.
    """
    _check_security(scheduler, security)
    given_up, reported = monotonic() + patience, False
    while True:
        try:
            _knock(scheduler, security)
            return client_of(scheduler, security)
        except (OSError, TimeoutError) as problem:
            if monotonic() > given_up:
                other = "" if scheduler.startswith("tls") else ", with tls:// if it has TLS"
                raise AppellError(
                    f"no scheduler of Dask answers at {scheduler}: {problem}. What was done is "
                    f"kept: start it, or give its address{other}, and run the same command again."
                ) from None
            if not reported:
                note(f"the scheduler at {scheduler} does not answer; waiting")
            reported = True
            sleep(min(1.0, patience / 10))
        except (ValueError, TypeError, RuntimeError) as problem:
            raise AppellError(
                f"--scheduler {scheduler}: {problem}. Expected an address such as "
                "tcp://10.0.0.1:8786."
            ) from None


def _check_security(scheduler: str, security: Any) -> None:
    """Refuse a tls:// scheduler without certificates, and certificates that do not fit."""
    try:
        context = _options(security).get("ssl_context")
    except (OSError, ValueError) as problem:  # of ssl, too
        raise AppellError(
            f"--tls-ca, --tls-cert and --tls-key do not fit together: {problem}. Expected a CA, a "
            "certificate that it signed, and the key of that certificate."
        ) from None
    if scheduler.startswith("tls://") and context is None:
        raise AppellError(
            f"--scheduler {scheduler} needs certificates: give --tls-ca, --tls-cert and --tls-key, "
            "or set distributed.comm.tls in Dask's configuration."
        )


def _options(security: Any) -> Any:
    return (security or distributed().Security()).get_connection_args("client")


def _knock(scheduler: str, security: Any) -> None:
    """Raise OSError where no scheduler answers. A client would wait without end for a program that
    is none, and one whose connection fails is left half made."""

    async def knock() -> None:
        connect = distributed().comm.connect(scheduler, TRY, **_options(security))
        try:
            comm = await asyncio.wait_for(connect, 2 * TRY)
        except asyncio.TimeoutError:
            raise OSError("what answers there is no scheduler of Dask") from None
        await comm.close()

    with ThreadPoolExecutor(1) as thread:  # this one may have a loop of its own, as in a notebook
        thread.submit(lambda: asyncio.run(knock())).result()
