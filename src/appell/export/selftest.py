"""A C program that holds exported code to the kernel's results."""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.compile.lower import REALS, Real
from appell.export.body import literal
from appell.export.runtime import template
from appell.export.subject import Subject


def selftest(of: Subject, seed: int) -> str:
    """``name_test.c``: random states, the kernel's results there, and the largest difference."""
    real = REALS[of.dtype]
    given, expected = of.examples(seed)
    states = len(next(iter(expected.values())))
    tables = [_table(real, f"given_{x}", values) for x, values in given.items()]
    tables += [_table(real, f"expected_{x}", values) for x, values in expected.items()]
    made = [f"    {real.name} {x}[{_width(values)}];" for x, values in expected.items()]
    arguments = ", ".join([*(f"given_{x}[k]" for x in given), *expected])
    compared = [
        f'        compare("{x}", k, {x}, expected_{x}[k], {_width(values)});'
        for x, values in expected.items()
    ]
    told = {
        "NAME": of.name,
        "REAL": real.name,
        "BITS": str(real.bits),
        "STATES": str(states),
        "TABLES": "\n\n".join(tables),
        "MADE": "\n".join(made),
        "ARGUMENTS": arguments,
        "COMPARED": "\n".join(compared),
    }
    return template("test.c", told)


def _width(values: Any) -> int:
    return values[0].size


def _table(real: Real, name: str, values: Any) -> str:
    rows = [
        "    {" + ", ".join(_number(real, float(x)) for x in np.ravel(row)) + "}" for row in values
    ]
    head = f"static const {real.name} {name}[{len(values)}][{_width(values)}] = {{"
    return "\n".join([head, ",\n".join(rows), "};"])


def _number(real: Real, x: float) -> str:
    """Such as C can hold: NaN is written as a zero divided."""
    if np.isnan(x):
        return "0.0 / 0.0"
    if np.isinf(x):
        return f"{'-' if x < 0 else ''}1.0 / 0.0"
    return literal(real, x)
