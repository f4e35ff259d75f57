"""Results on disk: nothing lost, nothing twice, nothing mixed."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from appell.compile.native import processor
from appell.errors import InputError
from appell.study import Study, open_sweep, read_study, sweep
from appell.study.sweeps.bundle import bundle_of, versions
from appell.study.sweeps.points import Points
from appell.study.sweeps.storage import block_files, dataset
from appell.study.sweeps.storage.dataset import parts, read_columns
from appell.whole_file import UNFINISHED, DiskError
from benchmarks.unkind import same

FALL = {"robot": "planar_chain", "task": {"kind": "fall", "until": 0.05}}
VARY = {"start.v.joint1": {"uniform": (-1.0, 1.0)}, "start.v.joint2": {"normal": (0.0, 1.0)}}


def study(points=40, **more):
    given = {"scenario": FALL, "vary": VARY, "points": points, "block": 8, **more}
    return Study(**{"rollout": {"compare": 0}, **given})


def test_the_folder_holds_what_the_sweep_gives(tmp_path):
    kept, memory = sweep(study(), tmp_path / "x"), sweep(study())
    same(kept.columns, memory.columns)
    same(open_sweep(tmp_path / "x").columns, memory.columns)
    assert len(parts(tmp_path / "x")) == 5
    assert kept["point"].tolist() == list(range(40))


def test_pandas_polars_and_duckdb_open_it_as_it_is(tmp_path):
    import duckdb
    import pandas
    import polars

    laws = {"start.v.joint1": {"whole": (0, 1)}, "task.until": {"values": [0.05, -1.0]}}
    found = sweep(study(vary=laws), tmp_path / "x")
    assert 0 < found.failed.sum() < 40
    seen = pandas.read_parquet(tmp_path / "x" / "points")
    lazily = polars.read_parquet(tmp_path / "x" / "points" / "*.parquet")
    (count, mean, lost), *_ = duckdb.sql(
        f"""select count(*), avg(energy_end), count(reason)
        from '{tmp_path}/x/points/*.parquet' where "start.v.joint1" < 2"""
    ).fetchall()
    expected = np.nanmean(found["energy_end"])
    assert (len(seen), len(lazily), count) == (40, 40, 40)
    assert np.isclose(
        [seen["energy_end"].mean(), lazily["energy_end"].mean(), mean], expected
    ).all()
    assert lost == found.failed.sum() == seen["reason"].notna().sum()


def test_what_is_there_is_not_computed_again(tmp_path):
    whole = sweep(study(), tmp_path / "x").columns
    files = parts(tmp_path / "x")
    files[1].unlink()
    files[3].write_bytes(files[3].read_bytes()[:-100])  # cut off
    files[4].write_bytes(b"PAR1 but no more")
    times = {k: files[k].stat().st_mtime_ns for k in (0, 2)}
    again = sweep(study(), tmp_path / "x").columns
    same(whole, again)
    assert {k: files[k].stat().st_mtime_ns for k in (0, 2)} == times


def test_more_points_are_added_to_those_that_are_there(tmp_path, monkeypatch):
    sweep(study(20), tmp_path / "x")
    wanted = sweep(study(36)).columns
    first = parts(tmp_path / "x")[0].stat().st_mtime_ns
    computed, compute = [], Points.compute

    def watched(points, first, last, *seen):
        computed.append((first, last))
        return compute(points, first, last, *seen)

    monkeypatch.setattr(Points, "compute", watched)
    same(sweep(study(36), tmp_path / "x").columns, wanted)
    assert [x for x in computed if x[1] - x[0] > 1] == [(20, 24), (24, 32), (32, 36)]
    assert parts(tmp_path / "x")[0].stat().st_mtime_ns == first
    for fewer in (8, 34):  # of whole blocks, and within the last
        with pytest.raises(InputError, match=f"more points than the {fewer}"):
            sweep(study(fewer), tmp_path / "x")
    same(sweep(study(36), tmp_path / "x").columns, wanted)
    sweep(study(16, sampling="latin_hypercube"), tmp_path / "y")
    with pytest.raises(InputError, match="points changed"):  # all points would be others
        sweep(study(32, sampling="latin_hypercube"), tmp_path / "y")


def test_another_study_does_not_go_into_the_folder(tmp_path):
    sweep(study(), tmp_path / "x")
    with pytest.raises(InputError, match="seed changed"):
        sweep(study(seed=1), tmp_path / "x")
    changed = {**FALL, "task": {"kind": "fall", "until": 0.06}}
    with pytest.raises(InputError, match=r"scenario\.task\.until changed"):
        sweep(study(scenario=changed), tmp_path / "x")
    sweep(study(title="words only"), tmp_path / "x")


def study_file(tmp_path):
    """A study of a scenario of a robot, a file each."""
    import appell

    appell.load("planar_chain").with_gravity((0, 0, -9.81)).to_urdf(tmp_path / "arm.urdf")
    (tmp_path / "fall.toml").write_text(
        'robot = "arm.urdf"\n[task]\nkind = "fall"\nuntil = 0.05\n[start.q]\njoint1 = 0.1\n'
    )
    file = tmp_path / "study.toml"
    file.write_text(
        'scenario = "fall.toml"\npoints = 4\n[vary]\n"start.v.joint1" = {whole = [0, 3]}\n'
    )
    return file


def test_a_changed_file_of_the_study_is_noticed(tmp_path):
    file = study_file(tmp_path)
    sweep(read_study(file), tmp_path / "x")
    text = (tmp_path / "arm.urdf").read_text()
    (tmp_path / "arm.urdf").write_text(text.replace("<robot ", "<!-- other --><robot ", 1))
    with pytest.raises(InputError, match=r"scenario\.robot\.model \(arm\.urdf\) changed"):
        sweep(read_study(file), tmp_path / "x")


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match=r"no folder of a sweep: it holds 'letter\.txt'"):
        sweep(study(), tmp_path)
    assert [x.name for x in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(InputError, match="no folder of a sweep"):
        open_sweep(tmp_path)


def test_what_a_user_keeps_is_neither_removed_nor_replaced(tmp_path):
    """Only a folder with study.json is a sweep's, and in it only unfinished files are removed."""
    unfinished = f".part-00000000.parquet.7{UNFINISHED}"
    for kept in (".notes.2024", "inputs/f.py", "points/part-00000000.npz"):
        folder = tmp_path / kept.replace("/", "_")
        (folder / kept).parent.mkdir(parents=True)
        (folder / kept).write_text("mine")
        with pytest.raises(InputError, match="no folder of a sweep: it holds"):
            sweep(study(), folder)
        assert (folder / kept).read_text() == "mine"
    own = tmp_path / "own"
    sweep(study(), own)
    (tmp_path / "elsewhere").mkdir()
    (own / "link").symlink_to(tmp_path / "elsewhere")
    kept = [own / ".draft.1", own / "points" / ".draft.1", own / "link" / unfinished]
    for file in [*kept, own / unfinished, own / "points" / unfinished]:
        file.write_text("half")
    sweep(study(), own)
    assert all(x.exists() for x in kept)
    assert not (own / unfinished).exists()
    assert not (own / "points" / unfinished).exists()


