"""The log: an MCAP file that others can read, whole wherever it is cut."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from mcap_ros2.decoder import DecoderFactory
from rigs import PUMA, moving, run, sound, tried

from appell.errors import InputError
from appell.rig import Fault, State, read_log
from appell.rig.log.log_file import LogWriter, message_type
from appell.rig.log.mcap import MESSAGE, records


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "run.mcap"
    run(log=path)
    return path


def test_another_reader_finds_the_same(file):
    log = read_log(file)
    with file.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        read = list(reader.iter_decoded_messages())
    cycles = [m for _, channel, _, m in read if channel.topic == "/cycle"]
    events = [m for _, channel, _, m in read if channel.topic == "/event"]
    assert len(cycles) == len(log) == len(sound().log)
    for name in ("q", "tau", "counts", "pots", "state", "late", "time"):
        theirs = np.array([getattr(m, name) for m in cycles])
        np.testing.assert_array_equal(theirs, log[name])
    assert [(e.cycle, e.state, e.reason) for e in events] == log.events
    assert [e.state for e in log.events] == [State.HOMING, State.ENABLED, State.STOP]


def test_a_run_in_lockstep_is_the_same_to_the_last_bit(file):
    np.testing.assert_array_equal(read_log(file).rows, sound().log.rows)


def test_metadata_tells_what_ran(file):
    told = read_log(file).metadata
    assert told["robot"] == "puma560"
    assert told["period"] == 0.001
    assert "TrackingIntegral" in told["law"]


@given(st.integers(0, 10**9))
def test_a_file_cut_anywhere_gives_all_before_the_cut(file, number):
    whole = file.read_bytes()
    size = message_type(6).itemsize
    head = next(start for opcode, start, _ in records(whole) if opcode == MESSAGE)
    at = head + number % (len(whole) - head)
    cut = file.with_suffix(".cut")
    cut.write_bytes(whole[:at])
    log, full = read_log(cut), read_log(file)
    assert not log.complete
    np.testing.assert_array_equal(log.rows, full.rows[: len(log)])
    assert len(log) >= (at - head) // size - 3  # events take the place of a few


@pytest.mark.parametrize("short", [1, 7, 8, 9, 40])
def test_a_file_cut_in_its_end_is_not_whole(file, short):
    path = file.with_suffix(".short")
    path.write_bytes(file.read_bytes()[:-short])
    log = read_log(path)
    assert not log.complete
    assert not log.damaged
    np.testing.assert_array_equal(log.rows, read_log(file).rows)


@pytest.mark.parametrize("filled", [b"\x00", b"\xff"])
@pytest.mark.parametrize("count", [1, 5, 100, 5000])
def test_what_was_never_written_is_no_cycle(file, filled, count):
    data, full = file.read_bytes(), read_log(file)
    path = file.with_suffix(".filled")
    path.write_bytes(data[: len(data) // 2] + filled * count)
    log = read_log(path)
    assert not log.complete
    np.testing.assert_array_equal(log.rows, full.rows[: len(log)])


def test_the_checksum_is_the_one_of_the_format(file):
    with file.open("rb") as stream:
        records = list(StreamReader(stream, validate_crcs=True).records)
    [end] = [r for r in records if type(r).__name__ == "DataEnd"]
    assert end.data_section_crc == zlib.crc32(file.read_bytes()[: -(8 + 29 + 13)]) != 0


@given(st.integers(0, 10**9), st.integers(1, 255))
def test_a_changed_byte_anywhere_is_noticed(file, number, by):
    data = bytearray(file.read_bytes())
    at = 8 + number % (len(data) - 8 - 50)  # before the end's own records
    data[at] ^= by
    path = file.with_suffix(".bad")
    path.write_bytes(data)
    try:
        log = read_log(path)
    except InputError:
        assert at < 4000  # its head
        return
    assert not log.complete
    assert log.damaged
    assert "damaged" in repr(log)


def test_a_log_of_another_field_names_those_it_has(file):
    with pytest.raises(KeyError, match="expected one of time, cycle"):
        read_log(file)["foo"]
    with pytest.raises(InputError, match="name of a file"):
        read_log(None)


@given(st.binary(max_size=300))
def test_what_is_no_log_is_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("none") / "x.mcap"
    for text in (data, b"\x89MCAP0\r\n" + data):
        path.write_bytes(text)
        with pytest.raises(InputError):
            read_log(path)


def test_what_follows_the_end_is_told(file):
    path = file.with_suffix(".more")
    path.write_bytes(file.read_bytes() + bytes(400))
    log = read_log(path)
    assert log.damaged == "400 bytes follow its end"
    assert not log.complete


@given(st.integers(0, 10**9))
def test_bytes_that_are_missing_leave_no_cycle_of_two_halves(file, number):
    data, full = file.read_bytes(), read_log(file)
    at = len(data) // 4 + number % (len(data) // 2)
    path = file.with_suffix(".gap")
    path.write_bytes(data[:at] + data[at + 1000 :])
    log = read_log(path)
    assert log.damaged
    np.testing.assert_array_equal(log.rows, full.rows[: len(log)])


def test_a_place_where_no_log_can_be_is_refused():
    with pytest.raises(InputError, match=r"log: /proc/x\.mcap: .*; name another file"):
        run(log="/proc/x.mcap")


def test_a_log_is_never_overwritten(file):
    before = file.read_bytes()
    with pytest.raises(InputError, match="never overwritten"):
        run(log=file)
    assert file.read_bytes() == before


def test_a_kill_loses_nothing_that_was_written(tmp_path):
    """A process writes cycles, says how many, and is killed."""
    path = tmp_path / "killed.mcap"
    code = (
        "import sys\n"
        "from appell.rig.log.log_file import LogWriter, fields\n"
        "rest = [0] * (sum(many or 1 for *_, many in fields(6)) - 2)\n"
        "w = LogWriter(sys.argv[1], 6, {'period': 0.001})\n"
        "k = 0\n"
        "while True:\n"
        "    k += 1\n"
        "    w.fill(0, k, *rest)\n"
        "    w.cycle(k)\n"
        "    if k % 500 == 0: print(k, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
    said = [int(process.stdout.readline()) for _ in range(4)][-1]
    process.kill()
    process.wait()
    process.stdout.close()
    log = read_log(path)
    assert len(log) >= said == 2000
    np.testing.assert_array_equal(log["cycle"], np.arange(1, len(log) + 1))
    assert not log.complete


# A full disk


def test_a_full_disk_is_a_fault_and_loses_nothing_before_it():
    fault = Fault("disk full", moving())
    report = tried(fault)
    assert report.state is State.FAULT
    assert report.reason == f"log: {os.strerror(errno.ENOSPC)}"
    assert report.plant["safe"]
    assert report.plant["live_until"] + 1 - fault.cycle <= 1 + 2
    assert report.log["cycle"][-1] == fault.cycle - 1
    assert not report.log.complete


def test_a_record_for_which_there_is_room_in_part_is_taken_back(tmp_path, monkeypatch):
    writer = LogWriter(tmp_path / "x.mcap", 6, {"period": PUMA.period})
    writer.cycle(1)
    size, real = writer.path.stat().st_size, os.write
    calls = []

    def partial(fd, data):
        calls.append(len(data))
        if len(calls) == 1:
            return real(fd, bytes(data)[:100])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", partial)
        with pytest.raises(OSError, match="No space"):
            writer.cycle(2)
    assert writer.path.stat().st_size == size
    writer.close(clean=False)
    assert len(read_log(writer.path)) == 1


def test_a_small_disk_really_fills(tmp_path):
    """A file system of 64 kB, where one may be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("no file system can be mounted here")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        report = run(log=folder / "run.mcap")
        assert report.reason == f"log: {os.strerror(errno.ENOSPC)}"
        assert report.plant["safe"]
        cycles = report.log["cycle"]
        assert 50 < len(cycles) < 200
        np.testing.assert_array_equal(cycles, np.arange(1, len(cycles) + 1))
    finally:
        subprocess.run(["umount", str(folder)], check=True)
