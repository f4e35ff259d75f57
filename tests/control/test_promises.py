"""What each law promises, kept by a simulated arm."""

from __future__ import annotations

import numpy as np
import pytest
from moves import GOAL, LEE, PUMA_WAVE, START, Wave, bars

import appell
from appell.control import (
    Adaptive,
    CartesianImpedance,
    ComputedTorque,
    Feedforward,
    Friction,
    JointImpedance,
    PDGravity,
    PointToPoint,
    SlidingMode,
    Tracking,
    TrackingIntegral,
    track,
)
from appell.control.laws.cartesian_impedance import displacement
from appell.control.trajectories.joint_space import quintic

PUMA = appell.load("puma560")
LOADED = PUMA.with_payload(2.0, (0, 0, 0.05), (0.01, 0.01, 0.01))


# Inverse dynamics


@pytest.mark.parametrize("kind", [ComputedTorque, Tracking])
def test_with_the_exact_model_errors_obey_the_designed_equation(kind):
    """e'' + kd e' + kp e = 0, Lee 1982, 4.3: the poles are those of the gains, coupled or not."""
    rng = np.random.default_rng(0)
    kp = np.diag([100.0, 90.0, 80.0, 70.0, 60.0, 50.0])
    kp[0, 1] = kp[1, 0] = 20.0
    kd = np.linspace(10, 20, 6)
    for q, v, qd, vd, ad in rng.normal(size=(5, 5, 6)):
        tau, _ = kind(PUMA, kp, kd)(q, v, qd, vd, ad)
        a = PUMA.forward_dynamics(q, v, tau)
        np.testing.assert_allclose(a, ad + kd * (vd - v) + kp @ (qd - q), atol=1e-9)


def test_errors_decay_exponentially_at_the_designed_poles():
    """Both poles at -10/s: e = e0 (1 + 10 t) exp(-10 t). Sampling moves the poles in proportion
    to the period."""
    e0 = np.array([0.1, -0.08, 0.05, 0.1, -0.1, 0.2])
    worst = []
    for period in (2e-3, 1e-3):
        run = track(PUMA, ComputedTorque(PUMA), GOAL, until=1.0, q0=GOAL - e0, period=period)
        designed = e0 * ((1 + 10 * run.t) * np.exp(-10 * run.t))[:, None]
        worst.append(np.abs(run.error - designed).max() / 0.2)
    assert worst[1] < 3e-3
    assert worst[0] / worst[1] == pytest.approx(2, abs=0.1)


def test_point_to_point_rests_at_its_goal():
    run = track(PUMA, PointToPoint(PUMA), GOAL, until=3.0, q0=START)
    assert run.final_error < 1e-8
    assert np.abs(run.v[-1]).max() < 1e-7


def test_tracking_follows_what_point_to_point_lags_behind():
    lagging = track(PUMA, PointToPoint(PUMA), LEE)
    following = track(PUMA, Tracking(PUMA), LEE)
    assert lagging.max_error > 0.1
    assert following.max_error < 5e-4


# Integral action


def test_an_integral_removes_the_error_of_a_wrong_model():
    loaded = {"robot": LOADED, "trajectory": GOAL, "q0": START, "until": 8.0}
    plain = track(law=Tracking(PUMA), **loaded)
    integral = track(law=TrackingIntegral(PUMA), **loaded)
    assert plain.final_error > 0.01
    assert integral.final_error < 1e-7


def test_an_integral_removes_the_error_that_dry_friction_leaves():
    """A joint that sticks off its goal integrates until it breaks loose, and sticks again nearer:
    every stop is a fraction of the one before it, so that the error comes to nothing."""
    arm = bars(1)
    heavy = arm.with_payload(0.5, (0.8, 0, 0))
    rubs = Friction(viscous=0.1, coulomb=0.5)
    goal = {"trajectory": [0.7], "q0": [0.0], "until": 20.0, "friction": rubs}
    plain = track(heavy, Tracking(arm), **goal)
    assert plain.final_error > 0.05
    run = track(heavy, TrackingIntegral(arm, kp=100, kd=20, ki=400), **goal)
    stops = np.flatnonzero((run.v[1:, 0] == 0) & (run.v[:-1, 0] != 0)) + 1
    at_stops = np.abs(run.error[stops, 0])
    assert len(stops) >= 5
    assert (at_stops[1:] < 0.5 * at_stops[:-1]).all()
    assert run.final_error < 5e-4