def test_a_sweep_that_was_killed_before_its_inputs_were_copied_goes_on(tmp_path):
    file = study_file(tmp_path)
    whole = sweep(read_study(file), tmp_path / "whole")
    sweep(read_study(file), tmp_path / "x")
    shutil.rmtree(tmp_path / "x" / "inputs")
    same(sweep(read_study(file), tmp_path / "x").columns, whole.columns)
    assert [*(tmp_path / "x" / "inputs").rglob("*.urdf")]


def test_a_head_that_is_damaged_is_told(tmp_path):
    sweep(study(), tmp_path / "x")
    (tmp_path / "x" / "study.json").write_text("{")
    with pytest.raises(InputError, match="missing or damaged"):
        sweep(study(), tmp_path / "x")


@pytest.mark.parametrize(
    "damage", [{"block": "x"}, {"block": 0}, {"compared": ["x"]}, {"study": 3}, {"versions": []}]
)
def test_a_head_with_values_of_other_kinds_is_damaged(tmp_path, damage):
    sweep(study(8), tmp_path / "x")
    head = tmp_path / "x" / "study.json"
    head.write_text(json.dumps(json.loads(head.read_text()) | damage))
    for use in (lambda: open_sweep(tmp_path / "x"), lambda: sweep(study(8), tmp_path / "x")):
        with pytest.raises(InputError, match="missing or damaged"):
            use()


