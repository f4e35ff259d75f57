"""The PUMA and thirteen of its states."""

from __future__ import annotations

import numpy as np
import pytest

import appell


@pytest.fixture(scope="module")
def robot():
    return appell.load("puma560")


@pytest.fixture
def states():
    return np.random.default_rng(3).uniform(-2, 2, (3, 13, 6))
