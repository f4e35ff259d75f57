"""The log of a run: one record per cycle, in an MCAP file that survives a kill.

Each cycle is one message, and one write to the system: what was written is there, whatever becomes
of the process. A machine that loses its power loses what the system had not yet put on the disk.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from appell.errors import InputError, quoted, reading
from appell.rig.controller.safety import State
from appell.rig.log import mcap
from appell.rig.machine.protocol import MOST_JOINTS
from appell.robots.robot import Array

_CYCLES, _EVENTS = 1, 2  # channels
_HEAD = struct.Struct("<BQHIQQ4s")  # of a record of a cycle: see message_type
_EVENT = """uint64 cycle
uint8 state
string reason
"""


def fields(n: int) -> list[tuple[str, str, str, int]]:
    """Name, kind for NumPy, kind for ROS, and how many (0: one that is no array).

    Larger ones come first, so that nothing has to be padded."""
    return [
        ("time", "<i8", "int64", 0),  # ns of the controller's clock
        ("cycle", "<u8", "uint64", 0),
        ("reading", "<u8", "uint64", 0),  # the machine's cycle that was read, 0 for none
        ("q", "<f8", "float64", n),
        ("v", "<f8", "float64", n),
        ("qd", "<f8", "float64", n),
        ("tau", "<f8", "float64", n),
        ("volts", "<f8", "float64", n),
        ("late", "<i4", "int32", 0),  # ns after its deadline that the cycle began
        ("busy", "<i4", "int32", 0),  # ns that the cycle before took
        ("overruns", "<u4", "uint32", 0),  # cycles so far that were not over in time
        ("hot", "<u4", "uint32", 0),
        ("counts", "<i4", "int32", n),
        ("latch", "<i4", "int32", n),
        ("pulses", "<u2", "uint16", n),
        ("pots", "<u2", "uint16", n),
        ("status", "<u2", "uint16", 0),
        ("order", "<u2", "uint16", 0),
        ("state", "u1", "uint8", 0),
        ("phase", "u1", "uint8", 0),
    ]


@lru_cache
def payload_type(n: int) -> np.dtype[np.void]:
    """NumPy's type of the numbers of a cycle."""
    return np.dtype([(name, kind, (many,) if many else ()) for name, kind, _, many in fields(n)])


@lru_cache
def message_type(n: int) -> np.dtype[np.void]:
    """A whole record of a cycle."""
    return np.dtype(
        [
            ("opcode", "u1"),
            ("length", "<u8"),
            ("channel", "<u2"),
            ("sequence", "<u4"),
            ("log_time", "<u8"),
            ("publish_time", "<u8"),
            ("cdr", "S4"),
            ("payload", payload_type(n)),
        ]
    )


_LETTERS = {"<i8": "q", "<u8": "Q", "<f8": "d", "<i4": "i", "<u4": "I", "<u2": "H", "u1": "B"}


def layout(n: int) -> struct.Struct:
    """The same, for plain numbers one after another."""
    return struct.Struct("<" + "".join(f"{many or 1}{_LETTERS[x]}" for _, x, _, many in fields(n)))


def schema_text(n: int) -> str:
    """The fields of a cycle as the text of a ROS message."""
    return "".join(
        f"{ros}{f'[{many}]' if many else ''} {name}\n" for name, _, ros, many in fields(n)
    )


