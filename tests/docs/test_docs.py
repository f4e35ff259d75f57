"""What README and the documentation show runs, and gives what they say it gives."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from lxml import etree
from typer.main import get_command

from appell.cli import app
from appell.compile.gpu import driver
from appell.study import open_sweep
from tests.docs.blocks import ROOT, Block, blocks, pages, pictures, run, same
from tests.docs.stand_ins import gpu_and_torch, slurm_and_kubernetes

URDF = """
<robot name="my_robot">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0.2 0 0"/>
      <mass value="1"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/>
    </inertial>
  </link>
  <joint name="shoulder" type="continuous">
    <parent link="base"/>
    <child link="arm"/>
    <axis xyz="0 1 0"/>
  </joint>
</robot>
"""
IMAGES = ROOT / "docs" / "images" / "tutorials"
STUDIES = "docs/studies.md"  # test_studies.py runs each, and looks at what comes out
CLUSTERS = "docs/clusters.md"  # has a test of its own, below


@pytest.fixture(autouse=True)
def no_driver_is_kept():
    yield
    driver.driver.cache_clear()


@pytest.mark.parametrize("page", [page for page in pages() if page not in (STUDIES, CLUSTERS)])
def test_code_on_the_page_runs_and_gives_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my_robot.urdf").write_text(URDF)
    if page == "docs/gpu.md":
        gpu_and_torch(monkeypatch)
    run(page, blocks(page))
    for name in pictures(page):
        if name.endswith(".svg"):
            drawn = labels(tmp_path / name)
            assert drawn == labels(IMAGES / name), "run: make pictures"
            assert any(re.search(r", (s|rad)$", label) for label in drawn)
        else:  # a photograph of a page that the code writes
            text = (tmp_path / name).with_suffix(".html").read_text()
            assert text.lstrip().lower().startswith("<!doctype html>")
            assert (IMAGES / name).read_bytes().startswith(b"\x89PNG")


def test_programs_for_slurm_and_kubernetes_sweep_on_their_workers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with slurm_and_kubernetes(monkeypatch):
        run(CLUSTERS, blocks(CLUSTERS), {"__name__": "__main__"})
    for name in ("slurm-sweep", "kubernetes-sweep"):
        assert len(open_sweep(name)) == 4


def labels(path) -> set[str]:
    """Words of a picture by Matplotlib, which draws letters as outlines and adds what they say."""
    root = etree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(root.findall(".//{*}g[@id='axes_1']//{*}path")) > 1
    said = [x.text.strip() for x in root.iter(etree.Comment)]
    return {x for x in said if re.search(r"[^\W\d]{2}", x)}


def test_there_are_a_start_and_seven_tutorials_and_each_draws_a_picture():
    subjects = "arm_from_urdf closed_chain contacts control export identification own_law"
    drawing = {page: pictures(page) for page in pages() if pictures(page)}
    assert set(drawing) == {
        "docs/start.md", *(f"docs/tutorials/{name}.md" for name in subjects.split())
    }  # fmt: skip
    for page, names in drawing.items():
        assert f"{Path(page).stem}.svg" in names
    assert {name for names in drawing.values() for name in names} == {
        path.name for path in IMAGES.iterdir()
    }


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "print(1.25)\n# 1.27\n"),
        ("python", "print('more')\n"),
        ("python", "x = 1 == 2  # True\n"),
        ("sh", "echo a 8\n# a 9\n"),
        ("sh", "false\n"),
        ("fortran", "end\n"),
    ],
)
def test_a_block_that_claims_something_else_fails(language, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        run("page", [Block(language, None, text)])


def test_printed_numbers_agree_to_one_in_their_last_digit():
    assert same("3.97e-04 rad, -0.0 m", "3.96e-04 rad, 0.0 m")
    assert not same("3.98e-04 rad", "3.96e-04 rad")
    assert same("[ 1.0  -2.5]", "[1.0 -2.5]")
    assert not same("8 impacts", "9 impacts")
    assert not same("joint1 1.0", "joint2 1.0")


def shown_commands() -> list[tuple[str, str]]:
    """Page and text of every command that a page shows, in an indented block or in backticks."""
    shown = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        page, text = path.relative_to(ROOT).as_posix(), path.read_text()
        if page == "docs/commands.md":
            continue  # made from the commands, as another test makes sure
        shown += [(page, x) for x in re.findall(r"^    (appell .+)$", text, re.MULTILINE)]
        shown += [(page, x) for x in re.findall(r"`(appell [^`]+)`", text)]
    return shown


def test_commands_that_are_not_run_are_understood():
    """Their options exist, and have values of the right kind; words in capitals are places."""
    checked, whole = 0, get_command(app)
    for page, text in shown_commands():
        words = shlex.split(re.split(r" (?:>|&&) ", text)[0], comments=True)[1:]
        if "..." in words or any(word.isupper() for word in words):
            continue
        command, name = whole, "appell"
        while hasattr(command, "commands") and words and not words[0].startswith("-"):
            name = words.pop(0)
            assert name in command.commands, f"{page}: {text}"
            command = command.commands[name]
        if words:
            try:
                command.make_context(name, words)
            except Exception as refused:
                pytest.fail(f"{page}: {text}: {refused}")
        checked += 1
    assert checked > 30


def test_extras_that_pages_install_are_those_of_the_project():
    text = (ROOT / "pyproject.toml").read_text()
    known = re.search(r"optional-dependencies\]\n(.*?)^\[", text, re.DOTALL | re.MULTILINE)
    names = set(re.findall(r"^(\w+) = ", known[1], re.MULTILINE))
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for extras in re.findall(r"pip install ['\"]?(?:\.|appell)\[([\w,]+)\]", path.read_text()):
            assert set(extras.split(",")) <= names, path.name
