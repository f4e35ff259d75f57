"""What cannot be exported is refused, and nothing is left half written."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

import appell
from appell import export
from appell.compile.kernel import Kernel
from appell.compile.make import kernel_of
from appell.export import subject
from appell.export.whole_folder import MANIFEST
from tests.export.compiled_c import STRICT, gcc


def two_link() -> appell.Robot:
    return appell.load("two_link")


def odd_kernel(name: str) -> Kernel:
    """Of an input that is called so."""
    inputs, outputs = {name: (2,)}, {"y": (1,)}
    return kernel_of("odd", lambda x: [x[0] * x[1]], inputs, outputs)


@pytest.mark.parametrize(
    ("what", "arguments", "words"),
    [
        (lambda: "puma560", {}, ("puma560", "appell.load")),
        (two_link, {"name": "2fast"}, ("2fast", "letter")),
        (two_link, {"name": "double"}, ("double", "word of C")),
        (two_link, {"name": "printf"}, ("printf", "library")),
        (two_link, {"name": "fmaf"}, ("fmaf", "library")),
        (two_link, {"name": "largest"}, ("largest", "itself")),
        (two_link, {"name": "a b"}, ("a b",)),
        (two_link, {"name": "fused"}, ("fused", "itself")),
        (lambda: odd_kernel("x1"), {}, ("x1", "input")),
        (lambda: odd_kernel("kept"), {}, ("kept", "input")),
        (two_link, {"quantity": "nonsense"}, ("nonsense", "mass_matrix")),
        (two_link, {"dtype": "float16"}, ("float16",)),
        (two_link, {"gains": True}, ("gains", "formulation")),
        (lambda: two_link().kernel("gravity"), {"dtype": "float32"}, ("as it is",)),
        (lambda: appell.control.PDGravity(two_link()), {"quantity": "gravity"}, ("law",)),
        (lambda: appell.control.PDGravity(two_link()), {"frame": "tip"}, ("frame", "gains")),
    ],
)
def test_refusals(tmp_path, what, arguments, words):
    with pytest.raises(appell.InputError) as refusal:
        export.c(what(), tmp_path / "out", **arguments)
    assert all(word in str(refusal.value) for word in words)
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(appell.InputError, match=r"thesis\.tex"):
        export.c(two_link(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(appell.InputError, match="is a file"):
        export.c(two_link(), tmp_path / "thesis.tex")


def test_files_that_are_called_as_ours_but_are_not_are_refused(tmp_path):
    (tmp_path / "Makefile").write_text("all:\n")
    (tmp_path / "README.md").write_text("# My robot\n")
    with pytest.raises(appell.InputError, match=r"Makefile, README\.md"):
        export.c(two_link(), tmp_path)
    assert (tmp_path / "README.md").read_text() == "# My robot\n"


NAME = "two_link_inverse_dynamics"


@pytest.mark.parametrize(
    "name",
    [f"{NAME}.c", f"{NAME}.h", f"{NAME}_test.c", "Makefile", "README.md", f"{NAME}.o", "robot.c"],
)
def test_hand_written_files_are_refused_whatever_they_are_called(tmp_path, name):
    """Even with the very first lines of a generated one: here, all but its last letters."""
    export.c(two_link(), tmp_path / "model")
    export.object(two_link(), tmp_path / "model", target="x86-64")
    model = tmp_path / "model" / name
    mine = model.read_bytes()[:-3] + b"//\n" if model.exists() else b"int main(void);\n"
    for write in (export.c, partial(export.object, target="x86-64")):
        place = tmp_path / "mine"
        place.mkdir(exist_ok=True)
        (place / name).write_bytes(mine)
        with pytest.raises(appell.InputError, match=r"other files \(.*give a new or empty folder"):
            write(two_link(), place)
        assert [path.name for path in place.iterdir()] == [name]
        assert (place / name).read_bytes() == mine


def test_an_export_may_be_repeated(tmp_path):
    made = export.c(two_link(), tmp_path, seed=1)
    (tmp_path / f"{made.name}_test").write_text("what make test leaves")
    before = made.files[2].read_text()
    made.files[0].unlink()
    assert export.c(two_link(), tmp_path).files[2].read_text() != before
    assert export.c(two_link(), tmp_path, seed=1).files[2].read_text() == before
    assert made.files[0].exists()
    export.object(two_link(), tmp_path, target="x86-64")
    export.object(two_link(), tmp_path, target="aarch64")
    export.c(two_link(), tmp_path)


@pytest.mark.parametrize("end", [".c", ".h", ".o", "_test.c"])
def test_an_exported_file_that_was_changed_by_hand_is_not_replaced(tmp_path, end):
    export.c(two_link(), tmp_path)
    export.object(two_link(), tmp_path, target="x86-64")
    path = tmp_path / f"{NAME}{end}"
    path.write_bytes(path.read_bytes() + b"\n")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(appell.InputError, match=rf"changed after.*{NAME}{end}"):
        export.object(two_link(), tmp_path, target="aarch64")
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", f'{{"function": "{NAME}", "files": 3}}', "[" * 10**4, "x" * 10**6],
)
def test_a_list_that_is_no_export_s_is_refused(tmp_path, content):
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(appell.InputError, match="is not the list of an export") as refusal:
        export.c(two_link(), tmp_path)
    assert len(str(refusal.value)) < 1000
    assert [path.name for path in tmp_path.iterdir()] == [MANIFEST]


def test_links_are_not_written_through(tmp_path):
    place = tmp_path / "place"
    export.c(two_link(), place)
    source, elsewhere = place / f"{NAME}.c", tmp_path / "elsewhere.c"
    source.rename(elsewhere)
    source.symlink_to(elsewhere)
    with pytest.raises(appell.InputError, match="changed after"):
        export.c(two_link(), place, seed=1)
    assert source.is_symlink()


def test_two_functions_do_not_share_a_folder(tmp_path):
    export.c(two_link(), tmp_path, name="one")
    with pytest.raises(appell.InputError, match="a folder of its own"):
        export.c(two_link(), tmp_path, name="one_more")


@pytest.mark.parametrize("existed", [True, False])
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, existed):
    place = tmp_path / "out"
    if existed:
        place.mkdir()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device; make room"):
        export.c(two_link(), place)
    assert place.exists() == existed
    assert not existed or not list(place.iterdir())


def test_an_older_export_survives_a_full_disk(tmp_path, monkeypatch):
    made = export.c(two_link(), tmp_path)
    before = [path.read_bytes() for path in made.files]

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        export.c(two_link(), tmp_path, seed=1)
    assert [path.read_bytes() for path in made.files] == before
    assert len(list(tmp_path.iterdir())) == len(before) + 1  # the manifest


def test_a_robot_may_be_called_anything(tmp_path):
    robot = appell.Robot.from_dh(
        name="3 links */ int oops; /* \\", convention="modified", alpha=[0], a=[0], d=[0],
        theta=[0], mass=[1], com=[[0.1, 0, 0]], inertia=[[1, 1, 1]],
    )  # fmt: skip
    made = export.c(robot, tmp_path)
    assert made.name.startswith("robot_3_links")
    gcc(*STRICT, "-fsyntax-only", str(made.files[1]), str(made.files[2]))


def test_processors_that_do_not_fuse_export_the_same(tmp_path, monkeypatch):
    """Their own kernels round twice; what they export is held to one that rounds once."""
    here = export.c(two_link(), tmp_path / "here")
    monkeypatch.setattr(subject, "fuses", lambda: False)
    there = export.c(two_link(), tmp_path / "there")
    for a, b in zip(here.files, there.files, strict=True):
        assert a.read_bytes() == b.read_bytes()


def test_the_state_to_start_with_and_gains_are_told(tmp_path):
    law = appell.control.TrackingIntegral(two_link())
    made = export.c(law, tmp_path, gains=True)
    source = (tmp_path / f"{made.name}.c").read_text()
    assert f"const double {made.name}_initial[{law.nstate}] = {{" in source
    (line,) = (x for x in source.splitlines() if x.startswith(f"const double {made.name}_kp["))
    told = [float.fromhex(x) for x in line.partition("{")[2].rstrip("};").split(",")]
    np.testing.assert_array_equal(told, law.kp)


def test_arguments_of_another_kind_are_refused(tmp_path):
    with pytest.raises(appell.InputError, match="folder=None; expected the path"):
        export.c(two_link(), None)
    with pytest.raises(appell.InputError, match="name=3: expected a text"):
        export.c(two_link(), tmp_path, name=3)
    with pytest.raises(appell.InputError, match="target=None: expected a text"):
        export.object(two_link(), tmp_path, target=None)
    assert not [*tmp_path.iterdir()]
