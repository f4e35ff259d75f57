"""Files that were made, or damaged, to do harm: each is refused by an error of Appell's, in time.

Where a test says that work is linear, a quadratic version of it would take minutes or hours here.
"""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

import appell
from appell.errors import AppellError, InputError, ModelError, quoted
from appell.identify.data.table import read_table
from appell.model.description import urdf
from appell.rig import read_log
from appell.rig.controller.safety import State
from appell.rig.log import log_file as logs
from appell.rig.log import mcap
from appell.rig.log.log_file import LogWriter, fields, message_type
from appell.rig.log.motion_files import read_motion
from appell.rig.machine.machine import Machine, puma560_machine
from appell.robots.closed.side_file import read_side_file
from appell.simulation import load_run
from appell.study import read_scenario

CAFE = os.fsdecode(b"caf\xe9")  # in Latin-1


def refused(function, *arguments, says="."):
    """The message, which is short and can be printed."""
    with pytest.raises(AppellError, match=says) as problem:
        function(*arguments)
    text = str(problem.value)
    assert len(text) <= 4000
    text.encode()
    return text


# TOML and JSON

SETTINGS = {
    "nested arrays": "x = " + "[" * 10**5 + "]" * 10**5,
    "nested tables": "x = " + "{a = " * 10**4 + "1" + "}" * 10**4,
    "a thousand brackets": "start = " + "[" * 1000 + "]" * 1000,
    "a long number": "samples = " + "9" * 5000,
    "a long number of sixteens": "samples = 0x" + "f" * 6000,
    "a key of many parts": "a" + ".a" * 200_000 + " = 1",  # its reader takes their square
    "many keys": "".join(f"x{k} = 1\n" for k in range(50_000)),
    "a long text": 'branch = "' + "z" * 10**6 + '"',
    "a long key": "z" * 10**6 + " = 1",
    "a large file": "# " + "x" * 2**21,
}
needs_toml = pytest.mark.skipif(sys.version_info < (3, 11), reason="TOML from Python 3.11 on")


@needs_toml
@pytest.mark.parametrize("read", [read_scenario, read_side_file])
@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_toml_made_to_do_harm_is_refused(tmp_path, read, text):
    path = tmp_path / "x.toml"
    path.write_text(text)
    assert "x.toml" in refused(read, path)


JSON = {
    "nested": "[" * 10**5,
    "nested in an entry": '{"start": ' + "[" * 10**5,
    "a long number": '{"samples": ' + "9" * 5000 + "}",
    "a long text": '{"branch": "' + "z" * 10**6 + '"}',
    "a large file": " " * 2**21,
}


