"""The report stands alone, says what was computed, and nothing is overwritten."""

from __future__ import annotations

import errno
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from appell.charts.chart import Chart, Panel, lines
from appell.control.kinematics.spherical_wrist import BRANCHES
from appell.errors import AppellError
from appell.show import plots
from appell.show.document import Document, plain
from appell.show.figure import Picture
from appell.show.report import html
from appell.show.report_folder import new_folder, write, write_documents
from appell.study import read_scenario
from appell.study.scenario import puma_line
from appell.study.straight_line import run
from appell.study.study_timing import Timing
from tests.report_pages import examine

TIMING = Timing(ready=0.2, cached=False, call=1.5e-6, state=2e-8, states=3208)


@pytest.fixture(scope="module")
def study():
    return run()


@pytest.fixture(scope="module")
def page(study):
    return html(study, TIMING)


class Tags(HTMLParser):
    """Every attribute of a page, and whether its tags close in order."""

    VOID = ("meta", "br", "wbr")

    def __init__(self, page):
        super().__init__()
        self.open, self.attributes = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_needs_nothing_from_outside(page):
    assert not re.search(r"https?:|<script[^>]*src|<link|@import|fetch\(", page)
    for name, value in Tags(page).attributes:
        assert name not in ("src", "srcset", "onload", "onclick")
        if name == "href":  # files beside the report
            assert value == "scenario.json" or value.startswith("motions/")
    assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", page))


def test_is_well_formed_with_unique_ids(page):
    tags = Tags(page)
    assert not tags.open
    ids = [value for name, value in tags.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    drawn = page[: page.rindex("<script>")]
    for svg in re.findall(r"<svg.*?</svg>", drawn, re.DOTALL):
        ElementTree.fromstring(svg)


def test_follows_the_theme_of_the_page(page):
    assert "prefers-color-scheme: dark" in page
    assert "currentColor" in page
    assert "var(--paper)" in page


def test_shows_the_task_the_pictures_and_the_tables(study, page):
    assert "(0.6, 0.175, 0.25) m to (0.018, 0.757, 0) m at 0.1 m/s" in page
    assert page.count("<figure") == 4
    for name, motion in study.motions.items():
        assert f'<th scope="row">{name}</th>' in page
        assert f">{motion.peak[1]:.3f}</td>" in page
    counts = study.robot.operations("inverse_dynamics")
    assert re.search(rf">multiplications</th><td[^>]*>{counts.multiplications}</td>", page)
    assert "8 of 8 configurations follow the line" in page
    assert "sha256" in page
    assert "1.50 µs" in page
    assert "Appell 0." in page


def test_warns_of_singularities(study):
    from dataclasses import replace

    near = replace(study.shown, singular_value=0.01)
    page = html(replace(study, motions={"left-up-noflip": near}, refused={"x": "a < b"}), TIMING)
    assert "near a singularity" in page
    assert "a &lt; b" in page
    assert page.count("<figure") == 3  # nothing to compare


@pytest.mark.parametrize("name", ["torques", "comparison", "trajectories"])
def test_every_axis_has_a_label_with_a_unit(study, name):
    units = {"torque, N m", "angle, rad", "speed, rad/s", "acceleration, rad/s²"}
    for panel in getattr(plots, name)(study).panels:
        assert panel.x == "time, s"
        assert panel.y in units


def test_the_arm_is_drawn_with_its_scales(study):
    (sketch,) = plots.arm(study).sketches
    words = {look["words"] for kind, _, look in sketch.shapes if kind == "text"}
    assert words >= {"x, m", "y, m", "z, m", "start", "end"}


def test_a_joint_at_rest_is_not_drawn_as_noise(study):
    low, high = plots.torques(study).panels[5].visible_range()
    assert high - low > 0.1


def test_reports_need_no_matplotlib(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<figure" in html(study, TIMING)


def test_in_a_browser_nothing_is_cut_off_and_charts_answer(page, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    examine(file)


def test_a_chart_of_thirty_joints_and_names_of_any_kind_fit(tmp_path):
    names = [f"<left & right> finger_{k}_proximal_joint" for k in range(30)]
    t = np.linspace(0, 2, 5000)
    chart = Chart([Panel("", "position, rad", lines(names, t, np.sin(np.outer(t, range(30)))))])
    table = plain("Joints", names, {"rms": [0.123] * 30, "worst": [1.5e-9] * 30, "R²": [1.0] * 30})
    document = Document("many", "Many joints", "", [table], [Picture("Motion", "", lambda: chart)])
    folder = write_documents([document], tmp_path / "many")[0].parent
    examine(folder / "many.html")
    ElementTree.parse(folder / "many-1.svg")
    assert (folder / "many.html").stat().st_size < 1_500_000


def test_the_folder_holds_report_scenario_and_motions(study, tmp_path):
    report = write(study, TIMING, tmp_path / "deep" / "run")
    assert report == tmp_path / "deep" / "run" / "report.html"
    assert read_scenario(report.with_name("scenario.json")) == puma_line()
    for name in BRANCHES:
        file = report.parent / "motions" / f"{name}.csv"
        table = np.genfromtxt(file, delimiter=",", names=True)
        assert np.array_equal(table["t"], study.path.t)
        assert np.array_equal(table["tau2"], study.motions[name].tau[:, 1])


def test_a_taken_folder_gets_a_number(tmp_path):
    wanted = tmp_path / "run"
    assert new_folder(wanted) == wanted
    assert new_folder(wanted) == wanted  # still empty
    (wanted / "mine").touch()
    assert new_folder(wanted) == tmp_path / "run-2"
    (tmp_path / "run-2").rmdir()
    (tmp_path / "run-2").touch()
    assert new_folder(wanted) == tmp_path / "run-3"
    assert (wanted / "mine").exists()


def test_a_full_disk_is_said(study, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(AppellError, match=r"cannot write .*scenario\.json.*No space left"):
        write(study, TIMING, tmp_path / "run")
