"""SphericalRobot of any limbs: built from numbers, moved, refused."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from spherical_robots import drawn, states

import appell
from appell import SphericalRobot
from appell.equations.spherical.spherical_quantities import QUANTITIES
from appell.model.library import SPHERICAL

THIRDS = 2 * np.pi / 3 * np.arange(3)
NUMBERS = {
    "alpha": [[1.4, 1.2]] * 3, "lam": THIRDS, "gamma": 0.95, "eta": THIRDS, "beta": 0.6,
    "link_density": 1.0, "platform_mass": 1.0, "platform_inertia": (1e-3, 1e-3, 1e-3),
}  # fmt: skip


def built(**changes):
    return SphericalRobot.from_arcs(**{**NUMBERS, **changes})


# What it is


def test_a_robot_from_numbers_is_the_librarys():
    wrist = appell.load("agile_wrist")
    alpha = np.radians([80, 70])
    same = SphericalRobot.from_arcs(
        name="agile_wrist", alpha=[alpha] * 3, lam=[0, 2 * np.pi / 3, 4 * np.pi / 3],
        gamma=np.arccos(np.sqrt(3) / 3), eta=[0, 2 * np.pi / 3, 4 * np.pi / 3],
        beta=np.arcsin(np.sqrt(3) / 3), link_density=1.378, platform_mass=1.351,
        platform_inertia=(38.29e-4, 38.29e-4, 4.5e-4),
    )  # fmt: skip
    given = states(wrist)
    np.testing.assert_allclose(
        same.inverse_dynamics(*given), wrist.inverse_dynamics(*given), rtol=1e-12
    )


def test_links_may_have_inertias_of_their_own():
    arcs = built()
    bodies = iter(arcs.model.inertias.values())
    links = [
        [(b.mass, b.com, np.array(b.tensor.tensor)) for b in (next(bodies), next(bodies))]
        for _ in range(3)
    ]
    same = built(links=links, link_density=None)
    given = states(arcs)
    np.testing.assert_allclose(
        same.inverse_dynamics(*given), arcs.inverse_dynamics(*given), atol=1e-13
    )


@pytest.mark.parametrize("name", SPHERICAL)
def test_robots_of_the_library_obey(name):
    robot = appell.load(name)
    assert all(check.passed for check in robot.selfcheck(20, 1))
    assert not robot.neutral().any()
    assert robot.singularity(robot.neutral()) > 0.5
    assert robot.random(1).shape == (robot.nq,)
    q = robot.random(1, 40)
    assert (robot.singularity(q) > 0.05).all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(robot)).gravity(q), robot.gravity(q))
    with pytest.raises(appell.InputError, match="has loops, which a URDF file cannot say"):
        robot.to_urdf("robot.urdf")


def test_what_robots_say_of_themselves():
    five = appell.load("spherical_five_bar")
    assert five.joint_names == ("limb1.joint1", "limb1.joint2")
    assert five.actuated == ("limb1.joint1", "limb2.joint1")
    assert five.link_names == ("base", "first1", "first2", "second2", "platform")
    assert (five.nv, five.branch) == (2, "-")
    more = appell.load("redundant_wrist")
    assert more.joint_names == ("yaw", "pitch", "roll", "limb3.joint1")
    assert "third3" in more.link_names
    assert more.regressor(*states(more, 1)).shape == (1, 4, 80)
    assert repr(more) == "<SphericalRobot redundant_wrist: 4 actuators, 9 links>"
    long = drawn("one limb of five joints").model
    assert list(long.links) == ["first1", "second1", "third1", "fourth1"]


def test_neutral_is_away_from_singularities():
    """At zero, the first limb of this one lies in the way of the second."""
    five = SphericalRobot.from_arcs(
        alpha=[[np.pi / 2], [np.pi / 2, np.pi / 2]], lam=(-np.pi / 2, 0), gamma=np.pi / 2,
        eta=0.0, beta=(np.pi / 2, 0), link_density=1.0, platform_mass=1.0,
        platform_inertia=(1e-3, 1e-3, 1e-3),
    )  # fmt: skip
    assert five.singularity([0, 0]) == 0
    with pytest.raises(appell.InputError, match="singular: no torques of the actuators hold"):
        five.inverse_dynamics([0, 0], [0, 0], [0, 0])
    assert five.singularity(five.neutral()) > 0.05


# The same robot, described in two ways


def test_euler_angles_and_a_limbs_angles_describe_the_same_robot():
    by_limb = drawn("three limbs, described by the second")
    q, v, _ = states(by_limb, 5)
    by_euler = SphericalRobot(replace(by_limb.model, carrier=None, branch="---"))
    for x, dx in zip(q, v, strict=True):
        R = by_limb.forward_kinematics(x)[:3, :3]
        other = by_euler.with_branch(signs(by_limb, x))
        y = np.array(
            [np.arctan2(R[1, 0], R[0, 0]), np.arcsin(-R[2, 0]), np.arctan2(R[2, 1], R[2, 2])]
        )
        dy = np.linalg.solve(other.jacobian(y)[3:], by_limb.jacobian(x)[3:] @ dx)
        theta = by_limb.inverse_kinematics(x).theta
        np.testing.assert_allclose(
            np.sin((other.inverse_kinematics(y).theta - theta) / 2), 0, atol=1e-12
        )
        assert other.kinetic_energy(y, dy) == pytest.approx(by_limb.kinetic_energy(x, dx))
        assert other.potential_energy(y) == pytest.approx(by_limb.potential_energy(x))
        tau = np.array([0.1, -0.2, 0.3])  # turns the same joints alike
        np.testing.assert_allclose(
            other.actuator_jacobian(y) @ dy, by_limb.actuator_jacobian(x) @ dx, atol=1e-10
        )
        moved = other.joint_motion(y, dy, other.forward_dynamics(y, dy, tau))
        expected = by_limb.joint_motion(x, dx, by_limb.forward_dynamics(x, dx, tau))
        scale = np.abs(expected.ddtheta).max()
        np.testing.assert_allclose(moved.ddtheta, expected.ddtheta, rtol=0, atol=1e-9 * scale)


def signs(robot, q):
    """The branch of each limb, the carrier's too: the sign of (v x w) . u."""
    found = ""
    for i, limb in enumerate(robot.model.limbs, 1):
        first, second = (
            robot.forward_kinematics(q, f"{x}{i}")[:3, :3] for x in ("first", "second")
        )
        alpha = limb.links[1].alpha
        v = second @ [0, -np.sin(alpha), np.cos(alpha)]
        found += "+" if np.cross(v, second[:, 2]) @ first[:, 2] > 0 else "-"
    return found


