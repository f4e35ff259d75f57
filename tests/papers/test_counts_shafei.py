"""Shafei's table of operations and its claims, beside the equations run with counting scalars."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from appell.compile.count import Operations, Tally
from appell.equations import gibbs_tensor, gibbs_tree, lagrange_recursive
from appell.model.model import Model
from appell.papers import shafei2018_branch, shafei2018_counts
from appell.papers.common.general import SIZES, polynomials, states
from appell.papers.shafei2018_branch import SLIDES, branch_model
from appell.papers.shafei2018_counts import (
    ALONE,
    CLAIMED,
    COMBINATION,
    GIBBS_APPELL,
    LAGRANGIAN,
    LONG,
    PRINTED,
    TO_THE_LETTER,
    counts,
    ranking,
)
from appell.show.rules import EQUAL

BOTH_WAYS = pytest.mark.parametrize("every", [True, False])


@BOTH_WAYS
def test_every_method_costs_a_polynomial_of_second_degree_as_the_paper_says(every):
    assert {len(count.coefficients) - 1 for of in PRINTED.values() for count in of} == {2}
    for of in counts(every).values():
        assert [len(count.coefficients) - 1 for count in of] == [2, 2]


def test_the_order_of_the_methods_is_the_paper_s():
    """At every number of links of Figure 12, and at that of Figure 13."""
    assert CLAIMED[0] == f"{GIBBS_APPELL} < {COMBINATION} < {LAGRANGIAN}"
    for n in SIZES:
        for of in (PRINTED, counts(True)):
            for c in (0, 1):
                assert of[GIBBS_APPELL][c](n) < of[COMBINATION][c](n) < of[LAGRANGIAN][c](n)
    assert ranking(True, SIZES) == CLAIMED


def holds_from(every: bool, longest: int = 100) -> int:
    """The number of links from which on the paper's order holds."""
    failing = [n for n in range(SIZES[0], longest) if ranking(every, [n]) != CLAIMED]
    return failing[-1] + 1 if failing else SIZES[0]


def test_where_zeros_are_free_the_order_holds_for_long_branches_only():
    first = holds_from(False)
    assert first == LONG
    assert ranking(False, [first]) == CLAIMED
    assert ranking(False, [first - 1]) != CLAIMED
    assert ranking(False, [4]) != CLAIMED
    assert holds_from(True) == SIZES[0]


def test_the_steps_to_the_letter_have_the_paper_s_leading_term_of_additions():
    _, additions = counts(True)[TO_THE_LETTER]
    _, printed = PRINTED[COMBINATION]
    assert additions.coefficients[2] == printed.coefficients[2] == 146
    # The paper does not print how it makes T''; its linear terms are near ours all the same.
    for ours, theirs in zip(counts(True)[TO_THE_LETTER], PRINTED[COMBINATION], strict=True):
        assert abs(ours.coefficients[1] / theirs.coefficients[1] - 1) < 0.02


@BOTH_WAYS
def test_what_no_later_step_uses_costs_the_difference_to_the_letter(every):
    """Steps 3 to 7 are the same in both."""
    n = 5
    lean, letter = (f(Tally(), n, every=every) for f in METHODS)
    assert letter[2:] == lean[1:]
    assert letter[0].multiplications > lean[0].multiplications


METHODS = shafei2018_branch.combination, shafei2018_branch.as_printed


@BOTH_WAYS
def test_one_kind_of_matrices_costs_less_than_both(every):
    for n in SIZES:
        for ours, both in zip(counts(every)[ALONE], counts(every)[COMBINATION], strict=True):
            assert ours(n) < both(n)


@BOTH_WAYS
def test_the_counts_hold_for_a_number_of_links_they_were_not_found_from(every):
    n = 12
    for name, run in (
        (LAGRANGIAN, shafei2018_branch.lagrangian),
        (COMBINATION, shafei2018_branch.combination),
        (TO_THE_LETTER, shafei2018_branch.as_printed),
        (ALONE, shafei2018_branch.alone),
    ):
        assert whole(run(Tally(), n, every=every)) == [x(n) for x in counts(every)[name]]
    assert whole(shafei2018_branch.gibbs_appell(Tally(), n)) == [
        x(n) for x in counts(every)[GIBBS_APPELL]
    ]


