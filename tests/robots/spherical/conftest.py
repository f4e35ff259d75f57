"""The Agile Wrist and thirteen of its states, away from singular ones."""

from __future__ import annotations

import numpy as np
import pytest

import appell


@pytest.fixture(scope="module")
def wrist():
    return appell.load("agile_wrist")


@pytest.fixture
def states(wrist):
    draw = np.random.default_rng(3)
    return np.stack([wrist.regular_states(13, draw), *draw.normal(size=(2, 13, 3))])
