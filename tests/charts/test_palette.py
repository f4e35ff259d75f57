"""Lines of many joints stay apart, and read on light and on dark paper."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from appell.charts.chart import Level, Line, Panel
from appell.charts.palette import THIRTY, style

PAPERS = ("#fdfdfe", "#14171b")


def linear(colour):
    x = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The ratio of WCAG 2, 1.4.11."""
    high, low = sorted(([0.2126, 0.7152, 0.0722] @ linear(c) for c in (one, other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def oklab(colour):
    """Björn Ottosson's perceptual coordinates."""
    m1 = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
          [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
    m2 = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
          [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip
    return np.array(m2) @ np.cbrt(np.array(m1) @ linear(colour))


@pytest.mark.parametrize("colour", THIRTY)
@pytest.mark.parametrize("paper", PAPERS)
def test_a_line_stands_out_from_its_paper(colour, paper):
    assert contrast(colour, paper) >= 3  # WCAG's least for graphics


def test_forty_lines_and_thirty_colours_stay_apart():
    styles = [style(k) for k in range(40)]
    assert len({tuple(s.values()) for s in styles}) == 40
    assert len(THIRTY) == 30
    for one, other in combinations(THIRTY, 2):
        assert np.linalg.norm(oklab(one) - oklab(other)) > 0.06  # 0.02 is just noticeable


def test_a_far_level_does_not_flatten_the_lines():
    line = Line("x", [0, 1], [1.0, 2.0])
    near, far = (Panel("", "y", [line], levels=[Level(y, "")]) for y in (2.5, 50.0))
    assert near.visible_range()[1] > 2.5
    assert far.visible_range()[1] < 2.1


def test_what_is_not_finite_or_not_positive_has_no_place():
    line = Line("x", range(4), [np.nan, -1.0, 1e-3, 10.0])
    low, high = Panel("", "y", [line], log="y").visible_range()
    assert 0 < low < 1e-3
    assert 10 < high < 100
    assert Panel("", "y", []).visible_range() == (0, 1)
