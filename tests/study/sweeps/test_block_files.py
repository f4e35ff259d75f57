"""Blocks of points as Parquet files, and as .npz files where pyarrow is not installed."""

from __future__ import annotations

from subprocess import run
from sys import executable
from textwrap import dedent

import numpy as np
import pytest

from appell.errors import AppellError, InputError
from appell.study import Study, open_sweep, sweep
from appell.study.sweeps import require
from appell.study.sweeps.storage.block_files import FORMATS, verified
from appell.study.sweeps.storage.dataset import parts
from benchmarks.unkind import same

FALL = {"robot": "planar_chain", "task": {"kind": "fall", "until": 0.02}}
VARY = {"task.until": {"normal": (0.02, 0.02)}, "start.v.joint1": {"whole": (0, 3)}}


def study(points=20, **more):
    return Study(scenario=FALL, vary=VARY, points=points, block=8, method="runs", **more)


@pytest.fixture
def pyarrow_is(monkeypatch):
    """Says whether pyarrow is installed: at first, it is as if it were not."""
    real = require.find_spec

    def installed(yes: bool) -> None:
        found = real if yes else lambda name: None if name == "pyarrow" else real(name)
        monkeypatch.setattr(require, "find_spec", found)

    installed(False)
    return installed


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_file_gives_back_what_it_was_given(form, tmp_path):
    columns = {
        "point": np.arange(3), "x": np.array([0.1, -0.0, 1e300]), "n": np.array([1, 2, 3]),
        "on": np.array([True, False, True]), "robot.model": np.empty(3, object),
        "gains": np.empty(3, object), "failed": np.array([False, True, False]),
        "reason": np.array([None, "too far: 'x' < 0", None], object),
        "file": np.array([np.inf, np.nan, -1.5]),
    }  # fmt: skip
    columns["robot.model"][:] = ["a", "b", "ü"]
    columns["gains"][:] = [(1.0, 2.0), (3.0, 4.0), (5.0, 6.5)]
    file = tmp_path / "part"
    form.write(file, columns, "a hash")
    assert form.head(file).study == "a hash"
    assert form.names(file) == list(columns)
    same(verified(form, file, "a hash"), columns)
    with pytest.raises(ValueError, match="part is of another study"):
        verified(form, file, "another hash")
    assert list(form.read(file, ["failed"])) == ["failed"]


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("n", [1, 8, 1001])
def test_numbers_of_any_count_are_given_back(form, n, tmp_path):
    rng = np.random.default_rng(n)
    columns = {
        "point": np.arange(7, 7 + n), "x": rng.normal(size=(n, 2))[:, 1],
        "on": rng.random(n) < 0.5, "failed": rng.random(n) < 0.3, "reason": np.full(n, None),
        "y": np.where(rng.random(n) < 0.4, np.nan, rng.normal(size=n)), "z": np.arange(n) * 3,
    }  # fmt: skip
    form.write(tmp_path / "part", columns, "a hash")
    lost = {k: np.where(columns["failed"], np.nan, columns[k]) for k in "yz"}
    same(form.read(tmp_path / "part"), columns | lost if form is FORMATS[".parquet"] else columns)
    verified(form, tmp_path / "part", "a hash")


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_bit_that_flips_on_the_disk_gives_no_other_numbers(form, tmp_path):
    rng, n, file = np.random.default_rng(3), 200, tmp_path / "part"
    columns = {
        "point": np.arange(n), "x": rng.normal(size=n), "failed": np.zeros(n, dtype=bool),
        "reason": np.full(n, None), "y": rng.normal(size=n),
    }  # fmt: skip
    form.write(file, columns, "a hash")
    whole, refused = file.read_bytes(), 0
    numbers = len(whole) - 1500  # what is behind them tells what they are, such as their names
    for places in (
        rng.integers(0, 8 * numbers, 200),
        rng.integers(8 * numbers, 8 * len(whole), 800),
    ):
        for place in places:
            other = bytearray(whole)
            other[place // 8] ^= 1 << (place % 8)
            file.write_bytes(other)
            try:
                same(verified(form, file, "a hash"), columns)
            except ValueError:
                refused += 1
    assert refused > 500


def test_where_no_point_fails_pandas_is_not_loaded(tmp_path):
    """It would take half a second; pyarrow loads it for what is given as an array or a list."""
    sure = {"task.until": {"uniform": (0.02, 0.03)}, "start.v.joint1": {"whole": (0, 3)}}
    text = f"""
        import sys
        from appell.study import Study, sweep
        for points in (8, 20):
            sweep(Study(scenario={FALL}, vary={sure}, points=points, block=8), {str(tmp_path)!r})
        print("pyarrow" in sys.modules, "pandas" in sys.modules)
    """
    told = run([executable, "-c", dedent(text)], capture_output=True, text=True, check=True)
    assert told.stdout == "True False\n"


def test_without_pyarrow_a_sweep_has_the_same_bits(tmp_path, pyarrow_is):
    plain = sweep(study(), tmp_path / "x")
    assert {x.suffix for x in parts(tmp_path / "x").values()} == {".npz"}
    assert 0 < plain.failed.sum() < 20
    same(plain.columns, sweep(study()).columns)
    same(open_sweep(tmp_path / "x").columns, plain.columns)
    first = np.load(parts(tmp_path / "x")[0])  # as a user reads it
    assert first["energy_end"].tobytes() == plain["energy_end"][:8].tobytes()
    pyarrow_is(True)
    same(sweep(study(), tmp_path / "y").columns, plain.columns)
    same(open_sweep(tmp_path / "x").columns, plain.columns)


def test_a_folder_keeps_its_format(tmp_path, pyarrow_is):
    sweep(study(8), tmp_path / "x")
    pyarrow_is(True)
    sweep(study(20), tmp_path / "x")
    assert {x.suffix for x in parts(tmp_path / "x").values()} == {".npz"}


def test_damaged_archives_are_computed_again(tmp_path, pyarrow_is):
    whole = sweep(study(), tmp_path / "x").columns
    files = parts(tmp_path / "x")
    files[0].write_bytes(files[0].read_bytes()[:-30])
    files[1].write_bytes(b"PK but no more")
    with pytest.raises(InputError, match="damaged file"):
        open_sweep(tmp_path / "x")
    same(sweep(study(), tmp_path / "x").columns, whole)


def test_parquet_files_without_pyarrow_are_refused_with_the_cure(tmp_path, pyarrow_is):
    pyarrow_is(True)
    sweep(study(8), tmp_path / "x")
    pyarrow_is(False)
    for use in (lambda: open_sweep(tmp_path / "x"), lambda: sweep(study(8), tmp_path / "x")):
        with pytest.raises(AppellError, match=r"pip install 'appell\[cluster\]'"):
            use()


def test_both_kinds_of_files_are_not_mixed(tmp_path, pyarrow_is):
    sweep(study(8), tmp_path / "x")
    pyarrow_is(True)
    sweep(study(), tmp_path / "y")
    parquet = parts(tmp_path / "y")[0]  # has the same number
    (tmp_path / "x" / "points" / parquet.name).write_bytes(parquet.read_bytes())
    for use in (lambda: open_sweep(tmp_path / "x"), lambda: sweep(study(), tmp_path / "x")):
        with pytest.raises(InputError, match=r"both \.npz and \.parquet"):
            use()


def test_columns_that_a_function_adds_late_are_in_every_archive(tmp_path, monkeypatch, pyarrow_is):
    text = "def late(x):\n    if x < 6:\n        raise ValueError('early')\n    return {'y': x}\n"
    (tmp_path / "late.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    given = Study(function="late:late", vary={"x": {"whole": (0, 8)}}, sampling="grid", block=3)
    assert sweep(given, tmp_path / "x").measures == ("y",)
    assert all("y" in np.load(file) for file in parts(tmp_path / "x").values())


def test_a_folder_of_parquet_files_without_pyarrow_is_told_and_not_computed_again(
    tmp_path, pyarrow_is
):
    pyarrow_is(True)
    sweep(study(8), tmp_path / "x")
    kept = {x: x.read_bytes() for x in parts(tmp_path / "x").values()}
    pyarrow_is(False)
    for again in (lambda: open_sweep(tmp_path / "x"), lambda: sweep(study(8), tmp_path / "x")):
        with pytest.raises(AppellError, match=r"pip install 'appell\[cluster\]'"):
            again()
    assert {x: x.read_bytes() for x in kept} == kept