# Its equations


@pytest.mark.parametrize(
    "shape", ["five-bar linkage", "more drives than freedoms, one on the platform"]
)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_equations_take_arrays_and_floats(shape, quantity):
    robot, asked = drawn(shape), QUANTITIES[quantity]
    draw, (q, *_) = np.random.default_rng(1), states(robot, 3)
    sizes = robot.model.sizes
    given = [draw.normal(size=(3, sizes[axis])) for (axis,) in asked.inputs.values()]
    given[0] = q
    frame = ("first2",) if asked.frame else ()

    def flat(x):
        return [z for y in x for z in flat(y)] if isinstance(x, list | tuple) else [x]

    for equation in asked.formulations.values():
        on_floats = flat(equation(robot.model, *(x[0].tolist() for x in given), *frame))
        on_arrays = flat(equation(robot.model, *(list(x.T) for x in given), *frame))
        first = [np.broadcast_to(x, 3)[0] for x in on_arrays]
        scale = 1e-12 * max(1.0, float(np.abs(np.array(on_floats, dtype=float)).max()))
        np.testing.assert_allclose(first, np.array(on_floats, dtype=float), rtol=0, atol=scale)


@pytest.mark.parametrize("name", ["agile_wrist", "spherical_five_bar", "redundant_wrist"])
def test_numbers_of_the_robot_may_be_arguments(name):
    robot = appell.load(name)
    q, v, a = states(robot, 3)
    kernel = robot.kernel("inverse_dynamics", parameters=True)
    own = kernel.defaults
    assert list(own) == ["mass", "com", "inertia", "geometry", "gravity"]
    expected = robot.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(kernel(q, v, a, *own.values()), expected, rtol=0, atol=1e-12)
    heavy = {**own, "mass": 2 * own["mass"], "inertia": 2 * own["inertia"]}
    doubled = kernel(q, v, a, *heavy.values())
    np.testing.assert_allclose(doubled, 2 * expected, rtol=0, atol=1e-12)
    # By its geometry, against robots of other lengths.
    slope = robot.kernel("gravity", parameters=("geometry",), wrt="geometry")(q, own["geometry"])
    plain, h = robot.kernel("gravity", parameters=("geometry",)), 1e-6
    for k in range(len(own["geometry"])):
        step = h * np.eye(len(own["geometry"]))[k]
        change = plain(q, own["geometry"] + step) - plain(q, own["geometry"] - step)
        np.testing.assert_allclose(slope[..., k], change / (2 * h), rtol=0, atol=1e-6)


