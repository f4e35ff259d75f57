"""A machine's digital outputs, such as a gripper's valve: their names, and when they are switched.

An output is a bit of a command's order. Those of the paper's tool are two (Valera et al. 2003,
section 3). In a safe state every output is off, but for those that the machine keeps as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.given import is_number
from appell.rig.machine.protocol import Order

Bits = npt.NDArray[np.int64]

BITS = (Order.TOOL_1, Order.TOOL_2)
OUTPUTS = ("tool1", "tool2")  # their names, where a machine has no others
ALL = sum(BITS)


class Switch(NamedTuple):
    """An output that goes on or off on the way.

    Attributes:
        time: s after the motion's start.
        output: Its name, of ``machine.outputs``.
        on: Whether it goes on.
    """

    time: float
    output: str
    on: bool


def refuse_names(outputs: Any, kept: Any) -> None:
    """Names that a machine cannot give its outputs."""
    for what, names in (("outputs", outputs), ("kept", kept)):
        if not isinstance(names, tuple | list) or not all(isinstance(x, str) for x in names):
            raise InputError(f"Machine: {what} = {names!r}; expected names such as {OUTPUTS}.")
    clear = all(x.isidentifier() and not _column(x) for x in outputs)
    if not clear or len(set(outputs)) < len(outputs) or len(outputs) > len(BITS):
        raise InputError(
            f"Machine: outputs = {outputs!r}; expected at most {len(BITS)} different names of "
            "letters and digits, other than t, q1, q2, ..., such as 'gripper'."
        )
    unknown = [x for x in kept if x not in outputs]
    if unknown:
        raise InputError(f"Machine: kept = {kept!r}; its outputs are {', '.join(outputs)}.")


def _column(name: str) -> bool:
    """Whether a column of a motion's file has this name."""
    return name == "t" or (name[0] == "q" and name[1:].isdigit())


def bits_of(names: Collection[str], outputs: Sequence[str]) -> int:
    """The bits of these outputs in a command's order."""
    unknown = [x for x in names if x not in outputs]
    if unknown:
        there = ", ".join(outputs) or "none"
        raise InputError(f"no output {unknown[0]!r}; the machine's outputs are {there}.")
    return sum(bit for name, bit in zip(outputs, BITS, strict=False) if name in names)


def levels_of(orders: Any, outputs: Sequence[str]) -> dict[str, Any]:
    """Which outputs are on, by their names, for an order or an array of orders."""
    return {name: (np.asarray(orders) & bit) != 0 for name, bit in zip(outputs, BITS, strict=False)}


def names_in(metadata: Mapping[str, Any]) -> Sequence[str]:
    """The names of the outputs that a log tells, or the usual ones."""
    names = metadata.get("outputs")
    if isinstance(names, list) and all(isinstance(x, str) for x in names):
        return names
    return OUTPUTS


def switches_of(t: Any, levels: Mapping[str, Any]) -> list[Switch]:
    """When outputs are switched that have these levels, (m,), from the times t, (m,), on."""
    made = []
    for name, x in levels.items():
        before = np.concatenate([[False], np.asarray(x, dtype=bool)[:-1]])
        changes = np.flatnonzero(np.asarray(x, dtype=bool) != before)
        made += [Switch(float(t[k]), name, bool(x[k])) for k in changes]
    return sorted(made)


def schedule(switches: Iterable[Any], outputs: Sequence[str], cycles: int, period: float) -> Bits:
    """The bits of the outputs in each of the cycles 0 to ``cycles`` of a motion, all off at first.

    A switch takes effect in the first cycle that is not before its time.
    """
    levels = np.zeros(cycles + 1, dtype=np.int64)
    checked = [_checked(x, outputs, cycles * period) for x in switches]
    for time, name, on in sorted(checked, key=lambda x: x.time):
        first, bit = ceil(time / period - 1e-6), bits_of([name], outputs)
        levels[first:] = levels[first:] | bit if on else levels[first:] & ~bit
    return levels


def _checked(given: Any, outputs: Sequence[str], duration: float) -> Switch:
    try:
        time, name, on = given
    except (TypeError, ValueError):
        raise InputError(
            f"switch {given!r}; expected a time, an output's name and whether it goes on, such as "
            f"(0.5, {OUTPUTS[0]!r}, True)."
        ) from None
    if not is_number(time) or not 0 <= time <= duration + 1e-9:
        raise InputError(
            f"switch of {name!r} at {time!r} s; expected a time from 0 to {duration:g} s, the "
            "motion's duration."
        )
    if not isinstance(on, bool | np.bool_):
        raise InputError(f"switch of {name!r} to {on!r}; expected True or False.")
    bits_of([name], outputs)
    return Switch(float(time), str(name), bool(on))


def switch_option(text: str) -> Switch:
    """``gripper=on@0.5``: a switch, 0.5 s after the motion's start."""
    name, _, rest = text.partition("=")
    word, _, time = rest.partition("@")
    try:
        return Switch(float(time), name.strip(), {"on": True, "off": False}[word.strip()])
    except (KeyError, ValueError):
        raise InputError(
            f"--switch {text}: expected name=on@time or name=off@time, the time in s after the "
            "motion's start, such as tool1=on@0.5."
        ) from None