def whole(steps: list[Operations]) -> list[int]:
    return [sum(s.multiplications for s in steps), sum(s.additions for s in steps)]


def test_the_steps_counted_are_all_that_the_equations_take():
    """Of the Lagrangian, both equations place the bodies, and the count does so once."""
    n, tally = 4, Tally()
    model = branch_model(tally, n)
    q, v = states(tally, model.nv, 2)
    A = lagrange_recursive.links(model, q)
    links = taken(tally)
    W = lagrange_recursive.transformations(model, A)
    lagrange_recursive.own_derivatives(model, W, lagrange_recursive.derivatives(model, A))
    placing = taken(tally)
    lagrange_recursive.inverse_dynamics(model, q, v, [0] * model.nv)
    lagrange_recursive.mass_matrix(model, q)
    ours = taken(tally) - 2 * links - placing
    np.testing.assert_array_equal(
        whole(shafei2018_branch.lagrangian(Tally(), n, every=False)), ours
    )
    gibbs_tensor.bias(model, q, v)
    gibbs_tensor.mass_matrix(model, q)
    np.testing.assert_array_equal(whole(shafei2018_branch.gibbs_appell(Tally(), n)), taken(tally))


def taken(tally: Tally) -> np.ndarray:
    return np.array(whole([tally.taken()]))


def test_so_many_branches_cost_so_many_times_a_branch():
    """As the paper's factor n_b says: the branches share X1 and X2 only, which have no mass."""
    n, n_b = 3, 4
    tally = Tally()
    model = tree(tally, n, n_b)
    q, v = states(tally, model.nv, 2)
    branches = gibbs_tree.branches(model, q)
    tally.taken()
    assert len(branches) == n_b
    for branch in branches:
        place = gibbs_tree.placed(branch)
        gibbs_tree.inertia_matrix(branch, place)
        gibbs_tree.forces(model, branch, place, v, [0] * model.nv)
    one = np.array(whole(shafei2018_branch.combination(Tally(), n, every=False)))
    np.testing.assert_array_equal(taken(tally), n_b * one)


def tree(tally: Tally, n: int, n_b: int) -> Model:
    """So many branches of n bars on the same slides."""
    one = branch_model(tally, n)
    bodies = list(one.bodies)
    for m in range(1, n_b):
        for body in one.bodies[SLIDES:]:
            parent = body.parent + m * n if body.parent >= SLIDES else body.parent
            bodies.append(replace(body, parent=parent, coordinate=len(bodies)))
    return replace(one, bodies=tuple(bodies), joints=tuple(b.joint for b in bodies))


def test_the_right_hand_side_is_linear_and_the_inertia_matrix_quadratic():
    steps = polynomials(lambda tally, n: shafei2018_branch.combination(tally, n, every=True))
    assert [len(m.coefficients) - 1 for m, _ in steps] == [1, 1, 1, 1, 2, 2]


def test_the_tables_fail_nowhere_and_say_why_they_differ():
    tables = shafei2018_counts.tables()
    assert [row for table in tables for row in table.failures] == []
    for row in tables[0].rows:
        assert row.rule != EQUAL
        assert row.why
    assert any(row.rule == EQUAL for row in tables[-1].rows)


def test_the_figures_show_our_counts_and_the_paper_s_polynomials():
    over_links, over_branches = (picture.draw() for picture in shafei2018_counts.PICTURES)
    for figure, x, factor, n in ((over_links, 10, 4, 10), (over_branches, 10, 10, 4)):
        for c, axes in enumerate(figure.panels):
            lines = axes.lines
            assert len(lines) == 2 * len(PRINTED)
            for name, ours, printed in zip(PRINTED, lines[::2], lines[1::2], strict=True):
                assert (ours.x[-1], printed.x[-1]) == (x, x)
                assert ours.y[-1] == float(factor * counts(True)[name][c](n))
                assert printed.y[-1] == float(factor * PRINTED[name][c](n))
