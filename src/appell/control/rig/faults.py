"""Faults that a simulated rig can be given, at any cycle."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from appell.errors import InputError

Kind = Literal[
    "lost readings",  # size is not used: nothing arrives for the duration
    "lost commands",
    "late readings",  # by size cycles
    "late commands",
    "damaged readings",  # bits flipped on the way
    "damaged commands",
    "slip",  # the encoder loses size counts, at once
    "stuck",  # the encoder's counter stands
    "no index",  # the encoder's index pulse is not heard
    "hot",  # the motor's over-temperature switch
    "noise",  # size codes, root mean square, on the potentiometer
    "dead plant",  # the machine falls silent and stops
    "dead controller",  # the controller falls silent; the rig only hears nothing more
    "disk full",  # the log cannot be written any further
]
KINDS: tuple[str, ...] = get_args(Kind)
OWN = ("dead controller", "disk full")  # of the controller's process
FOREVER = 1 << 60


@dataclass(frozen=True)
class Fault:
    """A fault from a cycle of the rig on; without ``duration``, for good."""

    kind: Kind
    cycle: int = 0
    joint: int = 0
    size: float = 0.0
    duration: int = FOREVER

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"Fault: kind = {self.kind!r}; expected one of {', '.join(KINDS)}.")
        for name in ("cycle", "joint", "duration"):
            x = getattr(self, name)
            if isinstance(x, bool) or not isinstance(x, int) or x < 0:
                raise InputError(f"Fault: {name} = {x!r}; expected a whole number, zero or more.")
        if not isinstance(self.size, int | float) or not abs(self.size) < 1e9:
            raise InputError(f"Fault: size = {self.size!r}; expected a number.")

    def at(self, cycle: int) -> bool:
        return self.cycle <= cycle < self.cycle + self.duration


def fault_line(fault: Fault) -> bytes:
    """As a line of a pipe."""
    return json.dumps(asdict(fault)).encode() + b"\n"


def fault_of(line: bytes | str) -> Fault:
    """The fault that a line, or the text of an option, tells: JSON, or
    ``kind@cycle[,joint=..][,size=..][,duration=..]``."""
    text = line.decode() if isinstance(line, bytes) else line
    try:
        return Fault(**(json.loads(text) if text.lstrip().startswith("{") else _short(text)))
    except (TypeError, ValueError, InputError) as problem:
        raise InputError(
            f"fault {text.strip()!r}: {problem}; expected such as 'stuck@1500,joint=2'."
        ) from None


def _short(text: str) -> dict[str, Any]:
    head, *rest = text.split(",")
    kind, _, cycle = head.partition("@")
    given: dict[str, Any] = {"kind": kind.strip().replace("-", " "), "cycle": int(cycle or 0)}
    for part in rest:
        name, _, value = part.partition("=")
        number = float(value)
        given[name.strip()] = number if name.strip() == "size" else int(number)
    return given


def active(faults: list[Fault], kind: Kind, cycle: int) -> list[Fault]:
    return [f for f in faults if f.kind == kind and f.at(cycle)]
