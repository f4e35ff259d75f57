"""Valera's straight line and dynamic elements, by the paper's own equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from appell.papers import valera2003_line
from appell.papers.valera2003_line import DEFAULT, PAPER, PAULS, quantity, straight_line


def test_every_row_holds():
    for table in valera2003_line.tables():
        assert table.compared
        assert not table.failures


def test_four_configurations_are_feasible_and_one_of_them_is_shown():
    table = valera2003_line._configurations()
    feasible = [row.what for row in table.rows if row.ours[0] == "none"]
    assert feasible == ["left-up-flip", "left-down-noflip", "right-up-noflip", "right-down-flip"]
    assert str(straight_line().shown.branch) in feasible
    assert "PUMA 600" in table.note


@pytest.mark.parametrize("formulation", [PAPER, PAULS, DEFAULT])
def test_wrong_torques_make_every_row_fail(monkeypatch, formulation):
    """Off by a thousand millionth of the largest."""

    def wrong(name=PAPER):
        study = straight_line(name)
        if name != formulation:
            return study
        motions = {k: replace(m, tau=m.tau * (1 + 1e-9)) for k, m in study.motions.items()}
        return replace(study, motions=motions)

    monkeypatch.setattr(valera2003_line, "straight_line", wrong)
    assert len(valera2003_line._configurations().failures) == 8


@pytest.mark.parametrize("formulation", [PAPER, PAULS])
def test_wrong_dynamic_elements_make_every_row_fail(monkeypatch, formulation):
    """Off by a millionth."""
    monkeypatch.setattr(
        valera2003_line,
        "quantity",
        lambda name, f: quantity(name, f) * (1 + 1e-6 * (f == formulation)),
    )
    failed = [row.what for row in valera2003_line._dynamics().failures]
    assert len(failed) == 3


def test_the_papers_mass_matrix_is_symmetric_and_positive():
    M = quantity("mass_matrix", PAPER)
    np.testing.assert_array_equal(M, np.swapaxes(M, 1, 2))
    assert np.linalg.eigvalsh(M).min() > 0
