"""Films: what moves is where the robot is, and what is near is drawn over what is far."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import appell
from appell.model.shapes import Shape
from appell.show.film import film
from appell.show.film_outlines import Camera, outlines
from appell.show.scene import View
from appell.show.viewer.played_motion import of_run, of_samples
from tests.browser import headless

FLAT = View(-90, 90)  # x to the right, y up
NAMESPACE = "{http://www.w3.org/2000/svg}"
PIXEL = 0.11  # what a decimal of a pixel may hide, twice


@pytest.fixture(scope="module")
def falling():
    chain = appell.load("planar_chain", n=2)
    floor = appell.walls.Plane((0, 1, 0), -0.3)
    run = appell.simulate(chain, [0.3, 0.2], until=0.8, walls=[floor], restitution=0.5)
    assert run.impacts
    return of_run(run)


def elements(svg, tag):
    return list(ElementTree.fromstring(svg).iter(NAMESPACE + tag))


def numbers(text):
    return np.array([float(x) for x in re.findall(r"-?[\d.]+", text)])


def test_the_tip_of_a_film_goes_where_kinematics_says(falling):
    svg = film(falling, FLAT, trace=["link2"], frames=9, hold=0.0)
    dot = next(x for x in elements(svg, "polyline") if x.get("stroke-width") == "6")
    values = dot.find(NAMESPACE + "animate").get("values").split(";")
    shown = np.array([numbers(x)[:2] for x in values]) * [1, -1]
    t = np.linspace(falling.t[0], falling.t[-1], 9)
    q = np.array([falling.state(x)[0] for x in t])
    path = falling.robot.forward_kinematics(q, "link2")[:, :2, 3]
    moved, real = shown - shown[0], path - path[0]
    scale = np.sum(moved * real) / np.sum(real**2)
    assert scale > 10  # pixels per metre
    assert np.abs(moved - scale * real).max() < 2 * PIXEL


def test_a_film_is_one_file_that_needs_nothing_else(falling):
    svg = film(falling, FLAT, trace=["link2"], title="A <chain> & a floor")
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == "A <chain> & a floor"
    named = {x.get("id") for x in root.iter() if x.get("id")}
    used = {x.get("href") for x in root.iter() if x.get("href")}
    assert used <= {f"#{x}" for x in named}
    assert not elements(svg, "script")
    durations = {x.get("dur") for x in elements(svg, "animate")}
    assert durations == {"3.6s"}  # three seconds, and its end is held
    for x in elements(svg, "animate"):
        if x.get("keyTimes"):
            keys = numbers(x.get("keyTimes"))
            assert len(keys) == len(x.get("values").split(";"))
            assert keys[0] == 0
            assert (np.diff(keys) >= 0).all()
    assert len(elements(svg, "circle")) == sum(len(s.places) for s in falling.strikes)


def test_many_impacts_flash_in_few_groups(falling):
    [first, *_] = falling.strikes
    many = replace(falling, strikes=[first._replace(time=t) for t in np.linspace(0.1, 0.7, 900)])
    svg = film(many, FLAT, trace=["link2"])
    assert len(elements(svg, "circle")) == 900 * len(first.places)
    assert sum(bool(x.findall(NAMESPACE + "circle")) for x in elements(svg, "g")) < 100


def test_what_passes_behind_is_drawn_before():
    """An arm turns about the vertical: its parts are in one order in front, in another behind."""
    robot = appell.load("puma560")
    t = np.linspace(0, 1, 61)
    q = np.outer(t, [2 * np.pi, 0, 0, 0, 0, 0])
    svg = film(of_samples(robot, t, q, np.zeros_like(q)), View(0, 15), frames=25, hold=0.0)
    groups = [x for x in elements(svg, "g") if x.find(NAMESPACE + "animate") is not None]
    spans = []
    for group in groups:
        shown = group.find(NAMESPACE + "animate")
        states = shown.get("values").split(";")
        keys = [*numbers(shown.get("keyTimes")), 1.0]
        k = states.index("visible")
        spans.append((keys[k], keys[k + 1]))
    assert len(spans) > 1
    assert spans[0][0] == 0
    assert spans[-1][1] == 1
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]


def test_outlines_are_those_of_the_solids():
    camera = Camera(View(0, 0), scale=100.0)  # the eye on the x axis
    at = np.eye(4)[None]
    tube = outlines(Shape("", "capsule", (0.1, 1.0), np.eye(3), np.zeros(3)), at, camera)[0]
    assert numbers(tube.values[0]).tolist() == [0, 50, 0, -50]
    assert [look["stroke_width"] for look in tube.looks][1] == "20.0"
    sides, disc, _hub = outlines(Shape("", "cylinder", (0.1, 1.0), *_still()), at, camera)
    corners = numbers(sides.values[0].replace("A", " "))
    assert np.abs(corners).max() <= 90  # 10 wide, 50 high on each side; turned by 90 degrees
    flat = numbers(disc.values[0].replace("A", " "))
    assert flat[3] == pytest.approx(0.1, abs=0.051)  # seen from its edge
    box = outlines(Shape("", "box", (0.3, 0.4, 0.6), *_still()), at, camera)[0]
    places = numbers(box.values[0]).reshape(-1, 2)
    assert np.ptp(places, axis=0).tolist() == pytest.approx([40, 60])


def _still():
    return np.eye(3), np.zeros(3)


def test_a_film_moves_in_a_browser(falling, tmp_path):
    path = tmp_path / "film.svg"
    path.write_text(film(falling, FLAT, trace=["link2"], frames=12))
    with headless() as browser:
        page = browser.new_page(viewport={"width": 420, "height": 300})
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        seen = []
        for time in (0.0, 1.5, 3.0):
            page.evaluate(
                "t => {document.documentElement.pauseAnimations();"
                "document.documentElement.setCurrentTime(t)}",
                time,
            )
            seen.append(page.screenshot())
    assert asked == [path.as_uri()]
    assert len(set(seen)) == 3