def test_torques_of_too_many_actuators_are_least():
    robot = drawn("four limbs, more drives than freedoms")
    q, v, a = states(robot)
    tau, J = robot.inverse_dynamics(q, v, a), robot.actuator_jacobian(q)
    idle = np.linalg.svd(np.swapaxes(J, 1, 2))[2][:, -1]  # torques that do no work
    np.testing.assert_allclose(np.einsum("nij,ni->nj", J, idle), 0, atol=1e-12)
    assert np.abs((tau * idle).sum(-1)).max() < 1e-9 * np.abs(tau).max()


# Motion


@pytest.mark.parametrize("name", SPHERICAL)
def test_a_run_keeps_its_energy(name):
    robot = appell.load(name)
    run = appell.simulate(robot, robot.neutral(), 0.3 * np.ones(robot.nv), until=0.2)
    assert run.stopped is None
    assert np.ptp(run.kinetic) > 1e-4
    assert np.ptp(run.energy) < 1e-11
    assert run.tau.shape == (len(run.t), len(robot.actuated))


def test_runs_by_either_formulation_agree():
    robot = appell.load("spherical_five_bar")
    ends = [
        appell.simulate(robot, [0.2, 0.1], until=0.2, torque=[0.02, -0.01], formulation=name).q[-1]
        for name in ("quasi_speeds", "gibbs_jacobian")
    ]
    np.testing.assert_allclose(*ends, atol=1e-11)
    with pytest.raises(appell.InputError, match="formulation = 'newton_euler'; expected one of"):
        appell.simulate(robot, [0, 0], until=0.1, formulation="newton_euler")


@pytest.mark.parametrize(
    ("name", "link", "place"),
    [
        ("agile_wrist", "platform", (0.0, 0.0, 0.3)),
        ("spherical_five_bar", "second2", (0.2, 0.1, 0)),
    ],
)
@pytest.mark.parametrize("e", [1.0, 0.4])
def test_a_point_strikes_a_wall_as_mechanics_says(name, link, place, e):
    """v changes by -(1 + e) (n J v) / (n J M^-1 J^T n) M^-1 J^T n, with J of the point."""
    robot = appell.load(name)
    q, v = np.full(robot.nq, 0.15), np.linspace(0.5, -0.3, robot.nv)

    def point(q):
        """Where it is, and its Jacobian."""
        r = robot.forward_kinematics(q, link)[..., :3, :3] @ place
        J = robot.jacobian(q, link)[3:]
        return r, np.array([np.cross(w, r) for w in J.T]).T

    r, J = point(q)
    n = -J @ v / np.linalg.norm(J @ v)
    wall, tip = appell.walls.Plane(tuple(n), float(n @ r) - 0.005), {"tip": (link, place)}
    run = appell.simulate(robot, q, v, until=0.05, walls=wall, points=tip, restitution=e)
    (k,) = np.flatnonzero(np.diff(run.t) == 0)[:1]
    assert run.impacts[0].time == run.t[k]
    at, J = point(run.q[k])
    assert n @ at == pytest.approx(n @ r - 0.005, abs=1e-12)
    M, row = robot.mass_matrix(run.q[k]), n @ J
    push = np.linalg.solve(M, row)
    expected = run.v[k] - (1 + e) * (row @ run.v[k]) / (row @ push) * push
    np.testing.assert_allclose(run.v[k + 1], expected, atol=1e-12)
    places = robot.forward_kinematics(run(np.linspace(0, run.t[-1], 2001))[0], link)
    assert (places[:, :3, :3] @ place @ n).min() > n @ r - 0.005 - 1e-9


def test_walls_need_points_away_from_the_centre():
    robot = appell.load("spherical_five_bar")
    with pytest.raises(appell.InputError, match="origins in its centre, which touches none; give"):
        appell.simulate(robot, [0, 0], until=0.1, walls=appell.walls.Plane((0, 0, 1), -1))


