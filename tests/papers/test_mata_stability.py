import numpy as np
import pytest

from appell.papers.mata2002_stability import (
    ARITHMETICS,
    MANY,
    METHODS,
    PICTURES,
    average,
    condition_numbers,
    configurations,
    double,
    eliminated,
    errors,
    gauss_jordan,
    largest,
    ranking,
    rounded,
    tables,
)
from appell.show.figure import svg_of
from appell.show.rules import EQUAL


def test_a_whole_turn_in_steps_of_two_degrees():
    q = configurations()
    assert q.shape == (180, 2)
    assert not q[:, 0].any()
    np.testing.assert_allclose(np.diff(np.rad2deg(q[:, 1])), 2.0)
    assert 0 < 360 - np.rad2deg(q[-1, 1]) < 2.001


@pytest.mark.parametrize("method", METHODS)
def test_methods_agree_in_double_precision(method):
    # The condition number, 5e4, times the rounding of a number near 492.
    q = configurations()
    np.testing.assert_allclose(double(method, q), double("ABA", q), rtol=1e-9, atol=0)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("method", METHODS)
def test_accelerations_were_computed_in_single_precision(method, arithmetic):
    q = configurations()
    single = ARITHMETICS[arithmetic](method, q)
    assert single.dtype == np.float32
    assert single.shape == (180, 2)
    assert 1e-7 < largest(double(method, q) - single) < 5


@pytest.mark.parametrize("joint", [0, 1])
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_aba_loses_least_and_crba_most(arithmetic, joint):
    assert ranking(arithmetic, average, joint) == "ABA < GA < CRBA"
    size = {method: average(e[:, joint]) for method, e in errors(arithmetic).items()}
    assert size["ABA"] < size["GA"] / 10


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_crba_errs_as_much_as_in_print(arithmetic):
    e = errors(arithmetic)["CRBA"][:, 0]
    assert 0.275063 / 2 < average(e) < 0.275063 * 2
    assert 1.2922 / 2 < largest(e) < 1.2922 * 2


def test_the_inertia_matrix_is_worst_with_the_bars_in_line():
    c = condition_numbers(configurations())
    assert c.shape == (180,)
    assert c.argmax() == 0
    assert c.max() > 1e4


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_the_order_is_not_the_chance_of_180_roundings(arithmetic):
    size = {method: average(e) for method, e in errors(arithmetic, MANY).items()}
    assert size["GA"] < 0.8 * size["CRBA"]
    assert ranking(arithmetic, average, steps=MANY) == "ABA < GA < CRBA"


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("degrees", [20, 50, 110])
def test_the_order_does_not_hang_on_the_first_bar(arithmetic, degrees):
    q = configurations().astype("float32").astype("float64")
    q[:, 0] = np.float32(np.deg2rad(degrees))
    single = ARITHMETICS[arithmetic]
    size = {method: average(double(method, q) - single(method, q)) for method in METHODS}
    assert size["ABA"] < size["GA"] < size["CRBA"]


def test_gauss_jordan_solves():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))
    M, b = A @ A.T + np.eye(4), rng.normal(size=4)
    np.testing.assert_allclose(gauss_jordan(M.tolist(), b.tolist()), np.linalg.solve(M, b))


@pytest.mark.parametrize("method", ["CRBA", "GA"])
def test_the_papers_solver_is_in_the_table(method):
    """It rounds otherwise than the other one, and no more."""
    q = configurations()
    by_elimination, by_factors = eliminated(method, q), rounded(method, q)
    assert 0 < largest(by_elimination - by_factors) < 5
    np.testing.assert_array_equal(eliminated("ABA", q), rounded("ABA", q))
    ours = tables()[0].rows[0].ours[list(METHODS).index(method)]
    assert ours == largest((double(method, q) - by_elimination)[:, 0])


def test_tables_hold_the_order_exactly():
    table_5, order, _ = tables()
    assert not table_5.failures
    assert not order.failures
    assert [row.rule == EQUAL for row in order.rows] == [True, True, False]
    assert all(len(row.ours) == len(table_5.columns) for row in table_5.rows)


def test_pictures_draw():
    for picture in PICTURES:
        assert "<svg" in svg_of(picture.draw(), picture.title)
