"""Faults that a simulated rig can be given, at any cycle."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from appell.errors import InputError
from appell.given import one_of, whole

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
_SIZED = {
    "late readings": "how many cycles",
    "late commands": "how many cycles",
    "slip": "how many counts",
    "noise": "how many codes",
}
_OF_A_JOINT = ("slip", "stuck", "no index", "hot", "noise")
_NUMBERS: dict[str, type[float]] = {"cycle": int, "size": float, "duration": int}


@dataclass(frozen=True)
class Fault:
    """A fault of the simulated machine.

    Args:
        kind: Such as "hot", "stuck", "slip"; a wrong one is answered with all there are.
        cycle: From which cycle on.
        joint: Which, counted from 0.
        size: How much, where the kind has a size.
        duration: In cycles; for good without it.

    Examples:
        >>> fault = appell.rig.Fault("hot", cycle=1800, joint=2)
        >>> fault.at(1799), fault.at(1800)
        (False, True)
    """

    kind: Kind
    cycle: int = 0
    joint: int = 0
    size: float = 0.0
    duration: int = FOREVER

    def __post_init__(self) -> None:
        if isinstance(self.kind, str):
            object.__setattr__(self, "kind", self.kind.replace("-", " "))
        one_of("Fault: kind", self.kind, KINDS)
        for name, least in (("cycle", 0), ("joint", 0), ("duration", 1)):
            whole(f"Fault: {name}", getattr(self, name), least)
        if not isinstance(self.size, int | float) or not abs(self.size) < 1e9:
            raise InputError(f"Fault: size = {self.size!r}; expected a number below 1e9.")
        if self.kind in _SIZED and not (self.size > 0 or (self.kind == "slip" and self.size)):
            raise InputError(
                f"Fault: size = {self.size!r}; '{self.kind}' needs one: {_SIZED[self.kind]}."
            )

    def at(self, cycle: int) -> bool:
        """Whether the fault is there in a cycle.

        Args:
            cycle: The cycle's number, from 0 on.

        Returns:
            True or False.
        """
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
    except InputError as problem:
        why = str(problem).removeprefix("Fault: ").removesuffix(".")
        raise InputError(
            f"fault {text.strip()!r}: {why}. Write it like 'stuck@1500,joint=2'."
        ) from None


def _short(text: str, joints: Sequence[str]) -> dict[str, Any]:
    head, *rest = text.split(",")
    kind, _, cycle = head.partition("@")
    given = {"kind": kind.strip().replace("-", " "), "cycle": _number("cycle", cycle or "0")}
    for part in rest:
        name, _, value = (x.strip() for x in part.partition("="))
        if name in given:
            raise InputError(f"{name} is given twice")
        given[name] = _joint(value, joints) if name == "joint" else _number(name, value)
    if given["kind"] in _OF_A_JOINT and "joint" not in given:
        raise InputError(f"of which joint? There are {', '.join(joints)}")
    return given


def _number(name: str, value: str) -> float:
    if name not in _NUMBERS:
        raise InputError(f"{name!r} is unknown; expected one of joint, {', '.join(_NUMBERS)}")
    try:
        return _NUMBERS[name](value)
    except ValueError:
        kind = "a number" if name == "size" else "a whole number, 0 or more"
        raise InputError(f"{name} = {value!r}; expected {kind}") from None


def _joint(value: str, joints: Sequence[str]) -> int:
    """Which of the joints, from 0 on."""
    if value in joints:
        return joints.index(value)
    if not value.isdecimal() or len(value) > 4 or not 1 <= int(value) <= len(joints):
        raise InputError(
            f"joint {value!r}: there are joints 1 to {len(joints)}, {', '.join(joints)}"
        )
    return int(value) - 1


def active(faults: list[Fault], kind: Kind, cycle: int) -> list[Fault]:
    """The faults of a kind that are there in a cycle."""
    return [f for f in faults if f.kind == kind and f.at(cycle)]


def refuse_simulated(faults: Sequence[Fault], own: Sequence[str]) -> None:
    """Faults that only a simulated machine can be given."""
    for fault in faults:
        if fault.kind not in own:
            raise InputError(
                f"fault '{fault.kind}': a machine of your own takes no faults but "
                f"{' and '.join(own)}; leave it out, or run without hardware."
            )


def refuse_joints(faults: Sequence[Fault], n: int) -> None:
    """Refuse faults of joints that the machine does not have."""
    for fault in faults:
        if fault.joint >= n:
            raise InputError(f"{fault}: there are joints 0 to {n - 1}.")
