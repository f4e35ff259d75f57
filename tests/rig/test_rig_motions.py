"""Files of motions: what is read, and what is refused."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from rigs import END, PUMA, START

from appell.control import quintic
from appell.errors import InputError
from appell.rig import read_log
from appell.rig.controller.mission import Follow
from appell.rig.log.motion_files import read_motion, write_motion


def test_a_motion_comes_back_as_it_was(tmp_path):
    t = np.linspace(0, 2, 9)
    q = START + np.outer(np.sin(t), END - START)
    write_motion(tmp_path / "a.csv", t, q)
    np.savez(tmp_path / "a.npz", t=t, q=q)
    for name in ("a.csv", "a.npz"):
        motion, _ = read_motion(tmp_path / name, 6, speed=2.0)
        assert motion.duration == pytest.approx(1.0)
        np.testing.assert_allclose(motion(t / 2)[0], q, atol=1e-8)
    with pytest.raises(FileExistsError):
        write_motion(tmp_path / "a.csv", t, q)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "rows"),
        ("t,q1\n0,1\n", "column"),
        ("0,1,2,3,4,5\n1,1,2,3,4,5\n", "column"),
        ("0,1,2,3,4,5,6\n0,1,2,3,4,5,6\n", "later"),
        ("0,1,2,3,4,5,6\n1,1,2,nan,4,5,6\n", "finite"),
        ("0,1,2,3,4,5,6\n1,1,2,3\n", "row 2 of numbers has 4; expected 7"),
        ("0,1,2,3,4,5,6\n1,1,2,x,4,5,6\n", "row 2 of numbers holds 'x'"),
        ("\x00\xff", "rows"),
    ],
)
def test_a_file_that_is_no_motion_is_refused(tmp_path, text, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_motion(path, 6)
    (tmp_path / "bad.npz").write_bytes(text.encode())
    with pytest.raises(InputError, match=r"bad.npz: expected an npz file"):
        read_motion(tmp_path / "bad.npz", 6)


def test_positions_that_are_not_real_are_refused(tmp_path):
    np.savez(tmp_path / "bad.npz", t=[0.0, 1.0], q=np.array([START, END]) + 1j)
    with pytest.raises(InputError, match=r"bad\.npz: .* of real numbers"):
        read_motion(tmp_path / "bad.npz", 6)


@pytest.mark.parametrize("duration", [1e-9, 0.0009, 0.001, 0.0011])
def test_a_step_is_refused_as_what_it_is(duration):
    with pytest.raises(InputError, match=r"joint 1 at .* rad/s .*deg/s.*; .* give it more time"):
        Follow(quintic(START, END, duration), PUMA)


@pytest.mark.parametrize("name", ["missing.mcap", "missing.csv", "missing.npz", "folder"])
def test_a_file_that_cannot_be_read_is_named(command, tmp_path, name):
    (tmp_path / "folder").mkdir()
    result = command("show" if name.endswith("mcap") else "follow", name)
    assert result.exit_code == 2
    why = "this is a folder; expected a file" if name == "folder" else "there is no such file"
    assert result.stderr == f"error: {name}: {why}.\n"


def test_the_systems_reason_is_told(tmp_path, monkeypatch):
    def denied(*arguments):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "a.mcap")

    (tmp_path / "a.mcap").touch()
    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(InputError, match=r"a\.mcap: cannot be read: Permission denied"):
        read_log(tmp_path / "a.mcap")


def test_the_first_line_of_a_motion_names_its_columns(tmp_path):
    t, q = np.linspace(0, 2, 9), START + np.outer(np.linspace(0, 1, 9), END - START)
    order, path = [3, 0, 5, 1, 4, 2], tmp_path / "named.csv"
    head = ["q4", "joint1 [deg]", "q6 [rad]", "q2[deg]", "t [ms]", "q5", "q3"]
    scale = np.array([1, np.degrees(1), 1, np.degrees(1), 1, 1])
    table = np.insert(q[:, order] * scale, 4, 1000 * t, axis=1)
    np.savetxt(path, table, delimiter=",", header=",".join(head), comments="")
    motion, _ = read_motion(path, 6, joints=[f"joint{j + 1}" for j in range(6)])
    assert motion.duration == pytest.approx(2)
    np.testing.assert_allclose(motion(t)[0], q, atol=1e-12)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("t,q1,q2,q3,q4,q5,q7", "'q7'; expected"),
        ("t,q1,q2,q3,q4,q5,q5", "each once"),
        ("t,q1,q2,q3,q4,q5,joint6", "'joint6'"),
        ("t,q1,q2,q3,q4,q5,q6 [grad]", "grad"),
        ("t [deg],q1,q2,q3,q4,q5,q6", "ms"),
        ("q1,q2,q3,q4,q5,q6", "without t"),
        ("t,q1,q2,q3,q4,q5,q6,q6", "each once"),
        ("a,b,c,d,e,f,g", "column 'a'"),
    ],
)
def test_names_of_columns_that_are_refused(tmp_path, head, words):
    (tmp_path / "a.csv").write_text(f"{head}\n0,0,0,0,0,0,0\n1,0,0,0,0,0,0\n")
    with pytest.raises(InputError) as problem:
        read_motion(tmp_path / "a.csv", 6)
    assert words in str(problem.value)


def test_the_row_that_holds_no_number_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("0,0,0\n1,0,0\n2,nan,0\n")
    with pytest.raises(InputError, match="row 3"):
        read_motion(tmp_path / "a.csv", 2)