class LogWriter:
    """``fill`` makes a record of a cycle, ``cycle`` writes it."""

    def __init__(self, path: Path | str, n: int, metadata: Mapping[str, Any]) -> None:
        self.path = Path(path)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self.fd = os.open(self.path, flags, 0o644)
        except OSError as problem:
            raise InputError(f"log: {self.path}: {problem.strerror}; name another file.") from None
        self.layout = layout(n)
        self.bytes = bytearray(_HEAD.size + self.layout.size)  # the record
        self.written = self.time = 0
        self.events = self.crc = 0
        told = {"joints": str(n)} | {k: json.dumps(v) for k, v in metadata.items()}
        self._write(
            mcap.MAGIC
            + mcap.header("appell")
            + mcap.schema(1, "appell_msgs/msg/Cycle", schema_text(n))
            + mcap.channel(_CYCLES, 1, "/cycle", told)
            + mcap.schema(2, "appell_msgs/msg/Event", _EVENT)
            + mcap.channel(_EVENTS, 2, "/event", {})
        )

    def fill(self, *numbers: Any) -> None:
        """All numbers of a cycle, in the order of ``fields``; struct.error if they do not fit."""
        self.layout.pack_into(self.bytes, _HEAD.size, *numbers)

    def cycle(self, time: int) -> None:
        """Write the record; time in ns. OSError when there is no room."""
        length, sequence = len(self.bytes) - mcap.RECORD.size, self.written & 0xFFFFFFFF
        _HEAD.pack_into(
            self.bytes, 0, mcap.MESSAGE, length, _CYCLES, sequence, time, time, mcap.CDR
        )
        self.time = time
        self._write(self.bytes)
        self.written += 1

    def event(self, time: int, cycle: int, state: State, reason: str) -> None:
        """Write a change of state."""
        text = reason.encode() + b"\0"
        payload = struct.pack("<QB3xI", cycle, state, len(text)) + text
        self._write(mcap.message(_EVENTS, self.events, time, payload))
        self.events += 1

    def _write(self, data: bytes | bytearray) -> None:
        """All of it, or an error and nothing of it."""
        view, done = memoryview(data), 0
        try:  # a disk may have room for a part; the next call says why not for all
            while done < len(view):
                done += os.write(self.fd, view[done:])
        except OSError:
            if done:
                os.ftruncate(self.fd, os.fstat(self.fd).st_size - done)
            raise
        self.crc = zlib.crc32(data, self.crc)

    def close(self, clean: bool = True) -> None:
        """Close the file; a ``clean`` one has its end and its checksum."""
        if self.fd < 0:
            return
        try:
            if clean:
                self._write(mcap.end(self.crc))
        finally:
            os.close(self.fd)
            self.fd = -1


# Reading

_OVER = (0, 0, 0)


class Event(NamedTuple):
    """A change of state."""

    cycle: int
    state: State
    reason: str


class FieldError(InputError, KeyError):
    """A log has no such field."""

    __str__ = InputError.__str__


@dataclass(frozen=True, eq=False)
class Log:
    """A log's cycles, as arrays, and its events."""

    n: int
    metadata: dict[str, Any]
    rows: npt.NDArray[np.void]  # (cycles,) with the fields of a cycle
    events: list[Event]
    complete: bool  # whether it was closed and is whole; else it holds what could be read
    damaged: str = ""  # what is wrong with it, if it was not cut alone

    def __getitem__(self, name: str) -> Array:
        if name not in (self.rows.dtype.names or ()):
            raise FieldError(
                f"log[{name!r}]; expected one of {', '.join(self.rows.dtype.names or ())}."
            )
        return self.rows[name]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def t(self) -> Array:
        """s since the first cycle."""
        time = self.rows["time"]
        return (time - time[0]) / 1e9 if len(time) else np.zeros(0)

    def __repr__(self) -> str:
        end = "complete" if self.complete else "damaged" if self.damaged else "cut"
        return f"<Log of {self.n} joints: {len(self)} cycles, {len(self.events)} events, {end}>"


