"""Axes of what is counted, room beside marks, lines that hold a value, and marks that are seen."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from appell.charts.chart import Chart, Line, Panel
from appell.show.chart_svg import chart_svg, nice_ticks
from appell.show.figure import chart_data


@pytest.mark.parametrize(("low", "high"), [(1, 2), (0.9, 3.1), (1, 7), (1, 120), (0.5, 1.5)])
def test_what_is_counted_has_whole_numbers_on_its_axis(low, high):
    ticks = nice_ticks(low, high, 10, whole=True)
    assert ticks
    assert all(x == round(x) for x in ticks)


@pytest.mark.parametrize("drawn", ["dots", "rings", "crosses", "both"])
@pytest.mark.parametrize("log", ["", "x"])
def test_no_mark_at_an_end_is_cut_in_half(drawn, log):
    panel = Panel("", "y", [Line("", [1.0, 2.0, 9.0], [1, 2, 3], drawn=drawn)], log=log)
    low, high = panel.horizontal_range()
    assert 0 < low < 1
    assert high > 9
    assert chart_data(Chart([panel]))["panels"][0]["span"] == [low, high]


def test_lines_fill_the_width():
    assert Panel("", "y", [Line("", [1.0, 9.0], [1, 2])]).horizontal_range() == (1, 9)
    assert Panel("", "y", [Line("", [1.0], [1], drawn="dots")]).horizontal_range() == (0.5, 1.5)
    assert Panel("", "y", []).horizontal_range() == (0, 1)


def test_a_held_line_has_no_slopes():
    chart = Chart([Panel("", "y", [Line("", [1, 2, 3], [5.0, 5.0, 1.0], drawn="held")])])
    [line] = ElementTree.fromstring(chart_svg(chart, "t")).iter("polyline")
    at = np.array([[float(x) for x in p.split(",")] for p in line.get("points").split()])
    assert ((np.diff(at, axis=0) == 0).any(axis=1)).all()
    assert at[-2].tolist() == [at[-1][0], at[0][1]]  # the first value holds up to the last place
    [drawn] = chart.figure("t").axes[0].lines
    assert drawn.get_drawstyle() == "steps-post"


def test_few_marks_are_large_and_rings_and_dots_differ():
    few, many = (Line("", np.arange(n), np.arange(n), drawn="dots") for n in (5, 5000))
    assert few.size >= 6 > many.size
    rings = Line("before", [1, 2], [1, 2], drawn="rings")
    dots = Line("after", [1, 2], [1, 2], drawn="dots")
    svg = chart_svg(Chart([Panel("", "y", [rings, dots])]), "t")
    paths = [e.get("d") for e in ElementTree.fromstring(svg).iter("path")]
    assert sum("a3.5" in d for d in paths) == 2  # in the panel, and in the legend
    assert sum("h0" in d for d in paths) == 2