def test_a_file_of_another_study_is_not_shown_as_one_of_this(tmp_path):
    sweep(study(), tmp_path / "x")
    sweep(study(seed=7), tmp_path / "y")
    parts(tmp_path / "x")[2].write_bytes(parts(tmp_path / "y")[2].read_bytes())
    with pytest.raises(InputError, match=r"part-00000002.parquet is of another study"):
        open_sweep(tmp_path / "x")
    same(sweep(study(), tmp_path / "x").columns, sweep(study()).columns)


def test_a_folder_that_moved_still_has_its_robot(tmp_path):
    """What the study names is in the folder."""
    link = (
        '<link name="{}"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    urdf = tmp_path / "one.urdf"
    urdf.write_text(f'<robot name="one">{link.format("a")}{link.format("b")}{joint}</robot>')
    fall = {"robot": str(urdf), "task": FALL["task"]}
    sweep(study(2, scenario=fall, vary={"start.v.j": {"uniform": (0, 1)}}), tmp_path / "x")
    urdf.unlink()
    (tmp_path / "x").rename(tmp_path / "y")
    found = open_sweep(tmp_path / "y")
    assert np.isclose(found.run(1).run.v[0, 0], found["start.v.j"][1])


def test_a_file_in_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "x").write_text("notes")
    with pytest.raises(InputError, match="is a file"):
        sweep(study(2), tmp_path / "x")


def test_other_versions_do_not_go_on(tmp_path, monkeypatch):
    sweep(study(), tmp_path / "x")
    head = json.loads((tmp_path / "x" / "study.json").read_text())
    head["versions"]["numpy"] = "1.0"
    (tmp_path / "x" / "study.json").write_text(json.dumps(head))
    parts(tmp_path / "x")[0].unlink()
    with pytest.raises(InputError, match=r"numpy .* instead of 1\.0"):
        sweep(study(), tmp_path / "x")


def test_a_processor_of_another_kind_goes_on_and_says_so(tmp_path, monkeypatch):
    first = sweep(study(), tmp_path / "x")
    parts(tmp_path / "x")[0].unlink()
    monkeypatch.setattr("appell.study.sweeps.storage.results_folder.processor", lambda: "aarch64")
    same(sweep(study(), tmp_path / "x").columns, first.columns)
    log = (tmp_path / "x" / "sweep.log").read_text()
    assert f"begun on a processor of another kind ({processor()}; here: aarch64)" in log


def test_one_process_at_a_time_writes(tmp_path):
    data = dataset.Dataset(tmp_path / "x", bundle_of(study()), study(), 8)
    try:
        with pytest.raises(InputError, match="another process"):
            sweep(study(), tmp_path / "x")
    finally:
        data.close()
    assert len(sweep(study(), tmp_path / "x")) == 40


def test_a_full_disk_is_told_and_what_was_written_is_kept(tmp_path, monkeypatch):
    written = []

    class Full:
        def __getattr__(self, name):
            import pyarrow.parquet

            return getattr(pyarrow.parquet, name)

        def write_table(self, table, path, **_):
            if len(written) == 2:
                path.write_bytes(b"half a")
                raise OSError(errno.ENOSPC, "No space left on device")
            written.append(path)
            self.__getattr__("write_table")(table, path)

    with monkeypatch.context() as patched:
        patched.setattr(block_files, "parquet", Full)
        with pytest.raises(DiskError, match="the disk is full"):
            sweep(study(), tmp_path / "x")
    assert sorted(parts(tmp_path / "x")) == [0, 1]
    assert not [x for x in (tmp_path / "x" / "points").iterdir() if x.name.startswith(".")]
    same(sweep(study(), tmp_path / "x").columns, sweep(study()).columns)


