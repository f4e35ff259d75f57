"""Shafei's flight: by the paper's equations, from the paper's numbers, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.papers import shafei2018
from appell.papers.shafei2018 import (
    FORMULATION,
    IMPACTS,
    apart_table,
    differences,
    energy_table,
    flight,
    formulations_table,
    table_3,
    time_table,
    tree,
)

STARTS = pytest.mark.parametrize("start", shafei2018.STARTS)


def test_the_flight_is_by_the_papers_equations():
    assert FORMULATION == "gibbs_tree"
    assert flight().formulation == "gibbs_tree"
    assert flight("gibbs_lean").formulation == "gibbs_lean"


def test_the_tree_is_made_of_the_numbers_of_table_2():
    library = appell.load("ten_link_tree")
    np.testing.assert_array_equal(tree().parameters, library.parameters)
    q = [*shafei2018.ANGLES, 0.1, 0.2]
    np.testing.assert_array_equal(tree().mass_matrix(q), library.mass_matrix(q))


@STARTS
def test_table_3_comes_out_from_both_starts(start):
    assert table_3(start).failures == []


@STARTS
@pytest.mark.parametrize("k", range(len(IMPACTS)))
def test_other_points_than_those_that_strike_make_a_row_fail(start, k, monkeypatch):
    time, _, *values = IMPACTS[k]
    wrong = [*IMPACTS]
    wrong[k] = (time, ("O7",), *values)
    monkeypatch.setattr(shafei2018, "IMPACTS", tuple(wrong))
    assert [row.what for row in table_3(start).failures] == ["O7"]


def test_an_impact_that_is_not_there_makes_its_row_fail(monkeypatch):
    monkeypatch.setattr(shafei2018, "IMPACTS", (*IMPACTS, (1.45, ("O1",), 10.0, 1.0, 1.0)))
    (failed,) = table_3("made symmetric").failures
    assert np.isnan(failed.ours).all()


def test_the_page_says_that_the_digits_are_not_equal():
    table = table_3("made symmetric")
    assert "equal" not in table.rows[0].remark
    assert table.rows[0].remark == "within 0.001, 0.5, 0.5 %, 0.4 %"
    assert "These are not the paper's digits" in table.note
    apart = max(abs(row.ours[1] - row.paper[1]) for row in table.rows)
    assert f"angles by {apart:.2f} degrees" in table.note


def test_the_numbers_are_converged_and_those_of_the_default():
    assert formulations_table().failures == []
    assert all(0 <= x < 1e-6 for x in differences(flight("gibbs_lean")))
    assert np.isnan(differences(flight(start="as printed", gap=1e-6))).all()


def test_the_printed_start_leads_elsewhere_where_contacts_are_not_grouped():
    impacts, first = apart_table().rows
    assert (impacts.holds, first.holds) == (True, True)
    assert impacts.ours[0] > impacts.paper[0]


def test_energy_is_the_printed_one_and_stays():
    assert energy_table().failures == []


def test_cpu_time_is_information():
    table = time_table()
    assert not table.compared
    assert table.rows[0].ours[0] == "40 h"
    assert all(float(row.ours[0].removesuffix(" s")) >= 0 for row in table.rows[1:])
