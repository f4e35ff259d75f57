"""Modules of a study: all of them are a part of it, wherever they lie, and do no harm."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from appell.errors import InputError
from appell.study import Study, open_sweep, sweep


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith(("appell", "numpy", "scipy", "pyarrow", "pandas", "dask")):
            sys.modules.pop(name, None)


def of(function, count=4, **more):
    vary = {"x": {"whole": (1, count)}}
    return Study(function=function, vary=vary, sampling="grid", block=2, **more)


def write(path, text):
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("function", "files", "changed"),
    [  # folders without __init__.py, in all ways of naming what is in them
        ("plain.mine:f", {"plain/mine.py": "def f(x): return 2 * x\n"}, "plain/mine.py"),
        ("./plain.mine:f", {"plain/mine.py": "def f(x): return 2 * x\n"}, "plain/mine.py"),
        ("outer_a:f", {"outer_a.py": "from lib_a.x import g\ndef f(x): return g(x)\n",
                       "lib_a/x.py": "def g(x): return 2 * x\n"}, "lib_a/x.py"),
        ("outer_b:f", {"outer_b.py": "from lib_b import x as m\ndef f(x): return m.g(x)\n",
                       "lib_b/x.py": "from .y import g\n",
                       "lib_b/y.py": "def g(x): return 2 * x\n"}, "lib_b/y.py"),
        ("outer_c:f", {"outer_c.py": "def f(x):\n    import late_c\n    return late_c.g(x)\n",
                       "late_c.py": "def g(x): return 2 * x\n"}, "late_c.py"),
    ],
)  # fmt: skip
def test_code_that_changes_is_another_study_wherever_it_lies(function, files, changed, tmp_path):
    for path, text in files.items():
        write(path, text)
    assert sweep(of(function), tmp_path / "out")["f"].tolist() == [2, 4, 6, 8]
    write(changed, Path(changed).read_text().replace("2 * x", "3 * x"))
    with pytest.raises(InputError, match=f"{Path(changed).name} changed"):
        sweep(of(function), tmp_path / "out")
    assert sweep(of(function))["f"].tolist() == [3, 6, 9, 12]
    assert open_sweep(tmp_path / "out")["f"].tolist() == [2, 4, 6, 8]


def test_a_module_with_the_name_of_one_of_pythons_is_refused():
    write("own_d.py", "import statistics\ndef f(x): return statistics.mean([x])\n")
    write("statistics.py", "def mean(x): return 0\n")
    with pytest.raises(InputError, match=r"statistics\.py' has the name of a module of Python"):
        sweep(of("own_d:f"))


def test_a_module_named_like_an_installed_one_leaves_that_one_alone():
    import numpy

    write("numpy.py", "def f(x): return 5 * x\n")
    assert sweep(of("numpy:f"))["f"].tolist() == [5, 10, 15, 20]
    assert sys.modules["numpy"] is numpy


def test_a_function_that_changes_the_folder_changes_nothing_else(tmp_path):
    (tmp_path / "away").mkdir()
    write("moves_e.py", "import os\ndef f(x):\n    os.chdir('away')\n    return x\n")
    found = sweep(of("moves_e:f"), "out")
    assert not found.failed.any()
    assert Path.cwd() == tmp_path
    assert open_sweep(tmp_path / "out")["f"].tolist() == [1, 2, 3, 4]
    assert not [*(tmp_path / "away").iterdir()]


def test_a_module_that_ends_the_program_is_refused():
    write("ends_g.py", "raise SystemExit(7)\n")
    with pytest.raises(InputError, match="'ends_g:f': SystemExit: 7"):
        sweep(of("ends_g:f"))


@pytest.mark.parametrize("name", ["f", "ends:", ":f", "a:b c"])
def test_what_is_no_function_is_refused_with_an_example(name):
    with pytest.raises(InputError, match="expected module:name, such as"):
        sweep(of(name))


@pytest.mark.parametrize("late", [False, True], ids=["imported first", "imported when called"])
def test_helpers_of_the_same_name_are_those_of_their_own_folder(late, tmp_path):
    for folder, value in (("one", 1), ("two", 2)):
        (tmp_path / folder).mkdir()
        write(f"{folder}/helper_h.py", f"VALUE = {value}\n")
        body = "    import helper_h\n    return helper_h.VALUE\n"
        early = "import helper_h\n"
        text = f"def g_{folder}(result):\n{body}" if late else (
            f"{early}def g_{folder}(result):\n    return helper_h.VALUE\n"
        )  # fmt: skip
        write(f"{folder}/mine_{folder}.py", text)
    study = Study(
        scenario={"robot": "planar_chain", "task": {"kind": "fall", "until": 0.01}},
        vary={"start.v.joint1": {"values": [0.1, 0.2]}}, sampling="list",
        measures=("one/mine_one:g_one", "two/mine_two:g_two"),
    )  # fmt: skip
    found = sweep(study, tmp_path / "out")
    assert found["g_one"].tolist() == [1, 1]
    assert found["g_two"].tolist() == [2, 2]


def test_folders_that_are_opened_after_each_other_have_their_own_code(tmp_path):
    for folder, value in (("one", 1), ("two", 2)):
        (tmp_path / folder).mkdir()
        write("shared_i.py", f"VALUE = {value}\n")
        write("mine_i.py", "import shared_i\ndef f(x): return shared_i.VALUE * x\n")
        sweep(of("mine_i:f"), tmp_path / folder / "out")
    for folder, value in (("one", 1), ("two", 2), ("one", 1)):
        opened = open_sweep(tmp_path / folder / "out")
        again = sweep(opened.study)
        assert again["f"].tolist() == opened["f"].tolist() == [value * x for x in (1, 2, 3, 4)]