@pytest.mark.parametrize("read", [read_scenario, read_side_file])
@pytest.mark.parametrize("text", JSON.values(), ids=JSON)
def test_json_made_to_do_harm_is_refused(tmp_path, read, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    assert "x.json" in refused(read, path)


# Runs and motions


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The arrays of a run's file."""
    run = appell.simulate(appell.load("two_link"), [0.1, 0.2], [0, 0], until=0.2)
    with np.load(run.save(tmp_path_factory.mktemp("run") / "run")) as file:
        return dict(file)


def facts(**changes):
    def changed(arrays):
        given = json.loads(str(arrays["facts"]))
        return {"facts": np.array(json.dumps(given | changes))}

    return changed


DAMAGE = {
    "no times": lambda a: {"t": None},
    "no facts": lambda a: {"facts": None},
    "fewer times": lambda a: {"t": a["t"][:-1]},
    "times in a square": lambda a: {"t": a["t"][:, None]},
    "falling times": lambda a: {"t": a["t"][::-1]},
    "a time that is no number": lambda a: {"t": np.append(a["t"][:-1], np.nan)},
    "pieces that go back": lambda a: {"times": a["times"][::-1]},
    "no instants": lambda a: {x: a[x][:0] for x in a if x not in ("facts", "times", "nodes")},
    "another width": lambda a: {"nodes": a["nodes"][:, :, :-1]},
    "another degree": lambda a: {"nodes": a["nodes"][:, :-1]},
    "fewer pieces": lambda a: {"times": a["times"][:-1]},
    "whole numbers": lambda a: {"q": a["q"].astype(int)},
    "complex": lambda a: {"v": a["v"] + 1j},
    "texts": lambda a: {"tau": a["tau"].astype(str)},
    "objects": lambda a: {"q": np.array([{}, []], dtype=object)},
    "another reaction": lambda a: {"reactions": np.zeros((len(a["t"]), 3))},
    "facts of another kind": lambda a: {"facts": np.zeros(3)},
    "facts that are no JSON": lambda a: {"facts": np.array("{")},
    "facts that are a list": lambda a: {"facts": np.array("[]")},
    "nested facts": lambda a: {"facts": np.array("[" * 10**5)},
    "a long number": lambda a: {"facts": np.array("9" * 5000)},
    "no contacts": facts(contacts=None),
    "contacts of three": facts(contacts=[["a", "b", "c"]]),
    "impacts of numbers": facts(impacts=[1]),
    "impacts without entries": facts(impacts=[{}]),
    "impacts with others": facts(impacts=[{"colour": 1.0}]),
    "residuals": facts(residuals=[1]),
    "residuals of texts": facts(residuals={"energy": "much"}),
}


CLOSED_DAMAGE = {
    "no independent joints": facts(independent=None),
    "other independent joints": facts(independent=[7]),
    "too many independent joints": facts(independent=[0, 1]),
    "independent joints that are no numbers": facts(independent=["crank"]),
    "independent joints that are a number": facts(independent=1),
    "choices of numbers": facts(choices=[1]),
    "no speeds": lambda a: {"speeds": None},
    "speeds of other joints": lambda a: {"speeds": a["speeds"][:, :2]},
    "fewer openings": lambda a: {"opening": a["opening"][:-1]},
    "an opening that is no number": lambda a: {"opening": np.full(len(a["t"]), np.nan)},
}


@pytest.fixture(scope="module")
def saved_closed(tmp_path_factory):
    """The arrays of a run of a closed robot."""
    robot = appell.load("four_bar")
    run = appell.simulate(robot, robot.assemble(), [1.0], until=0.1)
    with np.load(run.save(tmp_path_factory.mktemp("run") / "run")) as file:
        return dict(file)


@pytest.mark.parametrize("change", CLOSED_DAMAGE.values(), ids=CLOSED_DAMAGE)
def test_a_run_of_a_closed_robot_whose_arrays_do_not_go_together_is_refused(
    tmp_path, saved_closed, change
):
    arrays = {name: x for name, x in (saved_closed | change(saved_closed)).items() if x is not None}
    np.savez_compressed(tmp_path / "run.npz", **arrays)
    refused(load_run, tmp_path / "run.npz", says=r"run\.npz: .*run\.save wrote")


def test_files_of_earlier_versions_are_read_or_refused(tmp_path, saved, saved_closed):
    """Runs had neither joints' kinds nor what closed robots have; those of closed robots were
    arrays alone, without the motion between their instants."""
    path, told = tmp_path / "run.npz", json.loads(str(saved["facts"]))
    older = {name: told[name] for name in ("impacts", "contacts", "residuals", "stopped")}
    np.savez_compressed(path, **saved | {"facts": np.array(json.dumps(older))})
    run = load_run(path)
    np.testing.assert_array_equal(run.q, saved["q"])
    assert (run.speeds, run.independent, run.desired, run.choices) == (None, None, None, [])
    names = ("t", "q", "v", "speeds", "tau", "kinetic", "potential", "opening")
    np.savez_compressed(path, **{name: saved_closed[name] for name in names})
    refused(load_run, path, says="expected a file that run.save wrote .*reactions")


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_a_run_whose_arrays_do_not_go_together_is_refused(tmp_path, saved, change):
    arrays = {name: x for name, x in (saved | change(saved)).items() if x is not None}
    np.savez_compressed(tmp_path / "run.npz", **arrays)
    refused(load_run, tmp_path / "run.npz", says=r"run\.npz: .*run\.save wrote")


def test_a_run_damaged_anywhere_is_refused_or_read(tmp_path, saved):
    """Cut and changed at many places: zlib, zipfile, struct and NumPy all complain."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **saved)
    whole, path = buffer.getvalue(), tmp_path / "run.npz"
    for at in range(0, len(whole), max(1, len(whole) // 300)):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :]):
            path.write_bytes(damaged)
            try:
                load_run(path)
            except InputError:
                continue


def packed(path, shapes, *, claimed=None):
    """An .npz file of zeros of these shapes; their heads claim others, if told so."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, shape in shapes.items():
            head = io.BytesIO()
            said = {"descr": "<f8", "fortran_order": False, "shape": claimed or shape}
            np.lib.format.write_array_header_1_0(head, said)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                file.write(head.getvalue())
                for _ in range(shape[0]):
                    file.write(bytes(8 * int(np.prod(shape[1:]))))
    return path


@pytest.fixture
def memory():
    """The most memory that was taken since, in bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_small_files_that_unpack_to_much_are_not_unpacked(tmp_path, saved, memory):
    shapes = {x: (80, *saved[x].shape[1:]) for x in saved} | {"q": (80, 450_000)}
    bomb = packed(tmp_path / "bomb.npz", shapes)
    assert bomb.stat().st_size < 2.5e6
    refused(load_run, bomb, says="it unpacks to 288.* bytes; expected a file that run.save wrote")
    refused(read_motion, bomb, 6, says="it unpacks to 288.* bytes; expected an npz file")
    assert memory() < 20e6


@pytest.mark.parametrize("claimed", [(10**12,), (-1,), (2**40, 2**40), (0,)])
def test_heads_that_claim_other_sizes_are_refused(tmp_path, claimed, memory):
    path = packed(tmp_path / "motion.npz", {"t": (5,), "q": (5, 6)}, claimed=claimed)
    refused(read_motion, path, 6, says="expected an npz file with arrays t and q")
    assert memory() < 20e6


def test_a_file_of_zeros_that_is_honest_is_read(tmp_path):
    """A robot at rest compresses well."""
    np.savez_compressed(tmp_path / "rest.npz", t=np.arange(2000) / 1000, q=np.zeros((2000, 6)))
    assert read_motion(tmp_path / "rest.npz", 6)[0].duration == pytest.approx(1.999)


@pytest.mark.parametrize("large", [1e300, -1e308])
def test_motions_beyond_all_numbers_are_refused(tmp_path, large):
    path = tmp_path / "x.csv"
    path.write_text(f"0,0\n1e-9,{large}\n2e-9,0\n")
    refused(read_motion, path, 1, says="accelerations are no numbers")


# CSV


def test_a_head_of_two_million_commas_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("t" + "," * 2_000_000 + "\n0\n")
    refused(read_table, path, says="more than once")
    refused(read_motion, path, 6)


def test_hundred_thousand_columns_are_read(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(",".join(f"x{k}" for k in range(100_000)) + "\n" + ",".join("1" * 100_000))
    assert len(read_table(path).columns) == 100_000


@pytest.mark.parametrize(
    "text",
    ["t,q1\n0," + "z" * 10**6, "z" * 10**6 + ",t\n1,2", "t,q1\n0," + "z" * 10**5],
    ids=["value", "name", "shorter value"],
)
def test_long_values_and_names_are_not_repeated_in_full(tmp_path, text):
    path = tmp_path / "x.csv"
    path.write_text(text)
    for read, *more in ((read_table,), (read_motion, 1)):
        if read is read_motion or "\n0" in text:
            assert len(refused(read, path, *more)) < 1000
    refused(appell.identify.observe, appell.load("two_link"), path)


# Logs


@pytest.fixture
def written(tmp_path):
    """A log of one cycle with these joints and metadata; its bytes, and where messages begin."""

    def write(n=6, joints=None, **metadata):
        path = tmp_path / "x.mcap"
        path.unlink(missing_ok=True)
        writer = LogWriter(path, n, {"period": 0.001})
        numbers = sum(many or 1 for *_, many in fields(n))
        start = path.stat().st_size
        writer.fill(*[0] * numbers)
        writer.cycle(0)
        writer.event(0, 0, State.HOMING, "x")
        writer.close(clean=False)
        data = path.read_bytes()
        told = {"joints": str(n if joints is None else joints), "period": "0.001"} | metadata
        old = mcap.channel(1, 1, "/cycle", {"joints": str(n), "period": "0.001"})
        new = mcap.channel(1, 1, "/cycle", told)
        assert old in data
        path.write_bytes(data.replace(old, new))
        return path, start + len(new) - len(old)

    return write


@pytest.mark.parametrize("joints", [-5, 0, 33, 10**9, 10**30, "six", "", "9" * 5000], ids=quoted)
def test_a_log_of_joints_that_no_machine_has_is_refused(written, joints):
    path, _ = written(joints=joints)
    refused(read_log, path, says="appell control")


def test_a_machine_has_as_many_joints_as_its_readings_can_tell():
    puma = puma560_machine()
    told = {name: np.resize(getattr(puma, name), 33) for name in Machine.__dataclass_fields__
            if np.ndim(getattr(puma, name))}  # fmt: skip
    with pytest.raises(InputError, match="33 joints; expected 1 to 32"):
        Machine(**{name: getattr(puma, name) for name in Machine.__dataclass_fields__} | told)


@pytest.mark.parametrize(
    "metadata",
    [{"robot": "[" * 10**5}, {"robot": "{"}, {"law": "9" * 5000}, {"period": "[]"},
     {"period": "0"}, {"period": "NaN"}, {"period": '"fast"'}, {"period": "true"}],
)  # fmt: skip
def test_a_log_with_metadata_that_make_no_sense_is_refused(written, metadata):
    path, _ = written(**metadata)
    refused(read_log, path, says="appell control")


def test_a_log_whose_joints_change_on_the_way_is_damaged(written):
    path, start = written()
    data = path.read_bytes()
    again = mcap.channel(1, 1, "/cycle", {"joints": "3"})
    path.write_bytes(data + again + data[start:])
    log = read_log(path)
    assert "makes no sense" in log.damaged
    assert log.n == 6


def test_cycles_between_events_cost_what_they_are(written, memory):
    """The remainder of the file is not looked at for each of them: masks for all of its records
    would take a byte each."""
    path, start = written()
    size = message_type(6).itemsize
    data = path.read_bytes()
    data = data + data[start:] + bytes(50_000 * size)
    tracemalloc.reset_peak()
    before = memory()
    rows = logs._run(data, start, 6)
    assert len(rows) == 1
    assert memory() - before < 20_000


def test_events_and_cycles_in_turn_are_all_read(written):
    path, start = written()
    head, pair = path.read_bytes()[:start], path.read_bytes()[start:]
    size = message_type(6).itemsize
    cycles = np.frombuffer(pair[:size] * 3000, message_type(6)).copy()
    cycles["sequence"] = np.arange(3000)
    path.write_bytes(head + b"".join(x.tobytes() + pair[size:] for x in cycles))
    log = read_log(path)
    assert (len(log), len(log.events), log.damaged) == (3000, 3000, "")


def test_bytes_are_summed_once_however_many_ends_a_log_has(written, monkeypatch):
    path, _ = written()
    summed, crc32 = [], logs.zlib.crc32
    end = mcap.record(mcap.DATA_END, struct.pack("<I", 0))  # 0: it tells no checksum
    path.write_bytes(path.read_bytes() + end * 1000)

    def counting(data, *more):
        summed.append(len(data))
        return crc32(data, *more)

    monkeypatch.setattr(logs.zlib, "crc32", counting)
    assert not read_log(path).damaged
    assert 0 < sum(summed) <= path.stat().st_size


# URDF


def chained(mimics):
    """Joints that each mimic the one before, in a file that names the last first."""
    links = "".join(f'<link name="l{k}"/>' for k in range(mimics + 2))
    joints = [
        f'<joint name="j{k}" type="prismatic"><parent link="l{k}"/><child link="l{k + 1}"/>'
        + (f'<mimic joint="j{k - 1}" multiplier="-1" offset="1"/>' if k else "")
        + "</joint>"
        for k in range(mimics + 1)
    ]
    return f'<robot name="r">{links}{"".join(reversed(joints))}</robot>'


def test_a_chain_of_mimics_is_followed_once(tmp_path, monkeypatch):
    path, looked, child = tmp_path / "x.urdf", [], urdf.child
    path.write_text(chained(300))
    monkeypatch.setattr(urdf, "child", lambda x, kind: looked.append(kind) or child(x, kind))
    model = urdf.read_urdf(path)
    assert looked.count("mimic") <= 3 * 301
    assert [body.ratio for body in model.bodies] == [(-1) ** k for k in range(301)]
    assert [body.shift for body in model.bodies] == [k % 2 for k in range(301)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("".join(f'<link name="l{k}"/>' for k in range(100_000)), "more <link> than 10000"),
        (f'<link name="a"><inertial><mass value="{"9 " * 10**6}"/></inertial></link>', "expected"),
        (f'<link name="{"a" * 10**6}"/><joint name="j" type="fixed"><parent link="'
         f'{"ab" * 10**6}"/><child link="{"a" * 10**6}"/></joint>', "which is not there"),
    ],
    ids=["many links", "many numbers", "long names"],
)  # fmt: skip
def test_urdf_made_to_do_harm_is_refused(tmp_path, text, says):
    path = tmp_path / "x.urdf"
    path.write_text(f'<robot name="r">{text}</robot>')
    assert len(refused(urdf.read_urdf, path, says=says)) < 2000


# Names


@pytest.mark.parametrize(
    ("name", "read"),
    [
        (f"{CAFE}.urdf", appell.load),
        (f"{CAFE}.toml", read_scenario),
        (f"{CAFE}.json", read_side_file),
        (f"{CAFE}.csv", read_table),
        (f"{CAFE}.npz", load_run),
        (f"{CAFE}.mcap", read_log),
        (f"{CAFE}.csv", lambda path: read_motion(path, 2)),
    ],
)
@pytest.mark.parametrize("content", [None, b"<nothing"])
def test_names_that_are_not_utf_8_are_shown_with_escapes(tmp_path, name, read, content):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert r"caf\udce9" in refused(read, path)


@pytest.mark.parametrize("stem", ["a" * 5000, "a\0b"], ids=["long", "zero byte"])
def test_names_that_no_file_has_are_refused(stem):
    for read, end in ((appell.load, "urdf"), (read_scenario, "toml"), (read_side_file, "json"),
                      (read_table, "csv"), (load_run, "npz"), (read_log, "mcap")):  # fmt: skip
        refused(read, f"{stem}.{end}")


def test_a_robot_is_read_from_a_file_whose_name_is_not_utf_8(tmp_path):
    path = tmp_path / f"{CAFE}.urdf"
    path.write_text(chained(1))
    assert appell.load(path).nv == 1
    path.write_text(chained(1).replace("prismatic", "strange"))
    with pytest.raises(ModelError, match=r"caf\\udce9\.urdf:1: .*'strange' is unknown"):
        appell.load(path)
