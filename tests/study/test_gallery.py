"""Every scenario of the gallery runs, and gives the verdict that it claims."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from appell.simulation import load_run
from appell.study import read_scenario, run

FOLDER = Path(__file__).parents[2] / "examples" / "scenarios"
FILES = [x for x in sorted(FOLDER.glob("*.toml")) if not x.stem.endswith("_loops")]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_scenario_of_the_gallery_gives_its_verdict(file, tmp_path):
    scenario = read_scenario(file)
    assert scenario.title
    result = run(scenario)
    assert result.verdict.ok, result.verdict.text
    assert result.verdict.checks or scenario.task.kind == "puma_line"
    kept = load_run(result.save(tmp_path) / "run.npz")
    assert np.array_equal(kept.q, result.run.q)
    again = read_scenario(tmp_path / "scenario.json")
    assert json.loads(again.text()) == json.loads(scenario.text_in(tmp_path))


def test_the_gallery_has_every_kind_of_robot_and_of_task():
    from appell.robots.closed.closed_robot import ClosedRobot
    from appell.robots.spherical import SphericalRobot
    from appell.study.scenario_build import robot_of

    scenarios = [read_scenario(file) for file in FILES]
    robots = [robot_of(scenario) for scenario in scenarios]
    assert any(isinstance(x, SphericalRobot) for x in robots)
    assert any(getattr(x.model, "free", False) for x in robots)
    loops = [x for x in robots if isinstance(x, ClosedRobot)]
    assert any(c.closures < len(c.rows) for x in loops for c in x.constraints)  # it rolls
    kinds = {scenario.task.kind for scenario in scenarios}
    assert kinds == {
        "fall", "torque", "hold", "moves", "via", "line", "circle", "file", "puma_line",
    }  # fmt: skip


def test_the_gallery_has_every_paper():
    from appell.papers import PAPERS

    texts = {file.stem: file.read_text() for file in FILES}
    gallery = (FOLDER.parents[1] / "docs" / "gallery.md").read_text()
    for paper in PAPERS:
        name, year = re.fullmatch(r"([a-z]+)(\d+)", paper).groups()
        cited = re.compile(rf"{name.title()}( et al\.)? {year}")
        assert any(cited.search(text) for text in texts.values()), paper
        assert cited.search(gallery), paper


def test_torques_alone_bring_the_arm_of_mata_2002_to_the_end_of_its_line():
    from appell.papers.mata2002_simulation import END

    ran = run(read_scenario(FOLDER / "mata2002_puma.toml")).run
    tool = ran.robot.forward_kinematics(ran.q[-1])[:3, 3]
    # the integrator's 1e-6 per step, and the seven digits of the start: some micrometres
    assert tool == pytest.approx(END, abs=1e-4)


def test_the_page_lists_the_gallery():
    page = (FOLDER.parents[1] / "docs" / "scenarios.md").read_text()
    assert set(re.findall(r"^\| `(\w+\.toml)`", page, re.M)) == {x.name for x in FILES}


def test_the_page_lists_every_section_and_key():
    from appell.study.scenario import Scenario
    from appell.study.scenario_file import _keys

    page = (FOLDER.parents[1] / "docs" / "scenarios.md").read_text()
    for section in set(Scenario.model_fields) - {"title", "angles", "task"}:
        for key in _keys((section,), Scenario):
            assert f"`{key}`" in page or f" {key}" in page, (section, key)
