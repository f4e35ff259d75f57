"""Data that are not what they should be: each fault is named, with its joint and a cure."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.identify import HalfSpace, fit, random_states

N = 600


@pytest.fixture(scope="module")
def puma():
    return appell.load("puma560")


@pytest.fixture(scope="module")
def good(puma):
    """A motion of all joints, sampled every 5 ms."""
    draw = np.random.default_rng(0)
    t, w, at = 0.005 * np.arange(N)[:, None], draw.uniform(3, 9, 6), draw.uniform(0, 6, 6)
    q = np.sin(w * t + at) + 0.5 * np.sin(2.3 * w * t)
    v = w * np.cos(w * t + at) + 1.15 * w * np.cos(2.3 * w * t)
    a = -(w**2) * np.sin(w * t + at) - 2.645 * w**2 * np.sin(2.3 * w * t)
    return {"q": q, "v": v, "a": a, "tau": puma.inverse_dynamics(q, v, a)}


def swapped(x, i, j):
    order = [j if k == i else i if k == j else k for k in range(x.shape[1])]
    return x[:, order]


def with_number(x, number):
    x = x.copy()
    x[7, 2] = number
    return x


def held(x, j):
    x = x.copy()
    x[:, j] = 0.3
    return x


FAULTS = {
    "NaN": (lambda g: {"v": with_number(g["v"], np.nan)}, "v of 'joint3' is nan at sample 7"),
    "infinite": (lambda g: {"tau": with_number(g["tau"], np.inf)}, "tau of 'joint3' is inf"),
    "constant position": (lambda g: {"q": held(g["q"], 3)}, "q of 'joint4' is 0.3 at all 600"),
    "dead sensor": (lambda g: {"tau": held(g["tau"], 1)}, "tau of 'joint2' is 0.3 at all 600"),
    "swapped torques": (lambda g: {"tau": swapped(g["tau"], 1, 2)}, "columns look swapped"),
    "swapped joints": (
        lambda g: {k: swapped(g[k], 1, 2) for k in ("q", "v", "a")},
        "q2 and q3 are swapped",
    ),
    "degrees": (lambda g: {k: np.degrees(g[k]) for k in ("q", "v", "a")}, "look like degrees"),
    "speeds in degrees": (
        lambda g: {k: np.degrees(g[k]) for k in ("v", "a")},
        "in units that do not go together",
    ),
    "torques in mN m": (lambda g: {"tau": 1000 * g["tau"]}, r"1e\+03 times what the model needs"),
    "opposite sign": (lambda g: {"tau": -g["tau"]}, "the sign is opposite"),
    "too few": (lambda g: {k: x[:5] for k, x in g.items()}, "30 equations for 36 unknowns"),
    "none": (lambda g: {k: x[:0] for k, x in g.items()}, "0 samples"),
    "transposed": (lambda g: {"q": g["q"].T}, "looks transposed"),
    "lengths": (lambda g: {"tau": g["tau"][:-1]}, "tau 599 samples; expected as many of each"),
    "text": (lambda g: {"q": g["q"].astype(str)}, "q has dtype"),
    "missing": (lambda g: {"tau": None}, "tau missing"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(fault, puma, good):
    spoil, message = FAULTS[fault]
    with pytest.raises(appell.InputError, match=message):
        fit(puma, **{**good, **spoil(good)})


def test_good_data_pass_and_unchecked_ones_are_taken_as_they_are(puma, good):
    assert fit(puma, **good).residuals.max() < 1e-9
    odd = fit(puma, **{**good, "tau": -good["tau"]}, check=False)
    assert not odd.physical


def test_faults_are_found_in_blocks_too(puma, good):
    blocks = [tuple(x[k : k + 200] for x in good.values()) for k in range(0, N, 200)]
    blocks[2] = (blocks[2][0], with_number(blocks[2][1], np.nan), *blocks[2][2:])
    with pytest.raises(appell.InputError, match="at sample 407"):
        fit(puma, iter(blocks))
    with pytest.raises(appell.InputError, match="a generator gives them once"):
        fit(puma, iter(blocks[:2]), method="irls")
    with pytest.raises(appell.InputError, match="expected the four arrays"):
        fit(puma, [blocks[0][:2]])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"method": "magic"}, "expected one of qr, svd"),
        ({"weights": [1, 2]}, "6 positive numbers"),
        ({"prior": [1.0]}, "expected 60 finite numbers"),
        ({"payload_link": "hand"}, "one of link1, link2"),
        ({"stribeck": True}, "give friction=True"),
        ({"stribeck": {"vs": 1}, "friction": True}, "expected True"),
        ({"stribeck": True, "friction": True, "method": "sdp"}, "needs method='wls'"),
    ],
)
def test_bad_options_are_refused(option, message, puma, good):
    with pytest.raises(appell.InputError, match=message):
        fit(puma, **good, **option)


def test_an_interruption_gets_through(puma, good):
    def impatient(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(puma, **good, progress=impatient)


def test_progress_counts_the_samples(puma, good):
    seen: list[int] = []
    fit(puma, **good, progress=seen.append)
    assert seen[-1] == N
    assert fit(puma, **good, progress=True).samples == N


def test_what_is_no_robot_flag_or_number_is_refused():
    arm = appell.load("two_link")
    states = random_states(arm, 50)
    tau = arm.inverse_dynamics(*states)
    with pytest.raises(appell.InputError, match="a NoneType is not a robot"):
        fit(None, *states, tau)
    with pytest.raises(appell.InputError, match="friction='yes'"):
        fit(arm, *states, tau, friction="yes")
    for rcond in (5, -1, "small", np.nan):
        with pytest.raises(appell.InputError, match="rcond"):
            fit(arm, *states, tau, method="svd", rcond=rcond)
    for count in (1.5, -1, True, None):
        with pytest.raises(appell.InputError, match="expected a whole number of states"):
            random_states(arm, count)


def test_a_half_space_has_a_normal_and_an_offset():
    for normal, offset in (((0, 0, 0), 0.1), ((0, 0, 1), np.nan), ((0, 0, 1), "low")):
        with pytest.raises(appell.InputError, match="no half-space"):
            HalfSpace("tip", normal=normal, offset=offset)


def test_a_robot_is_written_to_a_path_and_loops_are_not(tmp_path):
    with pytest.raises(appell.InputError, match="expected the path of a"):
        appell.load("two_link").to_urdf(None)
    with pytest.raises(appell.InputError, match="has loops"):
        appell.load("agile_wrist").to_urdf(tmp_path / "wrist.urdf")


def shuffled(g):
    order = np.random.default_rng(3).permutation(N)
    return {k: x[order] for k, x in g.items()}


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1e160, 1e200, 1e300])
def test_torques_of_any_other_size_are_refused(puma, good, factor):
    with pytest.raises(appell.InputError, match="times what the model needs"):
        fit(puma, **good | {"tau": factor * good["tau"]})


@pytest.mark.parametrize("rates", [("v", "a"), ("a",)])
def test_rates_in_degrees_are_noticed_in_samples_of_any_order(puma, good, rates):
    """Without the order of time only the torques tell it."""
    given = shuffled(good)
    fit(puma, **given)
    with pytest.raises(appell.InputError, match=r"a (is|are) in degrees, and q"):
        fit(puma, **given | {k: np.degrees(given[k]) for k in rates})


def test_random_states_keep_to_the_limits_that_fit_asks_for(tmp_path):
    """So that a robot's own random states can be fitted."""
    limits = [(-0.5, 0.2), (1.0, 3.0), (-np.inf, np.inf), (0.1, np.inf), (-np.inf, -0.2), (0, 0.4)]
    robot = limited(limits, kinds="RRRRRP", speed=[0.5] * 6)
    q, v, a = random_states(robot, 400, 1)
    for j, (low, high) in enumerate(limits):
        assert low <= q[:, j].min() < q[:, j].max() <= high
        assert q[:, j].max() - q[:, j].min() > 0.9 * (min(high, low + 6) - max(low, high - 6))
    assert np.abs(v).max() <= 0.5
    fit(robot, q, v, a, robot.inverse_dynamics(q, v, a))
    free = appell.load("free_chain")
    q, v, a = random_states(free, 50, 1)
    np.testing.assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1, rtol=1e-12)


def limited(limits, **options):
    n = len(limits)
    draw = np.random.default_rng(0)
    return appell.Robot.from_dh(
        convention="modified",
        alpha=draw.uniform(-1.5, 1.5, n),
        a=draw.uniform(0.1, 0.5, n),
        d=draw.uniform(0.1, 0.5, n),
        mass=draw.uniform(1, 3, n),
        com=draw.uniform(-0.1, 0.1, (n, 3)),
        inertia=np.tile([0.02, 0.03, 0.025], (n, 1)),
        limits=limits,
        **options,
    )
