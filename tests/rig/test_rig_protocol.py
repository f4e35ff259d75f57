"""The records of the hardware interface, and the channels that carry them."""

from __future__ import annotations

import socket

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appell.rig.loop.channels import Remote, SharedMemory, Slot, Udp, mapped
from appell.rig.loop.seal import Seal, new_key
from appell.rig.machine.protocol import (
    Command,
    Hardware,
    Order,
    Reading,
    command_bytes,
    command_of,
    command_size,
    reading_bytes,
    reading_of,
    reading_size,
    safe,
)

KEY = new_key()

whole = st.integers(0, 2**63 - 1)
counts = st.integers(-(2**31), 2**31 - 1)
code = st.integers(0, 4095)


@st.composite
def readings(draw, n=None):
    n = n or draw(st.integers(1, 32))

    def many(x):
        return np.array(draw(st.lists(x, min_size=n, max_size=n)))

    return Reading(
        draw(whole),
        draw(st.integers(-(2**63), 2**63 - 1)),
        draw(whole),
        draw(st.integers(0, 65535)),
        draw(st.integers(0, 2**32 - 1)),
        many(counts),
        many(counts),
        many(st.integers(0, 65535)),
        many(code),
    )


@st.composite
def commands(draw, n=None):
    n = n or draw(st.integers(1, 32))
    codes = np.array(draw(st.lists(code, min_size=n, max_size=n)))
    return Command(draw(whole), draw(whole), draw(st.integers(0, 65535)), codes)


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@given(readings())
def test_a_reading_comes_back_as_it_was(reading):
    n = len(reading.counts)
    data = reading_bytes(reading)
    assert len(data) == reading_size(n)
    assert same(reading_of(data, n), reading)


@given(commands())
def test_a_command_comes_back_as_it_was(command):
    n = len(command.codes)
    data = command_bytes(command)
    assert len(data) == command_size(n)
    assert same(command_of(data, n), command)


