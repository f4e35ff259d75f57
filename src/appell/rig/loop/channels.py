"""Channels that carry records between a controller and a machine: shared memory, and UDP.

Old readings are worth nothing to a control loop: it takes the newest one. Commands are kept for
some time, so that a simulated machine that stood still can make up for each cycle with its own.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from select import select
from typing import Any, Protocol

from appell.rig.loop.seal import Seal
from appell.rig.machine import protocol
from appell.rig.machine.protocol import Command, Reading

_POLL = 50e-6  # s between two looks at shared memory
_HEAD = struct.Struct("<QI")  # sequence number, odd while a record is being written; its size
_WRITTEN = struct.Struct("<Q56x")
_KEPT = 1024  # commands


class Channel(Protocol):
    """One end of it."""

    def send(self, data: bytes) -> None:
        """Send a record; it may be lost."""

    def receive(self, timeout: float = 0.0) -> list[bytes]:
        """What came since the last time, the newest last; it may have been kept alone."""

    def close(self) -> None:
        """Leave the channel."""


class Slot:
    """A record in memory that one process writes and others read: a sequence lock."""

    def __init__(self, memory: mmap.mmap, at: int, room: int) -> None:
        self.memory, self.at, self.room = memory, at, room
        self.sequence = self.seen = 0

    @staticmethod
    def size(room: int) -> int:
        """The bytes of a slot for records of so many."""
        return (_HEAD.size + room + 63) // 64 * 64

    def write(self, data: bytes | bytearray) -> None:
        """Put a record in place of the last one."""
        start = self.at + _HEAD.size
        _HEAD.pack_into(self.memory, self.at, self.sequence + 1, len(data))
        self.memory[start : start + len(data)] = data
        self.sequence += 2
        _HEAD.pack_into(self.memory, self.at, self.sequence, len(data))

    def read(self) -> bytes | None:
        """What is new; None where nothing is, or while it is being written."""
        sequence, size = _HEAD.unpack_from(self.memory, self.at)
        if sequence == self.seen or sequence & 1 or size > self.room:
            return None
        start = self.at + _HEAD.size
        data = self.memory[start : start + size]
        if _HEAD.unpack_from(self.memory, self.at)[0] != sequence:
            return None
        self.seen = sequence
        return bytes(data)

    def read_all(self) -> list[bytes]:
        """What is new, as a list."""
        data = self.read()
        return [] if data is None else [data]


class Ring:
    """The newest records in memory, that one process writes and another reads: slots in turn, and
    before them how many records there were."""

    def __init__(self, memory: mmap.mmap, at: int, room: int, slots: int) -> None:
        self.memory, self.at = memory, at
        self.slots = [
            Slot(memory, at + _WRITTEN.size + k * Slot.size(room), room) for k in range(slots)
        ]
        self.seen = 0

    @staticmethod
    def size(room: int, slots: int) -> int:
        """The bytes of a ring."""
        return _WRITTEN.size + slots * Slot.size(room)

    @property
    def written(self) -> int:
        """How many records there were."""
        count: int = _WRITTEN.unpack_from(self.memory, self.at)[0]
        return count

    def write(self, data: bytes) -> None:
        """Add a record."""
        written = self.written
        self.slots[written % len(self.slots)].write(data)
        _WRITTEN.pack_into(self.memory, self.at, written + 1)

    def read(self) -> list[bytes]:
        """What is new and still there, the newest last."""
        written, many = self.written, len(self.slots)
        new = range(max(self.seen, written - many), written)
        self.seen = written
        return [data for k in new if (data := self.slots[k % many].read()) is not None]


def _received(
    look: Callable[[], list[bytes]], wait: Callable[[float], Any], timeout: float
) -> list[bytes]:
    """What a look finds within so many s; ``wait`` is told how many are left."""
    until = time.monotonic() + timeout
    while True:
        came, left = look(), until - time.monotonic()
        if came or left <= 0:
            return came
        wait(left)


class SharedMemory:
    """A file in memory: a slot for readings, a ring for commands."""

    def __init__(self, path: Path | str, n: int, *, machine: bool = False) -> None:
        up, down = Slot.size(protocol.reading_size(n)), Ring.size(protocol.command_size(n), _KEPT)
        self.memory = mapped(path, up + down)
        readings = Slot(self.memory, 0, protocol.reading_size(n))
        commands = Ring(self.memory, up, protocol.command_size(n), _KEPT)
        self.out: Slot | Ring = readings if machine else commands
        self.into = commands.read if machine else readings.read_all

    def send(self, data: bytes) -> None:
        """Write a record."""
        self.out.write(data)

    def receive(self, timeout: float = 0.0) -> list[bytes]:
        """What came since the last time, within so many s."""
        return _received(self.into, lambda left: time.sleep(_POLL), timeout)

    def close(self) -> None:
        """Leave the memory."""
        self.memory.close()


class Udp:
    """A socket on loopback for sealed records. The machine's end hears and answers the first sender
    that has the run's key, and from then on no other address; the controller's end, which is given
    the machine's ``address``, hears that address alone."""

    def __init__(self, key: bytes, address: tuple[str, int] | None = None) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.seal = Seal(key, machine=address is None)
        self.connected = address is not None
        if address is None:
            self.socket.bind(("127.0.0.1", 0))
        else:
            self.socket.connect(tuple(address))

    @property
    def address(self) -> tuple[str, int]:
        """The address of this end."""
        return self.socket.getsockname()

    def send(self, data: bytes) -> None:
        """Send a record, sealed; nothing before the other end is known."""
        if not self.connected:
            return
        with suppress(ConnectionRefusedError, BlockingIOError):
            # nobody listens, or the system has no room: the record is lost
            self.socket.send(self.seal.close(data))

    def receive(self, timeout: float = 0.0) -> list[bytes]:
        """What came since the last time, within so many s."""
        return _received(self._drain, lambda left: select([self.socket], [], [], left), timeout)

    def _drain(self) -> list[bytes]:
        came = []
        for _ in range(1000):  # a flood must not hold the loop
            try:
                data, sender = self.socket.recvfrom(2048)
            except BlockingIOError:
                break
            except ConnectionRefusedError:
                continue
            record = self.seal.open(data)
            if record is None:
                continue  # a stranger's
            if not self.connected:
                self.socket.connect(sender)  # the system drops what others send
                self.connected = True
            came.append(record)
        return came

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


class Remote:
    """A machine at the other end of a channel, as
    `appell.rig.machine.protocol.Hardware`."""

    def __init__(self, channel: Channel, n: int) -> None:
        self.channel, self.n = channel, n
        self.last = 0
        self.refused = 0  # records that were damaged or out of order

    def read(self, timeout: float = 0.0) -> Reading | None:
        """The newest reading; None where none came, or it is old or damaged."""
        if not self.last:  # so that the machine knows whom to answer
            self.channel.send(protocol.command_bytes(protocol.safe(0, 0, self.n)))
        came = self.channel.receive(timeout)
        if not came:
            return None
        reading = protocol.reading_of(came[-1], self.n)
        if reading is None or reading.cycle <= self.last:
            self.refused += 1
            return None
        self.last = reading.cycle
        return reading

    def write(self, command: Command) -> None:
        """Send a command."""
        self.channel.send(protocol.command_bytes(command))

    def close(self) -> None:
        """Leave the channel."""
        self.channel.close()


def mapped(path: Path | str, size: int) -> mmap.mmap:
    """A file's memory, made if it is not there."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(fd).st_size < size:
            os.ftruncate(fd, size)
        return mmap.mmap(fd, size)
    finally:
        os.close(fd)