def test_stiction_above_coulomb_friction_makes_an_integral_hunt():
    """The known price of integral action: the joint jumps over its goal for ever."""
    arm = bars(1)
    rubs = Friction(viscous=0.1, coulomb=0.5, stiction=0.75)
    law = TrackingIntegral(arm, kp=100, kd=20, ki=400)
    run = track(arm, law, [0.7], q0=[0.0], until=20.0, friction=rubs)
    stops = np.flatnonzero((run.v[1:, 0] == 0) & (run.v[:-1, 0] != 0)) + 1
    late = run.error[stops[-4:], 0]
    assert (late[1:] * late[:-1] < 0).all()
    assert np.abs(late).min() > 0.5 * np.abs(late).max() > 1e-3


def test_an_integral_does_not_wind_up_at_the_torques_limit():
    limit = np.array([60.0, 80.0, 50.0, 10.0, 10.0, 3.0])
    step = {"trajectory": GOAL, "q0": START, "until": 5.0}
    wound = track(PUMA, TrackingIntegral(PUMA), torque_limit=limit, **step)
    kept = track(PUMA, TrackingIntegral(PUMA, limit=limit), torque_limit=limit, **step)
    assert (np.abs(kept.commanded) <= limit * (1 + 1e-12)).all()
    assert np.abs(kept.commanded / limit).max() > 0.999999
    over = [(np.sign(START - GOAL) * run.error).max() for run in (kept, wound)]
    assert over[0] < 1.0 < 10.0 < over[1]
    assert kept.final_error < 1e-3
    assert wound.final_error > 1.0


# Laws of single joints


@pytest.mark.parametrize("kind", [PDGravity, Feedforward])
def test_pd_reaches_a_set_point(kind):
    run = track(PUMA, kind(PUMA), GOAL, q0=START, until=4.0)
    assert run.final_error < 1e-6


def test_feedforward_follows_better_than_pd():
    pd, fed = (track(PUMA, kind(PUMA), LEE) for kind in (PDGravity, Feedforward))
    assert fed.max_error < 1e-3
    assert pd.max_error > 10 * fed.max_error


# On the sliding surface


def test_the_adaptive_law_is_passive():
    """V' = -s^T kd s with V = (s^T M s + (p - p*)^T gamma^-1 (p - p*)) / 2, whatever p is."""
    rng = np.random.default_rng(4)
    law = Adaptive(PUMA, rate=4.0, kd=rng.uniform(1, 5, 6), gamma=rng.uniform(0.1, 2, 60))
    for q, v, qd, vd, ad in rng.normal(size=(5, 5, 6)):
        p = law.initial + rng.normal(size=60)
        tau, after = law(q, v, qd, vd, ad, p)
        e, de = qd - q, vd - v
        s, v_r, a_r = de + 4 * e, vd + 4 * e, ad + 4 * de
        M, C = LOADED.mass_matrix(q), LOADED.coriolis_matrix(q, v)
        power = s @ (M @ a_r + C @ v_r + LOADED.gravity(q) - tau)
        learning = (p - LOADED.parameters) @ ((after - p) / 0.01 / law.gamma)
        assert power + learning == pytest.approx(-s @ (law.kd * s), rel=1e-8)