def test_a_killed_sweep_goes_on(tmp_path):
    file, out = tmp_path / "study.json", tmp_path / "x"
    slow = study(3000, method="runs", measures=("energy_end",))
    file.with_suffix(".json").write_text(slow.text())
    command = [
        sys.executable,
        "-m",
        "appell",
        "sweep",
        str(file.with_suffix(".json")),
        "-o",
        str(out),
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while len(parts(out)) < 3 and time.monotonic() < end and process.poll() is None:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    done = len(parts(out))
    assert 3 <= done < 375
    kept = {file: file.stat().st_mtime_ns for file in parts(out).values()}
    few = Study(**{**json.loads(slow.text()), "points": 8 * done + 8})
    same(sweep(few, out).columns, sweep(few).columns)
    assert {f: f.stat().st_mtime_ns for f in kept} == kept


def test_columns_that_a_function_adds_late_are_in_every_file(tmp_path, monkeypatch):
    text = "def late(x):\n    if x < 6:\n        raise ValueError('early')\n"
    (tmp_path / "late.py").write_text(text + "    return {'y': x, 'z': 2 * x}\n")
    monkeypatch.chdir(tmp_path)
    given = Study(function="late:late", vary={"x": {"whole": (0, 11)}}, sampling="grid", block=4)
    found = sweep(given, tmp_path / "x")
    assert found.measures == ("y", "z")
    assert found.reasons() == {"ValueError: early": 6}
    import pandas

    seen = pandas.read_parquet(tmp_path / "x" / "points")
    assert seen["z"].dropna().tolist() == [12, 14, 16, 18, 20, 22]
    same(read_columns(tmp_path / "x"), sweep(given).columns)


def test_an_edited_function_is_another_study_and_its_new_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helper.py").write_text("FACTOR = 2\n")
    text = "from helper import FACTOR\ndef f(x):\n    return FACTOR * x\n"
    (tmp_path / "edited.py").write_text(text)
    given = Study(function="edited:f", vary={"x": {"whole": (1, 3)}}, sampling="grid")
    assert sweep(given, tmp_path / "x")["f"].tolist() == [2, 4, 6]
    (tmp_path / "helper.py").write_text("FACTOR = 3\n")
    with pytest.raises(InputError, match=r"holds another sweep: helper\.py changed"):
        sweep(given, tmp_path / "x")
    assert sweep(given)["f"].tolist() == [3, 6, 9]


def test_versions_name_all_that_bits_depend_on():
    assert set(versions()) == {"appell", "python", "numpy", "scipy", "casadi", "llvmlite"}


def test_a_block_that_is_damaged_or_of_other_points_is_computed_again(tmp_path):
    folder = tmp_path / "sweep"
    expected = sweep(study(), folder)
    files = list(parts(folder).values())
    assert len(files) > 2
    whole = files[0].read_bytes()
    middle = slice(120, 400)  # the numbers: the file's end, which tells of its columns, is left
    files[0].write_bytes(whole[:120] + b"B" * len(whole[middle]) + whole[400:])
    files[1].write_bytes(files[2].read_bytes())  # as many points of the same study
    with pytest.raises(InputError, match=files[0].name):
        open_sweep(folder)
    files[0].write_bytes(whole)
    with pytest.raises(InputError, match=r"stands twice, or not in order"):
        open_sweep(folder)
    files[0].write_bytes(whole[:120] + b"B" * len(whole[middle]) + whole[400:])
    again = sweep(study(), folder)
    told = f"computed again: {files[0].name}, {files[1].name}"
    assert told in (folder / "sweep.log").read_text()
    for name, x in expected.columns.items():
        np.testing.assert_array_equal(again[name], x)


def test_a_name_that_is_damaged_does_not_spread(tmp_path):
    """The end of a Parquet file, which has the names of its columns, has no checksum of its own."""
    folder = tmp_path / "sweep"
    expected = sweep(study(), folder)
    file = parts(folder)[1]
    whole = file.read_bytes()
    place = whole.index(b"energy_end")
    file.write_bytes(whole[:place] + b"energy_enf" + whole[place + 10 :])
    with pytest.raises(InputError, match=f"{file.name} is not as it was written"):
        open_sweep(folder)
    same(sweep(study(), folder).columns, expected.columns)


def test_a_block_that_cannot_be_reached_just_now_is_not_replaced(tmp_path, monkeypatch):
    sweep(study(), tmp_path / "x")

    def unreachable(self, file):
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(block_files.Parquet, "head", unreachable)
        with pytest.raises(DiskError, match=r"cannot read .*part-00000000.*Permission denied"):
            sweep(study(), tmp_path / "x")
