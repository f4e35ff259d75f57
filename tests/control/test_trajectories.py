"""Trajectories: derivatives, ends, limits, and what is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import appell
from appell.control import (
    Trajectory,
    cubic,
    jerk_limited,
    quintic,
    ramp,
    septic,
    spline,
    trapezoidal,
)

Q0, Q1 = np.array([0.0, 1.0, -1.0]), np.array([1.0, 0.5, 2.0])
POINTS = np.random.default_rng(0).normal(size=(5, 3))
TIMES = np.array([0.0, 1.0, 1.7, 2.5, 4.0])
SPEED, ACCELERATION, JERK = np.array([0.5, 1.0, 1.5]), np.array([3.0, 2.0, 2.5]), 10.0

MADE = {
    "ramp": ramp(Q0, Q1, 2.0),
    "cubic": cubic(Q0, Q1, 2.0),
    "cubic in motion": cubic(Q0, Q1, 2.0, v0=[1.0, 0.0, -1.0], v1=0.3),
    "quintic": quintic(Q0, Q1, 2.0),
    "quintic in motion": quintic(Q0, Q1, 2.0, v0=0.1, v1=[0.2, 0, 0], a0=1.0, a1=[0, 2.0, 0]),
    "septic": septic(Q0, Q1, 2.0),
    "septic in motion": septic(Q0, Q1, 2.0, v0=0.1, a1=1.0),
    "trapezoidal": trapezoidal(Q0, Q1, SPEED, ACCELERATION),
    "trapezoidal, short": trapezoidal(Q0, Q0 + 0.01, SPEED, ACCELERATION),
    "trapezoidal, slow": trapezoidal(Q0, Q1, SPEED, ACCELERATION, duration=10.0),
    "spline": spline(POINTS, TIMES),
    "natural spline": spline(POINTS, TIMES, ends="natural"),
    "smooth spline": spline(POINTS, TIMES, ends="not-a-knot"),
    "periodic spline": spline([*POINTS[:-1], POINTS[0]], TIMES, ends="periodic"),
    "jerk-limited": jerk_limited(Q0, Q1, SPEED, ACCELERATION, JERK),
    "jerk-limited in motion": jerk_limited(
        Q0, Q1, SPEED, ACCELERATION, JERK, v0=[0.2, 0.5, -0.3], v1=0.1, a0=0.4
    ),
    "braking first": jerk_limited(Q0, Q1, SPEED, ACCELERATION, JERK, v0=[0.9, 0.0, 0.0]),
    "joined": quintic(Q0, Q1, 2.0).then(quintic(Q1, POINTS[0], 1.5)).then(
        spline(POINTS, TIMES)
    ),
}  # fmt: skip
# Which are continuous, before and after the ends too.
SMOOTH = {
    "ramp": "qa", "cubic": "qv", "cubic in motion": "q", "quintic": "qva",
    "quintic in motion": "q", "septic": "qva", "septic in motion": "q", "trapezoidal": "qv",
    "trapezoidal, short": "qv", "trapezoidal, slow": "qv", "spline": "qv", "natural spline": "qa",
    "smooth spline": "q", "periodic spline": "q", "jerk-limited": "qva",
    "jerk-limited in motion": "q", "braking first": "qa", "joined": "qv",
}  # fmt: skip


@pytest.fixture(params=MADE)
def name(request):
    return request.param


@pytest.fixture
def trajectory(name) -> Trajectory:
    return MADE[name]


def inner(trajectory: Trajectory, n: int = 4001) -> np.ndarray:
    """Times within it, and not at its ends."""
    return np.linspace(0, trajectory.duration, n + 2)[1:-1]


def test_speeds_and_accelerations_are_derivatives(trajectory):
    t, h = inner(trajectory), 1e-6
    _, v, a = trajectory(t)
    before, after = trajectory(t - h), trajectory(t + h)
    # Differences err by h^2 and by roundings over h; where an acceleration or a jerk jumps
    # between the two times, by half of the jump times h, or by the jump itself.
    assert np.abs((after[0] - before[0]) / (2 * h) - v).max() < 1e-5
    wrong = np.abs((after[1] - before[1]) / (2 * h) - a).max(axis=-1) > 1e-4
    assert wrong.sum() <= 20


def test_what_is_promised_to_be_continuous_is(name, trajectory):
    t = np.linspace(-0.1, trajectory.duration + 0.1, 400_001)
    dt = t[1] - t[0]
    rate = 1000.0  # more than any derivative here, and less than a jump over dt
    steps = {k: np.abs(np.diff(x, axis=0)).max() for k, x in zip("qva", trajectory(t), strict=True)}
    assert "".join(k for k, step in steps.items() if step < rate * dt) == SMOOTH[name]


def test_it_stands_still_before_and_after(trajectory):
    end = trajectory.duration
    for t, q in ((-1.0, trajectory.start), (end + 1.0, trajectory.end), (np.inf, trajectory.end)):
        now = trajectory(t)
        np.testing.assert_array_equal(now[0], q)
        assert not now[1].any()
        assert not now[2].any()


def test_shapes_follow_the_times(trajectory):
    assert [x.shape for x in trajectory(0.5)] == [(3,)] * 3
    assert [x.shape for x in trajectory(np.zeros((2, 5)))] == [(2, 5, 3)] * 3
    t = inner(trajectory, 11)
    many = trajectory(t)
    for k, time in enumerate(t):
        for x, y in zip(trajectory(float(time)), many, strict=True):
            np.testing.assert_array_equal(x, y[k])


@pytest.mark.parametrize(
    ("trajectory", "v", "a"),
    [
        (MADE["cubic in motion"], ([1.0, 0.0, -1.0], [0.3] * 3), None),
        (MADE["quintic"], ([0] * 3, [0] * 3), ([0] * 3, [0] * 3)),
        (MADE["quintic in motion"], ([0.1] * 3, [0.2, 0, 0]), ([1.0] * 3, [0, 2.0, 0])),
        (MADE["septic"], ([0] * 3, [0] * 3), ([0] * 3, [0] * 3)),
        (MADE["septic in motion"], ([0.1] * 3, [0] * 3), ([0] * 3, [1.0] * 3)),
        (MADE["trapezoidal"], ([0] * 3, [0] * 3), None),
        (MADE["jerk-limited"], ([0] * 3, [0] * 3), ([0] * 3, [0] * 3)),
        (MADE["jerk-limited in motion"], ([0.2, 0.5, -0.3], [0.1] * 3), ([0.4] * 3, [0] * 3)),
    ],
)
def test_it_has_the_ends_that_were_asked_for(trajectory, v, a):
    for k, (t, q) in enumerate(((0.0, Q0), (trajectory.duration, Q1))):
        now = trajectory(t)
        np.testing.assert_allclose(now[0], q, atol=1e-12)
        np.testing.assert_allclose(now[1], v[k], atol=1e-11)
        if a is not None:
            np.testing.assert_allclose(now[2], a[k], atol=1e-10)


def test_a_septic_has_no_jerk_at_its_ends():
    t, h = MADE["septic"], 1e-5
    for at in (h, t.duration - 2 * h):
        jerk = (t(at + h)[2] - t(at)[2]) / h
        assert np.abs(jerk).max() < 0.02  # it grows by about 100 t
    jerk = (MADE["quintic"](2 * h)[2] - MADE["quintic"](h)[2]) / h
    assert np.abs(jerk).max() > 1


def test_known_values_of_a_quintic():
    """Half way 15/8 of the mean speed; the largest acceleration 10/sqrt(3) of way / time^2."""
    t = quintic(0.0, 1.0, 2.0)
    q, v, a = t(1.0)
    assert (q[0], v[0], a[0]) == pytest.approx((0.5, 15 / 16, 0.0))
    assert np.abs(t(inner(t, 100_001))[2]).max() == pytest.approx(10 / np.sqrt(3) / 4, rel=1e-8)


# Limits


def largest(trajectory: Trajectory, n: int = 100_001) -> list[np.ndarray]:
    t = inner(trajectory, n)
    _, v, a = trajectory(t)
    jerk = np.diff(a, axis=0) / (t[1] - t[0])
    return [np.abs(x).max(axis=0) for x in (v, a, jerk)]


@pytest.mark.parametrize("way", [1.0, 0.2, 0.01])
def test_a_trapezoid_is_as_fast_as_its_limits_let_it_be(way):
    t = trapezoidal(Q0, Q0 + way * (Q1 - Q0), SPEED, ACCELERATION)
    v, a, _ = largest(t)
    assert (v <= SPEED * (1 + 1e-12)).all()
    assert (a <= ACCELERATION * (1 + 1e-12)).all()
    assert max(a / ACCELERATION) == pytest.approx(1)
    q, v, a = t(inner(t))
    fastest = (np.abs(v) / SPEED).max(axis=-1) > 1 - 1e-9
    pressed = (np.abs(a) / ACCELERATION).max(axis=-1) > 1 - 1e-9
    assert (fastest | pressed).all()  # all the time one limit or the other
    middle = q - Q0 - ((q - Q0) @ (Q1 - Q0) / ((Q1 - Q0) @ (Q1 - Q0)))[:, None] * (Q1 - Q0)
    assert np.abs(middle).max() < 1e-14  # on the straight line


def test_a_trapezoid_of_a_given_duration():
    assert MADE["trapezoidal, slow"].duration == pytest.approx(10.0)
    with pytest.raises(appell.InputError, match=r"duration=1 s is too short; .* takes 2\.\d+ s"):
        trapezoidal(Q0, Q1, SPEED, ACCELERATION, duration=1.0)


def test_jerk_limited_motion_is_within_its_limits():
    t = MADE["jerk-limited"]
    v, a, jerk = largest(t)
    assert (v <= SPEED * (1 + 1e-9)).all()
    assert (a <= ACCELERATION * (1 + 1e-9)).all()
    assert (jerk <= JERK * (1 + 1e-6)).all()
    assert max(v / SPEED) == pytest.approx(1, rel=1e-6)
    assert jerk.max() == pytest.approx(JERK, rel=1e-6)


def test_jerk_limited_motion_of_one_joint_has_the_textbooks_duration():
    """Seven phases: way / speed + speed / acceleration + acceleration / jerk."""
    t = jerk_limited(0.0, 3.0, 1.0, 2.0, 10.0)
    assert t.duration == pytest.approx(3.0 / 1.0 + 1.0 / 2.0 + 2.0 / 10.0)


def test_a_motion_that_begins_too_fast_is_braked():
    t = MADE["braking first"]
    assert t(0.0)[1][0] == pytest.approx(0.9)
    assert np.abs(t(np.linspace(0.5, t.duration, 1000))[1][:, 0]).max() <= 0.5 + 1e-9
    np.testing.assert_allclose(t.end, Q1, atol=1e-12)


def test_a_ramp_has_constant_speed():
    t = ramp(Q0, Q1, speed=SPEED)
    _, v, _ = t(inner(t))
    assert np.ptp(v, axis=0).max() == 0
    assert max(np.abs(v[0]) / SPEED) == pytest.approx(1)


# Through points


@pytest.mark.parametrize("made", ["spline", "natural spline", "smooth spline"])
def test_a_spline_passes_its_points(made):
    np.testing.assert_allclose(MADE[made](TIMES)[0], POINTS, atol=1e-12)


def test_ends_of_splines():
    ends = np.array([0.0, 4.0])
    np.testing.assert_allclose(MADE["spline"](ends)[1], 0, atol=1e-12)
    np.testing.assert_allclose(MADE["natural spline"](ends)[2], 0, atol=1e-11)
    begin, end = zip(*MADE["periodic spline"](ends), strict=True)
    np.testing.assert_allclose(begin, end, atol=1e-11)


def test_the_natural_spline_is_the_least_bent():
    """Of all curves through the points it has the least integral of acceleration squared."""
    t = np.linspace(0, 4, 20_001)
    bent = {k: (MADE[k](t)[2] ** 2).sum() for k in ("natural spline", "spline", "smooth spline")}
    assert min(bent, key=bent.get) == "natural spline"


def test_joined_trajectories_follow_each_other():
    first, second = quintic(Q0, Q1, 2.0), quintic(Q1, Q0, 1.0)
    both = first.then(second)
    assert both.duration == 3.0
    t = np.array([0.5, 1.9])
    for x, y in zip(both(t), first(t), strict=True):
        np.testing.assert_array_equal(x, y)
    for x, y in zip(both(t + 1.0)[:1], (np.stack([first(1.5)[0], second(0.9)[0]]),), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12)
    with pytest.raises(appell.InputError, match="joint 2 would jump by 3"):
        first.then(first)
    with pytest.raises(appell.InputError, match="a trajectory of 3 joints"):
        first.then(ramp(0, 1, 1))


# Reading and refusing


def test_it_reads_as_what_it_is():
    assert repr(quintic([0, 0.5], [1, 2], 2)) == (
        "<quintic of 2 joints, 2 s, from (0, 0.5) to (1, 2)>"
    )
    assert repr(ramp(0, 1, 8.6)) == "<ramp of 1 joint, 8.6 s, from (0) to (1)>"


def test_it_cannot_be_changed():
    t = quintic(Q0, Q1, 2.0)
    with pytest.raises(AttributeError):
        t.kind = "other"
    with pytest.raises(ValueError, match="read-only"):
        t.law.c[0] = 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: quintic(Q0, Q1, 0), "quintic: duration = 0"),
        (lambda: cubic(Q0, Q1, -1), "cubic: duration = -1"),
        (lambda: septic(Q0, Q1, np.nan), "septic: duration = nan"),
        (lambda: quintic(Q0, Q1, "long"), "duration = 'long'"),
        (lambda: quintic(Q0, Q1[:2], 1), "q0 has 3 joints and q1 2"),
        (lambda: quintic(Q0, [0, np.nan, 1], 1), "q1 holds NaN"),
        (lambda: quintic(Q0, None, 1), "q1 holds None; expected finite numbers"),
        (lambda: quintic([0, None, 1], Q1, 1), "q0 holds None"),
        (lambda: quintic([[0], [0, 1]], Q1, 1), "q0: expected real numbers"),
        (lambda: quintic(Q0, Q1, 1, v0=None), "v0 holds None"),
        (lambda: spline(None, TIMES), "points holds None"),
        (lambda: spline(POINTS, None), "t holds None; expected times"),
        (lambda: quintic(np.eye(3), Q1, 1), r"q0 has shape \(3, 3\)"),
        (lambda: quintic("ab", Q1, 1), "real numbers"),
        (lambda: quintic(Q0, Q1, 1, v0=[1, 2]), r"v0 has shape \(2,\)"),
        (lambda: ramp(Q0, Q1), "either duration or speed"),
        (lambda: ramp(Q0, Q1, 1, speed=1), "either duration or speed"),
        (lambda: ramp(Q0, Q0, speed=1), "the same"),
        (lambda: trapezoidal(Q0, Q1, 0, 1), "speed = 0"),
        (lambda: trapezoidal(Q0, Q1, [1, 1, 0], 1), "speed = "),
        (lambda: trapezoidal(Q0, Q1, 1, -2), "acceleration = -2"),
        (lambda: trapezoidal(Q0, Q1, [1, 1], 1), r"speed has shape \(2,\)"),
        (lambda: trapezoidal(Q0, Q0, 1, 1), "the same"),
        (lambda: spline(POINTS, TIMES[:-1]), "5 points and times of shape"),
        (lambda: spline(POINTS, TIMES + 1), "begin with 0"),
        (lambda: spline(POINTS, -TIMES), "increase"),
        (lambda: spline(POINTS[0], TIMES), r"points has shape \(3,\)"),
        (lambda: spline(POINTS, TIMES, ends="loose"), "'loose'; expected one of clamped"),
        (lambda: spline(POINTS, TIMES, ends="periodic"), "ends where it begins"),
        (lambda: jerk_limited(Q0, Q1, 1, 1, 0), "jerk = 0"),
        (lambda: jerk_limited(Q0, Q1, 1, 1, np.nan), "jerk = nan"),
        (lambda: jerk_limited(Q0, Q0, 1, 1, 1), "the same"),
        (lambda: jerk_limited(Q0, Q1, 1, 1, 1, v1=5), "within the limits"),
        (lambda: quintic(Q0, Q1, 1)("soon"), "expected times"),
        (lambda: quintic(Q0, Q1, 1)([0.0, np.nan]), "NaN"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(appell.InputError, match=message):
        make()


def test_without_ruckig_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ruckig", None)
    with pytest.raises(appell.AppellError, match=r"pip install 'appell\[control\]'"):
        jerk_limited(Q0, Q1, 1, 1, 1)


@pytest.mark.parametrize("make", [cubic, quintic, septic])
@pytest.mark.parametrize("duration", [1e-300, 1e-150, 1e300])
def test_durations_beyond_numbers_are_refused(make, duration):
    with pytest.raises(appell.errors.InputError, match="no numbers any more"):
        make(Q0, Q1, duration)
    for far in (1e-30, 1e30):
        t = make(Q0, Q1, far)
        np.testing.assert_allclose(t(far)[0], Q1)
        assert np.isfinite(np.concatenate(t(far / 3))).all()
