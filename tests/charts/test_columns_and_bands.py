"""Columns, bands and uneven error bars: the same in a page, as SVG and by Matplotlib."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from appell.charts.chart import Chart, Line, Panel
from appell.show.chart_svg import chart_svg
from appell.show.figure import chart_data

EDGES, COUNTS = np.array([0.0, 1.0, 2.0, 4.0]), np.array([3.0, np.nan, 5.0, 0.0])
COLUMNS = Line("columns", EDGES, COUNTS, drawn="steps")
BAND = Line("band", [0, 1, 2, 3], [2, np.nan, 4, 5], drawn="band", base=[1, 1, 2, 3], opacity=0.3)
BARS = Line("bars", [0, 1], [1.0, 2.0], drawn="dots", bars=[[0.5, 1.0], [0.1, 0.2]])


def panel(*lines, **options):
    return Panel("a <b> & $c", "y < z & 1", lines, x="x", **options)


def test_all_that_is_drawn_is_in_the_visible_range():
    low, high = panel(COLUMNS).visible_range()
    assert low <= 0 < 5 <= high
    low, high = panel(BAND).visible_range()
    assert low <= 1 < 5 <= high
    low, high = panel(BARS).visible_range()
    assert low <= 0.5 < 2.2 <= high


def test_even_error_bars_reach_as_far_down_as_up():
    line = Line("", [0, 1], [1.0, 2.0], bars=[0.5, 0.25])
    assert line.reach.tolist() == [[0.5, 0.25], [0.5, 0.25]]
    assert [x.tolist() for x in line.ends] == [[0.5, 1.75], [1.5, 2.25]]


def test_a_page_gets_bases_and_bars():
    columns, band, bars = chart_data(Chart([panel(COLUMNS, BAND, BARS)]))["panels"][0]["lines"]
    assert columns["drawn"] == "steps"
    assert columns["y"] == [3.0, None, 5.0, 0.0]
    assert band["base"] == [1, 1, 2, 3]
    assert bars["bars"] == [[0.5, 1.0], [0.1, 0.2]]


def test_columns_and_bands_are_never_thinned():
    edges = np.arange(5001.0)
    line = Line("", edges, edges, drawn="steps")
    assert len(chart_data(Chart([panel(line)]))["panels"][0]["lines"][0]["y"]) == 5001


@pytest.mark.parametrize("ticks", [(), ("one", "two & <three>", "a name of very many letters, 4")])
def test_svg_is_well_formed_with_gaps_where_nothing_is_known(ticks):
    svg = chart_svg(Chart([panel(COLUMNS, BAND, BARS, ticks=ticks)]), "title")
    root = ElementTree.fromstring(svg)
    fills = [e for e in root.iter() if e.get("d", "").endswith("Z")]
    assert len(fills) == 1
    assert fills[0].get("d").count("Z") == 2  # of three columns, one is not known
    areas = list(root.iter("polygon"))
    assert [len(e.get("points").split()) for e in areas] == [2, 4]
    assert "nan" not in svg


def test_matplotlib_draws_them_and_finds_no_formulas_in_names():
    figure = Chart([panel(COLUMNS, BAND), panel(BARS, ticks=["$a", "b$"])]).figure("test")
    figure.canvas.draw()
    first, second = figure.axes
    assert len(first.patches) == 1
    assert len(first.collections) == 1
    assert first.get_title() == r"a <b> & \$c"
    assert len(second.collections) == 1  # the error bars
