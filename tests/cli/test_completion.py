"""The shell completes values: robots, laws, papers and files, quickly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.completion import completion_init
from typer.main import get_command

from appell.cli import app
from appell.control.laws import LAWS
from appell.model.library.example_robots import EXAMPLES
from appell.robots.registry import makers

completion_init()
START = "import sys; sys.argv[0] = 'appell'; from appell.__main__ import main; main()"
HEAVY = {"numpy", "scipy", "casadi", "llvmlite", "appell.equations"}


@pytest.fixture
def complete(tmp_path, monkeypatch):
    """Gives what bash is told for the last of some words, in a folder with some files."""
    monkeypatch.chdir(tmp_path)
    for name in ("arm.urdf", "task.toml", "move.mcap", "move.csv", "notes.txt", ".hid.urdf"):
        Path(name).touch()
    for name in ("models/deep/one.urdf", "models/deep/two.urdf"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()

    def run(line):
        from typer._completion_classes import BashComplete

        words = line.split(" ")
        shell = BashComplete(get_command(app), {}, "appell", "_APPELL_COMPLETE")
        return [x.value for x in shell.get_completions(words[:-1], words[-1])]

    return run


def test_every_robot_that_can_be_loaded_is_completed(complete):
    assert {*makers(), *EXAMPLES} == {*complete("info ")} - {"arm.urdf", "models/"}


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("info pum", ["puma560"]),
        ("info arm", ["arm.urdf"]),
        ("info ./a", ["./arm.urdf"]),
        ("info mod", ["models/deep/one.urdf", "models/deep/two.urdf"]),
        ("info .h", [".hid.urdf"]),
        ("info no/such/f", []),
        ("check five", ["five_bar"]),
        ("new ur1", ["ur10"]),
        ("new ur5 --task h", ["hold"]),
        ("export two_link mass", ["mass_matrix"]),
        ("export two_link --law computed", ["computed-torque"]),
        ("export two_link --target riscv", ["riscv64", "riscv32"]),
        ("export two_link --dtype f", ["float64", "float32"]),
        ("export two_link --formulation gibbs_t", ["gibbs_tensor", "gibbs_tree"]),
        ("reproduce l", ["lee1982"]),
        ("run t", ["task.toml"]),
        ("tune t", ["task.toml"]),
        ("sweep run t", ["task.toml"]),
        ("sweep new t", ["task.toml"]),
        ("view pum", ["puma560"]),
        ("view mov", ["move.csv", "move.mcap"]),
        ("view move.mcap --robot pum", ["puma560"]),
        ("info arm.urdf --loops t", ["task.toml"]),
        ("identify excite pum", ["puma560"]),
        ("identify fit puma560 mov", ["move.csv", "move.mcap"]),
        ("identify fit puma560 move.csv --method wl", ["wls"]),
        ("identify excite puma560 --kind s", ["spline"]),
        ("identify excite puma560 --criterion d", ["d_optimal"]),
        ("control move pum", ["puma560"]),
        ("control move --law adap", ["adaptive"]),
        ("control move --channel lo", ["lockstep"]),
        ("control follow puma560 mov", ["move.csv"]),
        ("control replay puma560 mov", ["move.csv"]),
        ("control teach puma560 mov", ["move.csv"]),
        ("control show mov", ["move.mcap"]),
    ],
)
def test_values_are_completed(complete, line, values):
    assert complete(line) == values


def test_all_laws_are_completed(complete):
    assert complete("control move --law ") == list(LAWS)


@pytest.mark.parametrize("line", ["appell info pum", "appell reproduce l", "appell co"])
def test_completing_imports_nothing_heavy(line, tmp_path):
    """As bash calls it, with the modules that Python imports for it."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", START],
        env={**os.environ, **words, "_APPELL_COMPLETE": "complete_bash"},
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    expected = {"pum": "puma560", "l": "lee1982", "co": "control"}
    assert done.stdout.strip() == expected[line.split()[-1]], done.stderr[-500:]
    assert not HEAVY & {x.rpartition("|")[2].strip() for x in done.stderr.splitlines()}
