"""The stepper: SciPy's steps from the same tableaux, a new method as data, fixed steps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate

import appell
from appell.control import ComputedTorque, Friction, quintic, track
from appell.errors import InputError
from appell.maths.tableau import RK4, fixed_step
from appell.simulation import Tableau
from appell.simulation.flow import flow
from appell.simulation.path import NODES
from appell.simulation.stepper import Failed, steps

PUMA = appell.load("puma560")
START = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])

# Cash and Karp 1990: a method that nothing in Appell knows of.
CASH_KARP = Tableau(
    "Cash-Karp 5(4)",
    c=(1 / 5, 3 / 10, 3 / 5, 1, 7 / 8),
    a=(
        (1 / 5,),
        (3 / 40, 9 / 40),
        (3 / 10, -9 / 10, 6 / 5),
        (-11 / 54, 5 / 2, -70 / 27, 35 / 27),
        (1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096),
    ),
    b=(37 / 378, 0, 250 / 621, 125 / 594, 0, 512 / 1771),
    errors=[
        (
            37 / 378 - 2825 / 27648, 0, 250 / 621 - 18575 / 48384, 125 / 594 - 13525 / 55296,
            -277 / 14336, 512 / 1771 - 1 / 4, 0,
        )
    ],
    order=4,
)  # fmt: skip


def falling(t, y):
    return flow(PUMA)(y[:6], y[6:], np.zeros(6))


def taken(method, until=1.0, **accuracy):
    """All steps of a falling PUMA."""
    stepper = steps(method, falling, 0.0, np.append(START, np.zeros(6)), until, **accuracy)
    pieces = []
    while stepper.t < until:
        stepper.step()
        pieces.append(stepper.piece())
    return pieces


@pytest.mark.parametrize("name", ["DOP853", "RK45", "RK23"])
def test_explicit_methods_take_the_steps_of_scipys(name):
    """The same sums in the same order: equal bits where BLAS adds alike, and rounding elsewhere."""
    accuracy = {"rtol": 3e-13, "atol": 1e-13} if name == "DOP853" else {"rtol": 1e-7, "atol": 1e-8}
    ours = taken(name, **accuracy)
    solver = getattr(scipy.integrate, name)(
        falling, 0.0, np.append(START, np.zeros(6)), 1.0, **accuracy
    )
    for piece in ours:
        solver.step()
        assert piece.full == pytest.approx(solver.t, rel=1e-6)
        np.testing.assert_allclose(piece.y[-1], solver.y, atol=1e-9)
        inside = solver.dense_output()(piece.start + (solver.t - piece.start) * NODES).T
        np.testing.assert_allclose(piece.y, inside, atol=1e-5 if name == "RK23" else 1e-6)
    assert solver.status == "finished"


def test_a_method_starts_as_scipys_does():
    accuracy = {"rtol": 3e-13, "atol": 1e-13}
    (first, *_), y = taken("DOP853", **accuracy), np.append(START, np.zeros(6))
    solver = scipy.integrate.DOP853(falling, 0.0, y, 1.0, **accuracy)
    solver.step()
    assert first.full == pytest.approx(solver.t, rel=1e-12)
    np.testing.assert_allclose(first.y[-1], solver.y, rtol=1e-14, atol=1e-15)
    inside = solver.dense_output()(solver.t * NODES).T
    np.testing.assert_allclose(first.y, inside, rtol=1e-14, atol=1e-15)


# A new method is a tableau


def test_a_new_tableau_moves_any_robot():
    """Trees, closed robots and closed loops, with events and dry friction: method= takes it."""
    accuracy = {"rtol": 1e-10, "atol": 1e-11}
    floor = {"walls": appell.walls.Plane((0, 0, 1), -0.5), "restitution": 0.5, "until": 1.0}
    new = appell.simulate(PUMA, START, **floor, method=CASH_KARP, **accuracy)
    old = appell.simulate(PUMA, START, **floor)
    assert len(new.t) > len(old.t)
    np.testing.assert_allclose(new.q[-1], old.q[-1], atol=1e-6)

    four_bar = appell.load("four_bar")
    q = four_bar.assemble(fixed={"crank": 1.0})
    new = appell.simulate(four_bar, q, [1.0], until=0.5, method=CASH_KARP, **accuracy)
    old = appell.simulate(four_bar, q, [1.0], until=0.5)
    np.testing.assert_allclose(new.q[-1], old.q[-1], atol=1e-8)
    assert new.opening.max() < 1e-10

    law, rubs = ComputedTorque(PUMA), Friction(1.0, [6, 6, 4, 1, 1, 0.1])
    motion = quintic(START, START + 0.3, 0.5)
    new = track(PUMA, law, motion, friction=rubs, method=CASH_KARP)
    old = track(PUMA, law, motion, friction=rubs)
    assert not np.array_equal(new.q, old.q)
    np.testing.assert_allclose(new.q, old.q, atol=1e-8)


@pytest.mark.parametrize(("method", "order"), [(CASH_KARP, 5), (RK4, 4)])
def test_the_error_falls_with_the_order(method, order):
    """Of fixed steps: 2^order less with half their length."""
    fixed = Tableau("fixed", method.c, method.a, method.b)

    def end(h):
        return appell.simulate(PUMA, START, until=0.4, method=fixed, max_step=h).q[-1]

    exact = appell.simulate(PUMA, START, until=0.4).q[-1]
    coarse, fine = (np.abs(end(h) - exact).max() for h in (0.02, 0.01))
    assert 0.7 * 2**order < coarse / fine < 1.4 * 2**order


def test_without_an_estimate_steps_have_one_length():
    run = appell.simulate(PUMA, START, until=0.1, method="RK4", max_step=0.01)
    np.testing.assert_allclose(np.diff(run.t), 0.01, rtol=1e-9)
    with pytest.raises(InputError, match="steps of one length; give it as max_step"):
        appell.simulate(PUMA, START, until=0.1, method="RK4")
    # Inside a step, the cubic polynomial between its ends.
    fine = appell.simulate(PUMA, START, until=0.1)
    np.testing.assert_allclose(run(0.055)[0], fine(0.055)[0], atol=1e-6)


def test_a_step_over_any_scalar():
    import sympy

    h = sympy.Symbol("h")
    (series,) = fixed_step(RK4, lambda t, y: y, [sympy.Integer(1)], h)
    expected = 1 + h + h**2 / 2 + h**3 / 6 + h**4 / 24
    for power in range(5):
        found = sympy.Poly(sympy.expand(series), h).coeff_monomial(h**power)
        assert float(found) == pytest.approx(float(expected.coeff(h, power)), rel=1e-15)
    (number,) = fixed_step(RK4, lambda t, y: [t * y[0]], [1.0], 0.1)
    (batch,) = fixed_step(RK4, lambda t, y: [t * y[0]], [np.ones((3, 2))], 0.1)
    np.testing.assert_array_equal(batch, np.full((3, 2), number))
    assert number == pytest.approx(np.exp(0.005), rel=1e-9)


def test_a_motion_without_end_fails():
    stepper = steps("DOP853", lambda t, y: y * y, 0.0, np.ones(1), 2.0, rtol=1e-9, atol=1e-9)

    def to_the_end():
        while stepper.t < 2.0:
            stepper.step()

    with pytest.raises(Failed, match="too short"):
        to_the_end()
    assert stepper.t == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"b": (0.5, 0.4)}, r"'two': the weights b add up to 0\.9; expected 1"),
        ({"c": (0.5, 1.0)}, "2 times in c and 1 rows of a, where b has 2 weights; expected 1"),
        ({"a": ((0.25,),)}, r"row 1 of a has 1 weights that add up to 0\.25; expected 1 at most"),
        ({"errors": [(1.0, -1.0)], "order": 1}, "expected one row or two of 3 weights"),
        ({"errors": [(0.5, -0.5, 0.0)]}, "of order 0"),
        ({"more_c": (0.5,), "more_a": ((0.1, 0.1, 0.1, 0.2),)}, "that come after its own"),
    ],
)
def test_a_tableau_that_is_none_is_refused(change, words):
    midpoint = {"c": (0.5,), "a": ((0.5,),), "b": (0.0, 1.0)}
    Tableau("two", **midpoint)
    with pytest.raises(InputError, match=words):
        Tableau("two", **{**midpoint, **change})


def test_methods_that_are_not_known_are_refused():
    with pytest.raises(InputError, match="method = 'Euler'; expected one of DOP853"):
        track(PUMA, ComputedTorque(PUMA), START, until=0.1, method="Euler")
    with pytest.raises(InputError, match="method = 'Radau'; expected one of DOP853"):
        track(PUMA, ComputedTorque(PUMA), START, until=0.1, method="Radau")
    with pytest.raises(InputError, match="float64 has no more digits"):
        appell.simulate(PUMA, START, until=0.1, rtol=1e-15)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy tells of the overflow besides
def test_a_start_whose_rates_overflow_ends_with_its_reason():
    arm, v0 = appell.load("planar_chain", n=2), [1e160, 1e160]  # no float64 has their squares
    run = appell.simulate(arm, arm.neutral(), v0, until=0.1, stops=False, max_impacts=10**400)
    assert "cannot go on" in run.stopped
