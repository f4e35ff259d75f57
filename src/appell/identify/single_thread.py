"""One thread for BLAS: its own threads cost small matrices more than they gain."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def alone(function: Callable[P, T]) -> Callable[P, T]:
    """The function, during which BLAS uses the thread that calls it and no other."""

    @wraps(function)
    def run(*arguments: P.args, **named: P.kwargs) -> T:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, "blas"):
            return function(*arguments, **named)

    return run