def test_the_adaptive_law_learns_a_load():
    """Errors come to nothing, and V falls, where computed torque keeps its error."""
    law = Adaptive(PUMA)
    run = track(LOADED, law, PUMA_WAVE, period=0.002, until=8.0)
    fixed = track(LOADED, ComputedTorque(PUMA), PUMA_WAVE, until=8.0)
    early, late = (np.abs(run.error[part]).max() for part in (run.t < 2, run.t > 6))
    assert late < 0.2 * early
    assert late < 0.05 * np.abs(fixed.error[fixed.t > 6]).max()
    _, vd, _ = PUMA_WAVE(run.t)
    s = vd - run.v + law.rate * run.error
    kinetic = 0.5 * np.einsum("ki,kij,kj->k", s, LOADED.mass_matrix(run.q), s)
    V = kinetic + 0.5 * ((run.state - LOADED.parameters) ** 2 / law.gamma).sum(axis=1)
    assert np.diff(V).max() < 1e-4 * V[0]  # a hold of 2 ms lets it rise a little
    assert V[-1] < 0.95 * V[0]


def test_sliding_mode_bounds_the_error_of_a_wrong_model():
    """Within layer / rate, where k exceeds what the model lacks on the way."""
    t = np.linspace(0, 6, 1000)
    lack = np.abs(LOADED.inverse_dynamics(*PUMA_WAVE(t)) - PUMA.inverse_dynamics(*PUMA_WAVE(t)))
    assert lack.max() > 10
    for layer in (0.05, 0.2):
        law = SlidingMode(PUMA, rate=10.0, k=1.3 * lack.max(axis=0) + 0.05, layer=layer)
        start = PUMA_WAVE(0.0)[0] + 0.02
        run = track(LOADED, law, PUMA_WAVE, until=6.0, period=0.002, q0=start)
        late = np.abs(run.error[run.t > 1.5])
        assert late.max() < layer / 10
        assert late.max() > 0.5 * layer / 10  # the bound is not idle


# Impedance


def test_joint_impedance_is_the_stiffness_asked_for():
    stiffness = np.array([500.0, 500.0, 300.0, 50.0, 50.0, 20.0])
    push = np.array([5.0, -10.0, 6.0, 1.0, -1.0, 0.5])
    law = JointImpedance(PUMA, stiffness)
    run = track(PUMA, law, GOAL, until=6.0, external=push, period=0.005)
    np.testing.assert_allclose(-run.error[-1], push / stiffness, rtol=1e-6)


def test_cartesian_impedance_is_the_stiffness_asked_for():
    stiffness = np.array([2000.0, 2000.0, 1500.0, 20.0, 30.0, 25.0])
    wrench = np.array([10.0, -5.0, 8.0, 0.3, 0.2, -0.1])
    law = CartesianImpedance(PUMA, stiffness, [200.0] * 3 + [1.5] * 3)

    def push(t, q, v):
        return PUMA.jacobian(q).T @ wrench

    run = track(PUMA, law, GOAL, until=6.0, external=push, period=0.005)
    poses = PUMA.forward_kinematics(np.array([run.q[-1], GOAL])).tolist()
    np.testing.assert_allclose(displacement(*poses), wrench / stiffness, rtol=1e-4)


def test_impedance_follows_a_motion():
    law = JointImpedance(PUMA, 100 * np.diagonal(PUMA.mass_matrix(np.zeros(6))))
    assert track(PUMA, law, LEE).max_error < 1e-3


# Lee's claim


def test_a_quintic_of_two_seconds_is_followed_within_a_bit_of_12():
    run = track(PUMA, ComputedTorque(PUMA, kp=100, kd=20), quintic(START, GOAL, 2.0), period=0.01)
    assert 3e-4 < run.max_error < 4.26e-4


def test_the_error_of_a_hold_grows_with_the_period():
    slow, fast = (track(PUMA, ComputedTorque(PUMA), LEE, period=x).max_error for x in (0.02, 0.005))
    assert slow / fast == pytest.approx(4, rel=0.1)


def test_a_wave_of_one_joint_is_followed():
    wave = Wave([0.2], [0.5], [2.0], duration=4.0)
    arm = bars(1)
    assert track(arm, ComputedTorque(arm), wave, period=0.001).max_error < 2e-3
