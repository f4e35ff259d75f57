"""The hardware interface: one reading and one command per cycle, and what a driver has to do.

Both are records of a fixed layout, little-endian, that ends with the CRC-32 of all before it. They
are the same over every channel. A record that is damaged, cut, of another version or of another
number of joints is nobody's: `reading_of` and `command_of` give None.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable
from zlib import crc32

import numpy as np
import numpy.typing as npt

from appell.errors import InputError

Whole = npt.NDArray[np.integer[Any]]

VERSION = 1
MOST_JOINTS = 32
_MAGIC_READING, _MAGIC_COMMAND = b"APLR", b"APLC"
_READING = struct.Struct("<4sBBHIQqQ")  # magic, version, joints, flags, hot, cycle, time, echo
_COMMAND = struct.Struct("<4sBBHIQq")  # magic, version, joints, flags, 0, cycle, time
_CRC = struct.Struct("<I")


class Status:
    """What the machine says of itself: bits."""

    BRAKED = 1
    POWERED = 2  # the amplifiers are on
    WATCHDOG = 4  # it heard no command for too long, and stopped; latched


class Order:
    """What a command asks for besides volts: bits."""

    ENABLE = 1
    RELEASE = 2  # the brakes
    TOOL_1 = 4
    TOOL_2 = 8
    RESET = 16  # forget the watchdog and the commands of another controller; not with ENABLE


class Reading(NamedTuple):
    """What the machine measures in a cycle."""

    cycle: int  # of the machine
    time: int  # ns, of the machine's own clock
    echo: int  # the cycle of the last command that it heard
    status: int  # Status
    hot: int  # one bit per joint, set where its motor is too hot
    counts: Whole  # of the encoders, since power-up
    latch: Whole  # the counts at the last index pulse
    pulses: Whole  # how many index pulses there were, modulo 2^16
    pots: Whole  # codes of the potentiometers, 0 to 4095


def refusal(given: Any, n: int) -> str | None:
    """Why what a driver gives is no reading of n joints."""
    if not isinstance(given, Reading):
        return f"read gave a {type(given).__name__}; expected a Reading, or None"
    for name in ("cycle", "time", "echo", "status", "hot"):
        x = getattr(given, name)
        if not isinstance(x, int | np.integer) or x < 0:
            return f"{name} of a reading is {x!r}; expected a whole number, zero or more"
    for name in ("counts", "latch", "pulses", "pots"):
        x = getattr(given, name)
        if not isinstance(x, np.ndarray) or x.shape != (n,) or x.dtype.kind not in "iu":
            return f"{name} of a reading are {x!r}; expected an array of {n} whole numbers"
    return None


class Command(NamedTuple):
    """What the machine is told in a cycle."""

    cycle: int  # of the controller
    time: int  # ns, of the controller's clock
    order: int  # Order
    codes: Whole  # of the outputs' converter, 0 to 4095; 2048 is 0 V


@runtime_checkable
class Hardware(Protocol):
    """What a driver does."""

    def read(self, timeout: float) -> Reading | None:
        """The newest reading that was not given before; None if none comes in time.

        Args:
            timeout: How long to wait, s.

        Returns:
            A `Reading`, or None.
        """

    def write(self, command: Command) -> None:
        """Send a command. It may be lost; a channel that is closed raises OSError.

        Args:
            command: A `Command`.
        """

    def close(self) -> None:
        """Leave the machine alone. It stops by its own watchdog."""


def connected(make: Callable[[], Hardware]) -> Hardware:
    """The driver that is made."""
    try:
        made = make()
    except Exception as problem:  # a driver may raise anything
        raise InputError(f"hardware: {type(problem).__name__}: {problem}") from problem
    if not isinstance(made, Hardware):
        raise InputError(f"hardware: {made!r}; expected a driver with read, write and close.")
    return made


def zero_volts(n: int) -> Whole:
    """Codes of the outputs' converter for 0 V."""
    return np.full(n, 2048, dtype=np.int64)


def safe(cycle: int, time: int, n: int) -> Command:
    """Zero volts, amplifiers off, brakes on."""
    return Command(cycle, time, 0, zero_volts(n))


# Records


def reading_size(n: int) -> int:
    """The bytes of a reading of n joints."""
    return _READING.size + 12 * n + _CRC.size


def command_size(n: int) -> int:
    """The bytes of a command to n joints."""
    return _COMMAND.size + 2 * n + _CRC.size


def reading_bytes(r: Reading) -> bytes:
    """A reading as a record."""
    head = _READING.pack(
        _MAGIC_READING, VERSION, len(r.counts), r.status, r.hot, r.cycle, r.time, r.echo
    )
    parts = ((r.counts, "<i4"), (r.latch, "<i4"), (r.pulses, "<u2"), (r.pots, "<u2"))
    body = head + b"".join([x.astype(kind, copy=False).tobytes() for x, kind in parts])
    return body + _CRC.pack(crc32(body))


def command_bytes(c: Command) -> bytes:
    """A command as a record."""
    head = _COMMAND.pack(_MAGIC_COMMAND, VERSION, len(c.codes), c.order, 0, c.cycle, c.time)
    body = head + c.codes.astype("<u2").tobytes()
    return body + _CRC.pack(crc32(body))


def reading_of(data: bytes, n: int) -> Reading | None:
    """The reading of n joints that these bytes are."""
    if not _whole(data, reading_size(n)):
        return None
    magic, version, joints, status, hot, cycle, time, echo = _READING.unpack_from(data)
    if (magic, version, joints) != (_MAGIC_READING, VERSION, n):
        return None
    at = _READING.size
    counts = np.frombuffer(data, "<i4", n, at)
    latch = np.frombuffer(data, "<i4", n, at + 4 * n)
    pulses = np.frombuffer(data, "<u2", n, at + 8 * n)
    pots = np.frombuffer(data, "<u2", n, at + 10 * n).astype(np.int64)
    if max(pots.tolist()) > 4095:
        return None
    return Reading(cycle, time, echo, status, hot, counts, latch, pulses, pots)


def command_of(data: bytes, n: int) -> Command | None:
    """The command to n joints that these bytes are."""
    if not _whole(data, command_size(n)):
        return None
    magic, version, joints, order, _, cycle, time = _COMMAND.unpack_from(data)
    if (magic, version, joints) != (_MAGIC_COMMAND, VERSION, n):
        return None
    codes = np.frombuffer(data, "<u2", n, _COMMAND.size)
    if max(codes.tolist()) > 4095:
        return None
    return Command(cycle, time, order, codes)


def _whole(data: bytes, size: int) -> bool:
    return len(data) == size and _CRC.unpack_from(data, size - 4)[0] == crc32(data[:-4])
