"""Enclosures hold: over random boxes no value of a function is outside, for every operation."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from casadi import SX

from appell.compile.enclose import Unbounded, enclose

FUNCTIONS = {
    "sum and product": lambda a, b: a + b * a - 2 * b,
    "quotient": lambda a, b: a / b,
    "inverse square": lambda a, b: (a * a + b) ** -2,
    "sine and cosine": lambda a, b: casadi.sin(a * b) + casadi.cos(a),
    "tangent": lambda a, b: casadi.tan(a) - b,
    "distance": lambda a, b: casadi.sqrt(a * a + b * b),
    "angle": lambda a, b: casadi.atan2(a, b),
    "bell": lambda a, b: casadi.exp(-a * a) * casadi.tanh(b),
    "hyperbolic": lambda a, b: casadi.cosh(a) - casadi.sinh(b),
    "inverse functions": lambda a, b: casadi.atan(a) + casadi.asin(b / 10) - casadi.acos(a / 10),
    "logarithm and root": lambda a, b: casadi.log(a * a + 0.1) ** 1.5 + a**2.5,
    "whole powers": lambda a, b: a**3 / (1 + b**4),
    "powers that vary": lambda a, b: 2.0**a + (1 + b * b) ** a,
    "sign and size": lambda a, b: casadi.fabs(a) * casadi.sign(b),
}


def enclosed(function):
    m, r = SX.sym("m", 2), SX.sym("r", 2)
    return casadi.Function("e", [m, r], enclose(function, [m], [r]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_value_is_outside(name):
    draw = np.random.default_rng(0)
    x = SX.sym("x", 2)
    function = casadi.Function("f", [x], [FUNCTIONS[name](x[0], x[1])])
    bounds, known, tight = enclosed(function), 0, []
    for _ in range(300):
        middle, radius = draw.uniform(-3, 3, 2), 10 ** draw.uniform(-4, 0.5, 2)
        corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
        places = np.vstack([draw.uniform(-1, 1, (200, 2)), corners])
        y = np.array(function((middle + radius * places).T)).ravel()
        c, r = (float(z) for z in bounds(middle, radius))
        if not np.isfinite([c, r]).all():
            continue
        known += 1
        # Rounding is not part of the bounds: a few times that of the numbers it comes from.
        rounding = 1e-9 * (abs(c) + r)
        assert np.isfinite(y).all()
        assert (np.abs(y - c) <= r + rounding).all()
        if radius.max() < 1e-2 and np.ptp(y) > 1e-9:
            tight.append(2 * r / np.ptp(y))
    assert known > 50
    assert np.median(tight) < 3 or name == "sign and size"


def test_what_is_exact_stays_exact():
    x = SX.sym("x", 2)
    function = casadi.Function("f", [x], [casadi.vertcat(x[0] ** 2 + 1, 3)])
    c, r = enclosed(function)(np.array([2.0, 1.0]), np.zeros(2))
    np.testing.assert_array_equal(np.array(c).ravel(), [5, 3])
    np.testing.assert_array_equal(np.array(r).ravel(), [0, 0])


def test_what_has_no_bound_is_said():
    x = SX.sym("x", 2)
    with pytest.raises(Unbounded):
        enclosed(casadi.Function("f", [x], [casadi.erf(x[0])]))
