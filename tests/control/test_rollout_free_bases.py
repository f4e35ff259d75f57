"""What acts on the joints of a robot in free flight leaves its momentum alone."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.control import Noise, PDGravity


@pytest.fixture(scope="module")
def chain():
    return appell.load("free_chain", n=2)


@pytest.mark.parametrize("how", [{"delay": 5}, {"noise": Noise(tau=1.0)}])
def test_neither_delay_nor_noise_pushes_a_free_base(chain, how):
    falling = appell.rollout(chain, steps=5, dt=1e-2, runs=2)
    found = appell.rollout(chain, steps=5, dt=1e-2, runs=2, every=1, **how)
    assert not found.path["tau"][..., :6].any()
    momenta = [chain.momentum(x.q, x.v) for x in (falling, found)]
    # Steps of order four change it by their own error; gravity by 5 N s.
    assert momenta[1] == pytest.approx(momenta[0], abs=1e-6)


def test_torques_wait_for_a_law_alone(chain):
    """Those that hold the law's robot still; without a law nothing has been asked for yet."""
    arm = appell.load("planar_chain", n=2)
    law = PDGravity(arm)
    how = {"steps": 3, "delay": 2, "every": 1}
    held = appell.rollout(arm, law, [0.1, 0.2], [0.1, 0.2], **how).path["tau"][0, 1:3]
    assert held == pytest.approx(np.tile(arm.gravity([0.1, 0.2]), (2, 1)))
    free = appell.rollout(arm, q0=[0.1, 0.2], tau=[1.0, 2.0], **how).path["tau"][0, 1:]
    assert free.tolist() == [[0, 0], [0, 0], [1, 2]]