def test_a_robot_follows_by_computed_torque(tmp_path):
    """tau = inverse_dynamics(q, v, a_d + kv e' + kp e): errors decay as e'' + kv e' + kp e = 0."""
    robot = appell.load("redundant_wrist")
    kp, kv = 100.0, 20.0

    def wanted(t):
        return 0.2 * np.sin(3 * t) * np.ones(4), 0.6 * np.cos(3 * t) * np.ones(4)

    def law(t, q, v):
        qd, vd = wanted(t)
        return robot.inverse_dynamics(q, v, -9 * qd + kv * (vd - v) + kp * (qd - q))

    run = appell.simulate(robot, 0.05 * np.ones(4), 0.6 * np.ones(4), until=1.0, torque=law)
    error = run.q - np.array([wanted(t)[0] for t in run.t])
    # Critically damped, from e = 0.05 with e' = 0: e = 0.05 (1 + 10 t) exp(-10 t).
    expected = 0.05 * (1 + 10 * run.t) * np.exp(-10 * run.t)
    np.testing.assert_allclose(error, expected[:, None] * np.ones(4), atol=1e-8)
    again = appell.simulation.load_run(run.save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(again.tau, run.tau)
    assert run.plot().axes


def test_a_run_into_a_singularity_stops_with_what_it_has():
    run = appell.simulate(appell.load("agile_wrist"), [0, 0, 0], [0, 5, 0], until=5)
    assert "s: q = [" in run.stopped
    assert "stretched or folded, a singularity: its axes u and v are" in run.stopped
    assert 0.1 < run.t[-1] < 5
    assert np.isfinite(run.q).all()


# What cannot be


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": []}, "alpha is empty; a robot has at least one limb"),
        ({"alpha": [1.4, 1.2]}, "expected one row per limb, with one angle per link"),
        ({"alpha": [[1.4, 0.0]] * 3}, "limb 1: alpha2 = 0; expected an angle between 0 and pi"),
        ({"alpha": [[1.4, "x"]] * 3}, "limb 1: alpha2 = 'x'; expected a number"),
        ({"gamma": 4.0}, "gamma = 4; expected an angle from 0 to pi"),
        ({"lam": (0.0, 1.0)}, "expected a number, or one per limb"),
        ({"lam": 0.0, "eta": 0.0}, "two limbs in the same place"),
        ({"alpha": [[1.4], [1.2], [1.4, 1.2]]}, "limb1, limb2 have fewer than three joints"),
        ({"alpha": [[1.4], [1.2, 1.4], [1.4, 1.2]], "carrier": "limb2"}, "limb1 have fewer than"),
        ({"carrier": "limb4"}, "carrier = 'limb4'; its limbs are limb1, limb2, limb3"),
        ({"carrier": 1}, "carrier = 1; its limbs are"),
        ({"actuated": "limb1.joint1"}, "expected names of joints"),
        ({"actuated": []}, "expected names of joints"),
        ({"actuated": ["limb1.joint4"]}, "names joint 'limb1.joint4'; its joints are limb1.joint1"),
        ({"actuated": ["limb1.joint1"] * 2}, "names a joint twice"),
        ({"branch": "--"}, "expected '\\+' or '-', or a sign for each limb such as '-\\+-'"),
        ({"branch": "---", "carrier": "limb1"}, "a sign for each limb such as '-\\+'"),
        ({"link_density": None}, "the links have no inertia; give link_density"),
        ({"links": [[]] * 3}, "both links and link_density are given"),
        ({"links": [[]] * 3, "link_density": None}, "in rows as alpha has them"),
        ({"links": 3, "link_density": None}, "in rows as alpha has them"),
        (
            {"links": [[(1, (0, 0, 1), (0, 0, 0))] * 2] * 3, "link_density": None},
            "link 1 of limb 1",
        ),
        ({"platform_mass": -1}, "the mass is negative"),
        ({"margin": -1}, "margin = -1"),
    ],
)
def test_robots_that_cannot_be_are_refused(changes, message):
    with pytest.raises(appell.ModelError, match=message):
        built(**changes)


def test_a_limb_out_of_reach_is_named_by_its_number():
    """The first limb carries the platform, so the second closes the loop."""
    robot = SphericalRobot.from_arcs(
        alpha=[[1.0], [0.3, 0.2]], lam=(0.0, 2.0), gamma=1.0, eta=(0.0, 2.0), beta=1.0,
        link_density=1.0, platform_mass=1.0, platform_inertia=(1e-3, 1e-3, 1e-3),
    )  # fmt: skip
    with pytest.raises(appell.InputError, match=r"limb 2 does not reach: .* span 5.73 to 28.65"):
        robot.gravity([1.0, 1.0])
    with pytest.raises(appell.ModelError, match="reaches hardly any pose"):
        built(alpha=[[0.1, 0.1]] * 3).selfcheck(1)


def test_a_coordinate_without_inertia_has_no_acceleration():
    """A platform without mass on links without mass, beside a limb with some."""
    idle = SphericalRobot.from_arcs(
        alpha=[[1.4, 1.2]], lam=0, gamma=1.0, eta=0.0, beta=1.0, carrier="limb1",
        links=[[(1.0, (0, 0, 0.1), (0.02, 0.02, 0.01)), (0.0, (0, 0, 0), (0, 0, 0))]],
        platform_mass=0.0, platform_inertia=(0, 0, 0), gravity=(0, 0, 0),
    )  # fmt: skip
    with pytest.raises(appell.ModelError, match="a coordinate moves no inertia"):
        idle.forward_dynamics([0, 0, 0], [0, 0, 0], [0])