@given(st.binary(max_size=400), st.integers(1, 32))
def test_random_bytes_are_nobodys(data, n):
    assert reading_of(data, n) is None
    assert command_of(data, n) is None
    for size in (reading_size(n), command_size(n)):
        right = (data * (size // max(1, len(data)) + 1) + bytes(size))[:size]
        assert reading_of(right, n) is None
        assert command_of(right, n) is None


@given(commands(n=6), st.integers(0, 10**6), st.integers(1, 255))
def test_one_byte_that_is_wrong_spoils_a_record(command, at, wrong):
    data = bytearray(command_bytes(command))
    data[at % len(data)] ^= wrong
    assert command_of(bytes(data), 6) is None


@given(readings(n=6), st.integers(0, 10**6))
def test_a_record_that_is_cut_is_nobodys(reading, at):
    data = reading_bytes(reading)
    assert reading_of(data[: at % len(data)], 6) is None
    assert reading_of(data + b"x", 6) is None
    assert reading_of(data, 5) is None


def test_codes_beyond_twelve_bits_are_refused():
    over = Command(1, 0, 1, np.array([2048, 4096]))
    assert command_of(command_bytes(over), 2) is None


def some(cycle, n=6):
    z = np.zeros(n, dtype=np.int64)
    return Reading(cycle, 0, 0, 1, 0, z + cycle, z, z, z + 2000)


@pytest.fixture(params=["shm", "udp"])
def ends(request, tmp_path):
    """A machine's end of a channel, and the controller's."""
    if request.param == "udp":
        machine = Udp(KEY)
        remote = Remote(Udp(KEY, machine.address), 6)
    else:
        machine = SharedMemory(tmp_path / "x", 6, machine=True)
        remote = Remote(SharedMemory(tmp_path / "x", 6), 6)
    yield machine, remote
    machine.close()
    remote.close()


def test_a_channel_gives_the_newest_once(ends):
    machine, remote = ends
    assert isinstance(remote, Hardware)
    assert remote.read(0.01) is None  # and says that it is there
    assert command_of(machine.receive()[-1], 6).cycle == 0
    for cycle in (1, 2, 3):
        machine.send(reading_bytes(some(cycle)))
    assert remote.read(1.0).cycle == 3
    assert remote.read(0.01) is None
    remote.write(safe(7, 0, 6))
    assert machine.receive(1.0)[-1] == command_bytes(safe(7, 0, 6))


def test_a_channel_refuses_what_is_damaged_or_old(ends):
    machine, remote = ends
    remote.read(0.0)
    machine.receive(1.0)
    machine.send(reading_bytes(some(5)))
    assert remote.read(1.0).cycle == 5
    for data in (reading_bytes(some(4)), reading_bytes(some(5)), b"\0" * reading_size(6)):
        machine.send(data)
        assert remote.read(0.05) is None
    assert remote.refused == 3


def enabled(cycle):
    return Command(cycle, 0, Order.ENABLE | Order.RELEASE, np.full(6, 4000))


def test_a_stranger_is_neither_obeyed_nor_answered():
    """Whoever has the port but not the key: before the controller is there, and after it is."""
    machine = Udp(KEY)
    remote, stranger = Remote(Udp(KEY, machine.address), 6), Udp(new_key(), machine.address)
    plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def intrude():
        forged = command_bytes(enabled(10**9))
        for data in (b"hello", forged, bytes(8) + forged + bytes(16)):
            plain.sendto(data, machine.address)
        stranger.send(command_bytes(enabled(10**9)))
        return machine.receive(0.05)

    assert not intrude()
    machine.send(reading_bytes(some(1)))
    remote.write(safe(1, 0, 6))
    assert machine.receive(1.0) == [command_bytes(safe(1, 0, 6))]
    assert not intrude()
    machine.send(reading_bytes(some(2)))
    assert remote.read(1.0).cycle == 2
    assert not stranger.receive(0.05)
    plain.setblocking(False)
    with pytest.raises(BlockingIOError):
        plain.recv(2048)
    for end in (machine, remote, stranger, plain):
        end.close()


def test_a_machine_hears_no_other_address_even_with_the_key():
    machine = Udp(KEY)
    first, second = Udp(KEY, machine.address), Udp(KEY, machine.address)
    first.send(b"one")
    assert machine.receive(1.0) == [b"one"]
    second.seal.sent = 100
    second.send(b"another")
    first.send(b"two")
    assert machine.receive(1.0) == [b"two"]
    for end in (machine, first, second):
        end.close()


def test_what_was_overheard_cannot_be_sent_again():
    """Not even a RESET, which a machine obeys whatever its cycle is."""
    controller, machine = Seal(KEY, machine=False), Seal(KEY, machine=True)
    reset = command_bytes(Command(1, 0, Order.RESET, np.full(6, 2048)))
    first, second = controller.close(reset), controller.close(reset)
    assert machine.open(first) == reset
    assert machine.open(first) is None
    assert machine.open(second) == reset
    assert machine.open(first) is None
    assert controller.open(second) is None  # thrown back to its sender
    assert controller.open(machine.close(b"a reading")) == b"a reading"


@given(st.binary(max_size=200), st.integers(0, 10**6), st.integers(1, 255))
def test_a_sealed_record_that_is_changed_or_cut_is_refused(record, at, flip):
    controller, machine = Seal(KEY, machine=False), Seal(KEY, machine=True)
    data = bytearray(controller.close(record))
    cut, longer = bytes(data[: at % len(data)]), bytes(data) + b"x"
    data[at % len(data)] ^= flip
    assert [machine.open(x) for x in (bytes(data), cut, longer)] == [None] * 3


def test_nobody_at_the_other_end_is_no_error():
    machine = Udp(KEY)
    remote = Remote(Udp(KEY, machine.address), 6)
    machine.close()
    for k in range(1, 4):
        remote.write(safe(k, 0, 6))
        assert remote.read(0.001) is None
    remote.close()


def test_a_record_half_written_is_not_read(tmp_path):
    memory = mapped(tmp_path / "slot", Slot.size(100))
    writer, reader = Slot(memory, 0, 100), Slot(memory, 0, 100)
    writer.write(b"a" * 100)
    assert reader.read() == b"a" * 100
    writer.write(b"b" * 100)
    memory[0:1] = b"\x05"  # odd: someone is writing
    assert reader.read() is None
    memory.close()


def test_commands_are_kept_for_a_machine_that_stood_still(tmp_path):
    machine = SharedMemory(tmp_path / "x", 6, machine=True)
    remote = SharedMemory(tmp_path / "x", 6)
    sent = [command_bytes(safe(k, 0, 6)) for k in range(1, 3001)]
    for some in (sent[:50], sent[50:51], [], sent[51:]):
        for data in some:
            remote.send(data)
        assert machine.receive() == some[-1024:]
    for end in (machine, remote):
        end.close()
