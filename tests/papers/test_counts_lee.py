"""Lee's tables of operations come out of the equations that compute the torques."""

from __future__ import annotations

import numpy as np
import pytest

from appell.compile.count import Polynomial, Tally
from appell.control.laws.computed_torque import commanded_acceleration
from appell.equations import lagrange_euler
from appell.maths.homogeneous import Matrix4
from appell.papers.common.general import general_chain
from appell.papers.lee1982 import claim
from appell.papers.lee1982_lagrange_euler import TOTAL, full, lagrange_euler_table, steps
from appell.show.document import Row, Table
from appell.show.rules import EQUAL


@pytest.fixture(scope="module")
def table():
    return lagrange_euler_table()


def test_every_row_of_the_lagrange_euler_table_is_exact(table):
    assert len(table.rows) == 10
    assert all(row.rule == EQUAL for row in table.rows)
    assert table.failures == []


def test_the_printed_rows_add_up_to_the_printed_total(table):
    *rows, total = table.rows
    for column in (0, 1):
        added = sum((row.paper[column] for row in rows), start=Polynomial.of(0))
        assert added == total.paper[column] == TOTAL[column]


def test_the_counts_hold_for_a_number_of_joints_they_were_not_found_from(table):
    n = 10
    counted = steps(Tally(), n)
    assert [run.multiplications for run in counted] == [row.ours[0](n) for row in table.rows[:-1]]
    assert [run.additions for run in counted] == [row.ours[1](n) for row in table.rows[:-1]]


def test_a_product_of_full_matrices_costs_all_its_elements():
    tally = Tally()
    A = lagrange_euler.links(general_chain(tally, 1), [tally.variable()])[0]
    tally.taken()
    _ = A @ A
    assert tally.taken().multiplications < 64  # by structure some are zero
    Full = full(tally)
    assert isinstance(Full(A.rows) @ A, Full)
    taken = tally.taken()
    assert (taken.multiplications, taken.additions) == (64, 48)


def test_the_steps_counted_are_all_that_the_torques_take(monkeypatch):
    """Counted without the paper's convention, the steps cost what the whole equation costs."""
    n, tally = 4, Tally()
    monkeypatch.setattr("appell.papers.lee1982_lagrange_euler.full", lambda tally: Matrix4)
    of_steps = np.sum([list(run) for run in steps(Tally(), n)], axis=0)
    model = general_chain(tally, n)
    q, v, q_d, v_d, a_d, kp, kv = ([tally.variable() for _ in range(n)] for _ in range(7))
    lagrange_euler.links(model, q)
    of_links = np.array(tally.taken())
    a = commanded_acceleration((q_d, v_d, a_d), q, v, kp, kv)
    lagrange_euler.inverse_dynamics(model, q, v, a)
    np.testing.assert_array_equal(of_steps, np.array(tally.taken()) - of_links)


def test_the_claim_of_a_hundred_times_is_computed_from_the_totals(table):
    total = Row("Total", TOTAL, [Polynomial.of(119, -24), Polynomial.of(107, -21)])
    ours = claim(table, Table("Table 2", ("multiplications", "additions"), [total]))
    assert ours.rows[0].ours == [102740, 78479]
    assert ours.rows[-1].ours == [148.9, 126.4]


def test_the_document_holds_both_tables_and_the_claim(reproduced):
    ours = reproduced("lee1982")
    assert [table.title.partition(":")[0] for table in ours.tables[:3]] == [
        "Table 1",
        "Table 2",
        "Section 5",
    ]
    assert ours.failures == []


def test_a_commanded_acceleration_removes_errors_of_position_and_velocity():
    desired = [1.0, 2.0], [0.1, 0.2], [3.0, 4.0]
    a = commanded_acceleration(desired, [0.9, 2.2], [0.0, 0.3], [100.0, 50.0], [20.0, 10.0])
    np.testing.assert_allclose(a, [3 + 2 + 10, 4 - 1 - 10], rtol=1e-12)
