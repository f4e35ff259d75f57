"""Solo12, uncompiled, for tests of contacts."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
from batches import AsWritten

import appell

CLOSE = 1e-9  # relative: rounding, and the condition of M, up to 1e5
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")


@cache
def solo():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AsWritten(appell.load("solo12", base="free", physical=False).model)


def standing(robot):
    """Solo12 on four bent legs, its feet at one height."""
    q = robot.neutral()
    q[7:] = np.tile([0.0, 0.7, -1.4], 4)
    return q


def close(found, expected, bound=CLOSE):
    size = max(1.0, np.abs(expected).max(initial=0.0))
    assert np.abs(found - expected).max(initial=0.0) < bound * size