def read_log(path: Path | str) -> Log:
    """The log in a file, as far as it goes.

    Args:
        path: Of the .mcap file.

    Returns:
        A `Log`.

    Examples:
        >>> law = appell.control.ComputedTorque(appell.load("puma560"), kp=400, kd=40)
        >>> start, end = np.radians([[0, -45, 60, 0, 30, 0], [1, -44, 61, 1, 31, 1]])
        >>> move = appell.control.quintic(start, end, 0.2)
        >>> report = appell.rig.run(law, move, channel="lockstep", log=tmp / "move.mcap")
        >>> log = appell.rig.read_log(tmp / "move.mcap")
        >>> log.complete, log["q"].shape == (len(log), 6)
        (True, True)
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"read_log: path = {path!r}; expected the name of a file.")
    with reading(path):
        data = Path(path).read_bytes()
    if data[: len(mcap.MAGIC)] != mcap.MAGIC:
        raise InputError(f"{path}: not an MCAP file; expected a log of appell control.")
    found = _Found(path, data)
    damaged = found.read()
    if not found.n:
        raise InputError(f"{path}: no cycles of appell control; was it cut within its head?")
    kind = message_type(found.n)
    rows = np.concatenate([np.zeros(0, kind), *found.parts])
    if (rows["sequence"] != np.arange(len(rows)) % 2**32).any():
        damaged = damaged or "its cycles do not follow one another"
    left = data[found.at :]
    if found.closed and not mcap.MAGIC.startswith(left):
        damaged = damaged or f"{len(left.removeprefix(mcap.MAGIC))} bytes follow its end"
    elif not found.closed and left and (left[0] not in mcap.OPCODES or left.endswith(mcap.MAGIC)):
        damaged = damaged or f"unreadable from byte {found.at} on"
    if damaged and not found.closed:
        rows = rows[:-1]  # what cannot be read may have begun within it
    complete = found.closed and left == mcap.MAGIC and not damaged
    return Log(found.n, found.metadata, rows["payload"], found.events, complete, damaged)


class _Found:
    """What a file holds, record by record."""

    def __init__(self, path: Path | str, data: bytes) -> None:
        self.path, self.data, self.at, self.n, self.closed = path, data, len(mcap.MAGIC), 0, False
        self.metadata: dict[str, Any] = {}
        self.parts, self.events = list[Any](), list[Event]()
        self.crc, self.summed = 0, 0  # the checksum of so many bytes

    def read(self) -> str:
        """To the end, or to what cannot be read: what is wrong."""
        damaged = ""
        for opcode, start, stop in iter(
            lambda: next(mcap.records(self.data, self.at), _OVER), _OVER
        ):
            if opcode not in mcap.OPCODES:
                break
            if opcode == mcap.DATA_END:
                damaged = damaged or self._checked(start, stop)
            try:
                stop = self._take(opcode, start, stop)
            except (struct.error, ValueError) as problem:
                if isinstance(problem, InputError):
                    raise
                damaged = f"a record at byte {self.at} makes no sense"
            self.closed = opcode == mcap.FOOTER
            self.at = stop
            if self.closed:
                break
        return damaged

    def _take(self, opcode: int, start: int, stop: int) -> int:
        """A record, or all of a row of cycles: where they end."""
        data = self.data
        if opcode == mcap.CHANNEL:
            number, _, told = mcap.channel_of(data[start:stop])
            if number == _CYCLES and self.n:
                raise ValueError("the cycles' channel a second time")
            if number == _CYCLES:
                self.n, self.metadata = _told(self.path, told)
        elif opcode == mcap.MESSAGE and self.n:
            if stop - start < mcap.MESSAGE_HEAD.size:
                raise ValueError("a message without its head")
            channel = mcap.MESSAGE_HEAD.unpack_from(data, start)[0]
            if channel == _EVENTS:
                self.events.append(_event(data[start + mcap.MESSAGE_HEAD.size + 4 : stop]))
            elif channel == _CYCLES:
                rows = _run(data, self.at, self.n)
                self.parts.append(rows)
                if not len(rows):
                    raise ValueError("a cycle of another size")
                return self.at + len(rows) * message_type(self.n).itemsize
        return stop

    def _checked(self, start: int, stop: int) -> str:
        """Whether the checksum is that of all before it; 0 is none, as older logs have it."""
        crc = int.from_bytes(self.data[start : min(stop, start + 4)], "little")
        self.crc = zlib.crc32(memoryview(self.data)[self.summed : self.at], self.crc)
        self.summed = self.at
        fits = crc in (0, self.crc) and stop - start == 4
        return "" if fits else "its checksum is not that of what it holds"


def _told(path: Path | str, told: dict[str, str]) -> tuple[int, dict[str, Any]]:
    try:
        n = int(told["joints"])
        metadata = {k: json.loads(v) for k, v in told.items() if k != "joints"}
    except (KeyError, ValueError, RecursionError):
        raise InputError(f"{path}: an MCAP file, but no log of appell control.") from None
    period = metadata.get("period", 0.001)
    if type(period) not in (int, float) or not 0 < period < inf:
        raise InputError(
            f"{path}: a period of {quoted(period)}; expected that of a log of appell control, in s."
        )
    if not 1 <= n <= MOST_JOINTS:
        raise InputError(
            f"{path}: a log of {quoted(n)} joints; expected one of appell control, with 1 to "
            f"{MOST_JOINTS}."
        )
    return n, metadata


def _run(data: bytes, at: int, n: int) -> npt.NDArray[np.void]:
    """All records of cycles that follow one another from ``at`` on. They are looked at in blocks,
    each as large as all before it: the work is that of the records found, whatever follows."""
    kind = message_type(n)
    rows = np.frombuffer(data, kind, (len(data) - at) // kind.itemsize, at)
    length = kind.itemsize - mcap.RECORD.size
    found, block = 0, 4
    while found < len(rows):
        part = rows[found : found + block]
        mine = (part["opcode"] == mcap.MESSAGE) & (part["length"] == length)
        mine &= part["channel"] == _CYCLES
        if not mine.all():
            return rows[: found + int(np.argmin(mine))]
        found += len(part)
        block = found
    return rows


def _event(payload: bytes) -> Event:
    cycle, state, length = struct.unpack_from("<QB3xI", payload)
    return Event(cycle, State(state), payload[16 : 16 + length - 1].decode(errors="replace"))
