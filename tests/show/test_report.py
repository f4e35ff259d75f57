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

from appell.control.kinematics.spherical_wrist import BRANCHES
from appell.errors import AppellError
from appell.show import plots
from appell.show.report import html
from appell.show.report_folder import new_folder, write
from appell.study import read_scenario
from appell.study.scenario import puma_line
from appell.study.straight_line import run
from appell.study.study_timing import Timing

TIMING = Timing(ready=0.2, cached=False, call=1.5e-6, state=2e-8, states=3208)


@pytest.fixture(scope="module")
def study():
    return run()


@pytest.fixture(scope="module")
def page(study):
    return html(study, TIMING)


class Tags(HTMLParser):
    """Every attribute of a page, and whether its tags close in order."""

    VOID = ("meta", "br")

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
    assert not re.search(r"https?:|<script|<link|@import", page)
    for name, value in Tags(page).attributes:
        assert name not in ("src", "srcset", "onload", "onclick")
        if name in ("href", "xlink:href"):
            assert value.startswith("#")
    assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", page))


def test_is_well_formed_with_unique_ids(page):
    tags = Tags(page)
    assert not tags.open
    ids = [value for name, value in tags.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg.replace("<svg", '<svg xmlns:xlink="x"', 1))


def test_follows_the_theme_of_the_page(page):
    assert "prefers-color-scheme: dark" in page
    assert "currentColor" in page
    assert "var(--paper)" in page


def test_shows_the_task_the_pictures_and_the_tables(study, page):
    assert "(0.6, 0.175, 0.25) m to (0.018, 0.757, 0) m at 0.1 m/s" in page
    assert page.count("<svg") == 4
    for name, motion in study.motions.items():
        assert f"<td>{name}</td>" in page
        assert f"<td>{motion.peak[1]:.3f}</td>" in page
    counts = study.robot.operations("inverse_dynamics")
    assert f"<td>multiplications</td><td>{counts.multiplications}</td>" in page
    assert "1.50 µs" in page
    assert "Appell 0." in page


def test_warns_of_singularities(study):
    from dataclasses import replace

    near = replace(study.shown, singular_value=0.01)
    page = html(replace(study, motions={"left-up-noflip": near}, refused={"x": "a < b"}), TIMING)
    assert "near a singularity" in page
    assert "a &lt; b" in page
    assert page.count("<svg") == 3  # nothing to compare


@pytest.mark.parametrize("name", ["arm", "torques", "comparison", "trajectories"])
def test_every_axis_has_a_label_with_a_unit(study, name):
    figure = getattr(plots, name)(study)
    texts = {text.get_text() for text in figure.findobj(lambda x: hasattr(x, "get_text"))}
    wanted = {"arm": {"x, m", "y, m", "z, m"}, "trajectories": {"time, s", "angle, rad"}}
    assert texts >= wanted.get(name, {"time, s", "torque, N m"})


def test_a_joint_at_rest_is_not_drawn_as_noise(study):
    low, high = plots.torques(study).axes[5].get_ylim()
    assert high - low > 0.1


def test_without_matplotlib_the_error_says_what_to_install(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(AppellError, match=r"pip install matplotlib"):
        plots.arm(study)


def test_without_matplotlib_the_report_has_its_tables_and_says_what_is_left_out(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = html(study, TIMING)
    assert page.count("pip install 'appell[show]'") == 4
    assert "<svg" not in page
    assert "left-up-noflip" in page


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
