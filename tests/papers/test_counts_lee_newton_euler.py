"""Lee's table of operations of the Newton-Euler equations comes out of them."""

from __future__ import annotations

import pytest

from appell.compile.count import Polynomial, Tally
from appell.papers.lee1982_newton_euler import (
    LEFT_OUT,
    PRINTED,
    TOTAL,
    newton_euler_table,
    steps,
)
from appell.show.rules import EQUAL


@pytest.fixture(scope="module")
def table():
    return newton_euler_table()


def test_every_row_of_the_paper_is_exact(table):
    assert [row.what for row in table.rows[: len(PRINTED)]] == [what for what, *_ in PRINTED]
    exact = [*table.rows[: len(PRINTED)], table.rows[-1]]
    assert all(row.rule == EQUAL and row.holds for row in exact)


def test_the_printed_rows_add_up_to_the_printed_total(table):
    for column in (0, 1):
        printed = (row[1 + column] for row in PRINTED)
        assert sum(printed, start=Polynomial.of(0)) == TOTAL[column]


def test_what_the_paper_leaves_out_is_shown_apart(table):
    rows = [row for row in table.rows if row.what in [what for what, *_ in LEFT_OUT]]
    assert len(rows) == len(LEFT_OUT)
    for row in rows:
        assert row.paper == (None, None)
        assert row.ours[0](6) > 0


def test_the_counts_hold_for_a_number_of_joints_they_were_not_found_from(table):
    n = 13
    counted = [(run.multiplications, run.additions) for run in steps(Tally(), n)]
    assert counted == [tuple(count(n) for count in row.ours) for row in table.rows[:-1]]
