"""Faults that a simulated rig can be given, at any cycle."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
    """A fault from a cycle of the rig on; without ``duration``, for good. Joints count from 0."""

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
    """The fault that a line of a pipe tells."""
    return Fault(**json.loads(line))


def fault_option(text: str, joints: Sequence[str]) -> Fault:
    """The fault that the text of an option tells:
    ``kind@cycle[,joint=..][,size=..][,duration=..]``, joints from 1 on or by their names."""
    try:
        return Fault(**_short(text, joints))
    except (TypeError, ValueError, InputError) as problem:
        raise InputError(
            f"fault {text.strip()!r}: {problem}; expected such as 'stuck@1500,joint=2'."
        ) from None


def _short(text: str, joints: Sequence[str]) -> dict[str, Any]:
    head, *rest = text.split(",")
    kind, _, cycle = head.partition("@")
    given: dict[str, Any] = {"kind": kind.strip().replace("-", " "), "cycle": int(cycle or 0)}
    for part in rest:
        name, _, value = part.partition("=")
        name, value = name.strip(), value.strip()
        if name == "joint":
            given[name] = _joint(value, joints)
        else:
            given[name] = float(value) if name == "size" else int(value)
    return given


def _joint(value: str, joints: Sequence[str]) -> int:
    """Which of the joints, from 0 on."""
    if value in joints:
        return joints.index(value)
    if not value.isdecimal() or not 1 <= int(value) <= len(joints):
        raise InputError(f"joint {value}: there are joints 1 to {len(joints)}, {', '.join(joints)}")
    return int(value) - 1


def active(faults: list[Fault], kind: Kind, cycle: int) -> list[Fault]:
    return [f for f in faults if f.kind == kind and f.at(cycle)]


def refuse_joints(faults: Sequence[Fault], n: int) -> None:
    for fault in faults:
        if fault.joint >= n:
            raise InputError(f"{fault}: there are joints 0 to {n - 1}.")
