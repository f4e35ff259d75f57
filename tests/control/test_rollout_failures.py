"""Runs of a rollout that fail are flagged, and their results do not look good."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.control import PDGravity
from appell.errors import InputError

# One start of a five-bar that comes near a singular configuration between samples of 10 ms.
FIVE_BAR_Q = [2.52970163053045, -1.941285426478603, 0.5896572781753554, 1.9487469925741565]
FIVE_BAR_V = [3.6112983800005107, -1.753800899541627]


def slider(stiffness):
    """1 kg on a spring, without gravity."""
    b = appell.Builder("slider")
    b.link("base")
    b.link("a", appell.inertia.box(1.0, (0.1, 0.1, 0.1)))
    b.joint("j", "prismatic", "base", "a", axis="x", stiffness=stiffness)
    return b.robot().with_gravity([0, 0, 0])


@pytest.mark.parametrize(("dt", "substeps"), [(1e-3, 1), (1e-2, 10), (5e-2, 50)])
def test_a_singular_configuration_is_seen_in_every_substep(dt, substeps):
    five = appell.load("five_bar")
    q0 = five.assemble(FIVE_BAR_Q)
    found = appell.rollout(
        five, q0=q0, v0=FIVE_BAR_V, steps=round(0.5 / dt), dt=dt, substeps=substeps
    )
    assert found.failed[0]
    assert found.least_margin[0] < 0.02
    assert found.singular_at[0] == pytest.approx(0.285, abs=dt)


def test_a_step_does_not_jump_over_a_singular_configuration():
    """Without torques a run keeps its energy, or is flagged."""
    five, rng = appell.load("five_bar"), np.random.default_rng(0)
    starts = [five.integrate(five.neutral(), 0.05 * rng.normal(size=2)) for _ in range(20)]
    q0, v0 = np.repeat(starts, 10, axis=0), 2 * rng.normal(size=(200, 2))
    found = appell.rollout(five, q0=q0, v0=v0, steps=400, dt=5e-3, reduce="energy")
    good = ~found.failed
    start, end = found.energy[good].T
    assert good.any()
    assert not good.all()
    # 0.006 here, by the error of long steps near a singular configuration, which hangs on rounding;
    # 0.56 without the check of jumps.
    assert np.abs(end / start - 1).max() < 0.1


def test_regular_steps_of_a_closed_robot_are_not_flagged():
    four, rng = appell.load("four_bar"), np.random.default_rng(0)
    found = appell.rollout(four, v0=2 * rng.normal(size=(20, 1)), steps=200, dt=1e-2)
    assert not found.failed.any()


def test_a_spherical_robot_is_flagged_where_a_limb_is_stretched():
    wrist, v0 = appell.load("agile_wrist"), [0.0, 6.0, 0.0]
    run = appell.simulate(wrist, wrist.neutral(), v0, until=1.0)
    assert "stretched or folded" in run.stopped
    found = appell.rollout(wrist, v0=v0, steps=1000)
    # Steps of fixed length are flagged at a margin of 0.02, a simulation ends at 1e-4.
    assert found.singular_at[0] == pytest.approx(run.t[-1], abs=0.01)
    assert not appell.rollout(wrist, v0=v0, steps=300).failed[0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_implicit_step_that_does_not_converge_is_flagged(dtype):
    """Springs of 10, 1000 and 1500 rad/s in steps of 1 ms."""
    flags = []
    for rate in (10.0, 1000.0, 1500.0):
        how = {"q0": [1e-3], "steps": 1000, "integrator": "implicit_midpoint", "dtype": dtype}
        found = appell.rollout(slider(rate**2), reduce="energy", **how)
        flags.append(bool(found.failed[0]))
        assert np.isfinite(found.unsolved_at[0]) == flags[-1]
        if not flags[-1] and dtype == "float64":
            start, end = found.energy[0]
            assert end == pytest.approx(start, rel=1e-6)
    assert flags == [False, True, True]


def test_friction_that_an_implicit_step_cannot_follow_is_refused():
    robot = slider(0.0)
    with pytest.raises(InputError, match="expected less than 125/s for implicit_midpoint"):
        appell.rollout(robot, v0=[1.0], steps=1, integrator="implicit_midpoint", viscous=500.0)
    found = appell.rollout(robot, v0=[1.0], steps=1, integrator="implicit_midpoint", viscous=120.0)
    share = 120.0 * 1e-3 / 2
    assert not found.failed[0]
    assert found.v[0, 0] == pytest.approx((1 - share) / (1 + share), rel=1e-5)


@pytest.mark.parametrize("steps", range(18, 26))
def test_a_run_that_settles_at_the_last_sample_has_settled(steps):
    """(steps - 1) dt + dt is more than steps dt for some of these."""
    arm = appell.load("planar_chain", n=1)
    how = {"q0": [0.0], "v0": [1.0], "steps": steps, "dt": 1e-3}
    q = appell.rollout(arm, every=1, **how).path["q"][0, :, 0]
    within = float(abs(q[-1] - q[-2]) / 2)
    found = appell.rollout(
        arm, None, [float(q[-1])], reduce=["settling_time", "success"], tolerance=within, **how
    )
    assert found.settling_time[0] == pytest.approx(steps * 1e-3)
    assert found.success[0] == 1


def test_results_of_a_failed_run_do_not_look_good():
    arm = appell.load("planar_chain", n=2)
    names = ["settling_time", "success", "worst_error", "rms_error", "peak_speed", "effort",
             "final_error", "energy"]  # fmt: skip
    found = appell.rollout(
        arm, PDGravity(arm, kp=50, kd=10), [0.1, 0.2], [0.12, 0.2], [[0, 0], [1e200, 0]],
        steps=300, dt=1e-2, reduce=names, tolerance=0.5, cost=lambda t, q, v, tau, qd, vd: 1.0,
    )  # fmt: skip
    assert found.failed.tolist() == [False, True]
    assert found.settling_time[1] == np.inf
    assert found.success.tolist() == [1, 0]
    for name in (*names[2:], "cost"):
        assert np.isnan(getattr(found, name)[1]).all(), name
        assert np.isfinite(getattr(found, name)[0]).all(), name
