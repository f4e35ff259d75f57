"""Valera's tables of operations come out of the equations that compute the torques."""

from __future__ import annotations

import pytest

from appell.compile.count import Polynomial, Tally
from appell.equations import gibbs_vector, gibbs_vector_paul
from appell.papers.common.general import general_links, states
from appell.papers.valera2003 import (
    PAULS,
    PROPOSED,
    algorithms_table,
    gibbs_appell,
    gibbs_appell_paul,
    luh_walker_paul,
    robot,
    steps_table,
)
from appell.show.rules import EQUAL


def test_every_step_of_table_2_is_exact():
    table = steps_table()
    assert len(table.rows) == 6
    assert all(row.rule == EQUAL for row in table.rows)
    assert table.failures == []


def test_the_printed_steps_add_up_to_the_printed_algorithm():
    for column in (0, 1):
        printed = (row.paper[column] for row in steps_table().rows)
        assert sum(printed, start=Polynomial.of(0)) == PROPOSED[column]


def test_the_paper_s_own_algorithms_of_table_3_are_exact():
    _, proposed, pauls = algorithms_table().rows
    for row in (proposed, pauls):
        assert row.rule == EQUAL
        assert row.holds
    assert [int(x) for x in proposed.ours[2:]] == [590, 430]
    assert [int(x) for x in pauls.ours[2:]] == [724, 511]


def test_the_newton_euler_algorithm_agrees_in_its_slopes():
    luh = algorithms_table().rows[0]
    assert luh.holds
    assert luh.rule != EQUAL
    assert luh.why
    for paper, ours in zip(luh.paper[:2], luh.ours[:2], strict=True):
        assert paper.coefficients[1] == ours.coefficients[1]


@pytest.mark.parametrize(
    ("steps", "printed"), [(gibbs_appell, PROPOSED), (gibbs_appell_paul, PAULS)]
)
def test_the_counts_hold_for_a_number_of_joints_they_were_not_found_from(steps, printed):
    n = 17
    taken = steps(Tally(), n)
    assert sum(step.multiplications for step in taken) == printed[0](n)
    assert sum(step.additions for step in taken) == printed[1](n)


@pytest.mark.parametrize("n", [3, 5])
def test_the_steps_counted_are_all_that_the_torques_take(n, monkeypatch):
    tally = Tally()
    gibbs_vector.inverse_dynamics(robot(tally, n), *states(tally, n))
    assert tally.taken() == total(gibbs_appell, n)
    monkeypatch.setattr(gibbs_vector_paul, "far_ends", lambda _: general_links(tally, n))
    gibbs_vector_paul.inverse_dynamics(robot(tally, n), *states(tally, n))
    assert tally.taken() == total(gibbs_appell_paul, n)


def total(steps, n):
    runs = steps(Tally(), n)
    return type(runs[0])(*map(sum, zip(*runs, strict=True)))


def test_the_newton_euler_algorithm_moves_as_the_paper_s_does():
    """Its first two steps are the same, so the two differ in the forces only."""
    assert luh_walker_paul(Tally(), 6)[:2] == gibbs_appell(Tally(), 6)[:2]
