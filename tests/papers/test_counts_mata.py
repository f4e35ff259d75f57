"""Mata's tables of operations come out of the equations that compute the dynamics."""

from __future__ import annotations

import numpy as np
import pytest

from appell.compile.count import Polynomial, Tally
from appell.equations import gibbs_tensor
from appell.papers import mata2002_counts
from appell.papers.common.general import SIZES, general_chain, states
from appell.papers.mata2002_counts import (
    BIAS,
    DECOMPOSITION,
    MATRIX,
    PRINTED_4_1,
    PRINTED_4_2,
    joint_steps,
    matrix,
    matrix_steps,
    system_steps,
    whole,
)
from appell.show.document import Table
from appell.show.rules import EQUAL


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return {table.title.partition(":")[0]: table for table in mata2002_counts.tables()}


def exact(table: Table) -> list[str]:
    return [row.what for row in table.rows if row.rule == EQUAL]


def test_every_row_that_must_come_out_does(tables):
    assert [table.failures for table in tables.values()] == [[]] * 7
    assert len(exact(tables["Section 4.1"])) == 11
    assert len(exact(tables["Section 4.2"])) == 6
    assert exact(tables["Table 1"]) == []
    assert exact(tables["Table 2"]) == ["this work"]
    assert exact(tables["Table 3"]) == ["D", "Cholesky's decomposition", "solution of the system"]
    assert exact(tables["Table 4"]) == []


def test_the_papers_own_number_added_to_ours_is_no_evidence(tables):
    sums = tables["Tables 3 and 4"]
    assert not sums.compared
    assert [str(x) for x in sums.rows[0].ours[2:]] == ["1042", "905"]


def test_rows_that_do_not_come_out_say_why(tables):
    for table in tables.values():
        assert all(row.why for row in table.rows if row.rule != EQUAL)


def test_the_printed_costs_of_steps_add_up_to_the_printed_polynomials():
    assert np.sum(PRINTED_4_1, axis=0).tolist() == [96, 84]
    for n in SIZES:
        steps = [printed(n) for printed in PRINTED_4_2.values()]
        assert np.sum(steps, axis=0).tolist() == [p(n) for p in MATRIX]


def test_the_printed_parts_of_table_3_add_up_to_its_totals(tables):
    solution = Polynomial.of(1, 0, 0), Polynomial.of(1, -1, 0)
    total = next(row for row in tables["Table 3"].rows if row.what == "total")
    for k in (0, 1):
        added = MATRIX[k] + BIAS[k] + DECOMPOSITION + solution[k]
        assert [added, added(6)] == list(total.paper[k::2])


def test_the_counts_hold_for_a_number_of_joints_they_were_not_found_from():
    n = 13
    taken = matrix_steps(Tally(), n)
    assert sum(x.multiplications for x in taken) == matrix()[0](n)
    assert sum(x.additions for x in taken) == matrix()[1](n)
    taken = system_steps(Tally(), n)
    assert taken[0].multiplications == taken[0].additions == DECOMPOSITION(n)


def test_the_steps_of_a_joint_are_all_that_a_joint_more_takes():
    """Counted apart, and as what the whole equation grows by."""
    steps = [taken for _, taken in joint_steps(Tally())]
    products, sums = whole(gibbs_tensor.inverse_dynamics, 3)
    assert products(9) - products(8) == sum(step.multiplications for step in steps)
    assert sums(9) - sums(8) == sum(step.additions for step in steps)


def test_the_steps_of_the_matrix_are_all_that_it_takes():
    """With step 1 and the elements of the rotation matrices, they cost what the whole costs."""
    n, tally = 6, Tally()
    of_steps = np.sum([list(taken) for taken in matrix_steps(Tally(), n)], axis=0)
    model = general_chain(tally, n, parameter=tally.variable)
    (q,) = states(tally, n, 1)
    R = [body.rotation(q[i]) for i, body in model.outwards()]
    s = [body.offset(q[i]) for i, body in model.outwards()]
    gibbs_tensor.third_rows(R)
    gibbs_tensor.composed(model, s)
    before = np.array(tally.taken())
    gibbs_tensor.mass_matrix(model, q)
    np.testing.assert_array_equal(of_steps + before, tally.taken())


def test_a_costlier_step_would_be_noticed(monkeypatch):
    plain = gibbs_tensor.first_moments

    def costlier(model, R, gamma):
        return plain(model, R, [x * 2 for x in gamma])

    monkeypatch.setattr(gibbs_tensor, "first_moments", costlier)
    titles = [t.title.partition(":")[0] for t in mata2002_counts.tables() if t.failures]
    assert titles == ["Section 4.2", "Table 2", "Table 3", "Table 4"]


def test_the_document_holds_all_tables(reproduced):
    document = reproduced("mata2002")
    titles = {table.title.partition(":")[0] for table in document.tables}
    assert {f"Table {k}" for k in range(1, 8)} <= titles
    assert document.pictures
    assert document.failures == []
