"""Pages with a moving picture, drawn where the viewer is not installed."""

from __future__ import annotations

import re
from base64 import b64decode

import numpy as np
import pytest
from typer.testing import CliRunner

import appell
from appell.cli import app
from appell.errors import AppellError, InputError
from appell.show import film_page
from appell.show.viewer import server, view


@pytest.fixture
def bare(monkeypatch):
    """As if the extra "view" were not installed."""
    for module in (server, view):
        monkeypatch.setattr(module, "missing", lambda: ["viser"])


def film(path):
    (drawn,) = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", path.read_text())
    return b64decode(drawn).decode()


def test_a_robot_swings_its_joints(bare, tmp_path):
    path = appell.load("two_link").view(html=tmp_path / "arm.html")
    assert "<animate " in film(path)
    assert "appell[view]" in path.read_text()


def test_a_run_moves_beside_its_charts(bare, tmp_path):
    run = appell.simulate(appell.load("planar_chain"), [0.3, 0.2, 0.1], until=0.2)
    path = run.view(html=tmp_path / "run.html")
    assert "<animate " in film(path)
    assert "position, rad" in path.read_text()


def test_loops_stay_closed_and_a_robot_that_cannot_swing_stands_still(monkeypatch):
    bars = appell.load("five_bar")
    motion = film_page._swinging(bars, bars.neutral())
    q = np.array([motion.state(float(t))[0] for t in motion.t])
    assert np.abs(bars.closure(q)).max() < 1e-9
    assert np.ptp(q, axis=0).max() > 0.2  # rad

    def refused(*_):
        raise InputError("no")

    monkeypatch.setattr(film_page, "_swung", refused)
    assert np.ptp(film_page._swinging(bars, bars.neutral()).t) > 0


def test_without_a_file_the_viewer_is_asked_for(bare, tmp_path):
    with pytest.raises(AppellError, match=r"pip install 'appell\[view\]'"):
        appell.load("two_link").view(browser=False)
    with pytest.raises(InputError, match=r"\.html"):
        appell.load("two_link").view(html=tmp_path / "arm.txt")


@pytest.mark.filterwarnings("always:viser not installed")  # as outside of tests, which refuse them
@pytest.mark.parametrize("asked", ["option", "scenario"])
def test_a_report_without_the_viewer_has_a_moving_picture_and_a_warning(
    bare, asked, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    scenario = 'robot = "two_link"\ntask = {kind = "fall", until = 0.2}\n'
    outputs = "outputs = {animation = true}\n" if asked == "scenario" else ""
    (tmp_path / "fall.toml").write_text(scenario + outputs)
    options = ["--animation"] if asked == "option" else []
    done = CliRunner().invoke(app, ["run", "fall.toml", *options, "-q"])
    assert done.exit_code == 0, done.output
    assert "warning: viser not installed: the animation is a moving picture" in done.stderr
    assert "pip install 'appell[view]'" in done.stderr
    folder = tmp_path / "fall-run"
    assert "<animate " in film(folder / "animation.html")
    assert '<iframe class="scene" src="animation.html"' in (folder / "report.html").read_text()
