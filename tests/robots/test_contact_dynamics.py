"""Contacts as inputs: laws of physics, contacts that repeat each other, calls."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from batches import AsWritten
from four_legs import CLOSE, FEET, close, solo, standing
from scipy.spatial.transform import Rotation

import appell
from appell.model.build import assemble
from appell.model.hinges import CompoundJoint, Mimic
from appell.model.library.random import random_description, random_inertia
from appell.robots.bounded_cache import BoundedCache
from appell.robots.contact_frames import rotation_vector, turning_rates


def state(robot, n=4):
    draw = np.random.default_rng(3)
    return robot.random(draw, n), *draw.normal(size=(2, n, robot.nv))


def wrenches(result, contacts):
    """Contact forces as external ones."""
    found = {}
    for c, f in zip(contacts, result.forces, strict=True):
        found[getattr(c, "frame", c)] = np.concatenate(
            [f, np.zeros((*f.shape[:-1], 6 - f.shape[-1]))], axis=-1
        )
    return found


# Laws


def test_contacts_do_not_accelerate_and_their_forces_are_external_ones():
    robot = solo()
    q, v, tau = state(robot)
    contacts = [FEET[0], appell.Contact(appell.Frame("base_link", (0.1, 0.2, 0.3)), "fixed")]
    found = robot.contact_dynamics(q, v, tau, contacts=contacts)
    a = found.acceleration
    assert [f.shape for f in found.forces] == [(4, 3), (4, 6)]
    size = np.abs(a).max()
    assert np.abs(robot.acceleration(q, v, a, FEET[0])[:, :3]).max() < CLOSE * size
    assert np.abs(robot.acceleration(q, v, a, contacts[1].frame)).max() < CLOSE * size
    outside = wrenches(found, contacts)
    close(robot.inverse_dynamics(q, v, a, forces=outside), tau)


@pytest.mark.parametrize("axes", ["x", "y", "xx", "xy", "zxy"])
def test_robots_built_at_right_angles_obey_the_equation_of_motion(axes):
    """Compiled: boxes on hinges along the axes, so that much of the mass matrix is zero. What it
    couples only by way of others is not zero in its inverse."""
    build = appell.Builder("boxes", base="free")
    build.link("body0", appell.inertia.box(5, (0.2, 0.3, 0.2)))
    for k, axis in enumerate(axes, start=1):
        build.link(f"body{k}", appell.inertia.box(1, (0.1, 0.2, 0.3), com=(0, 0, -0.15)))
        place = (0.1, 0.05, -0.2)
        build.joint(f"j{k}", "revolute", f"body{k // 2}", f"body{k}", pose=place, axis=axis)
    robot = build.robot()
    q, v, tau = state(robot, 3)
    contact = [appell.Frame(f"body{k}", (0, 0.02, -0.3))]
    found = robot.contact_dynamics(q, v, tau, contacts=contact)
    needed = robot.inverse_dynamics(q, v, found.acceleration, forces=wrenches(found, contact))
    close(needed, tau)


def test_momentum_changes_by_contact_forces_and_weight_alone():
    robot = solo()
    q, v, tau = state(robot)
    tau[:, :6] = 0
    found = robot.contact_dynamics(q, v, tau, contacts=FEET)
    rate = robot.momentum_rate(q, v, found.acceleration)
    c = robot.centre_of_mass(q)
    weight = robot.mass() * np.array([0, 0, -9.81])
    force = sum(found.forces) + weight
    arms = [robot.forward_kinematics(q, x)[:, :3, 3] - c for x in FEET]
    moment = sum(np.cross(r, f) for r, f in zip(arms, found.forces, strict=True))
    close(rate, np.concatenate([force, moment], axis=-1), 1e-8)


def test_contacts_at_rest_do_no_work():
    robot = solo()
    q, v, tau = state(robot)
    v = robot.contact_impulse(q, v, contacts=FEET).velocity
    found = robot.contact_dynamics(q, v, tau, contacts=FEET)
    power = sum((robot.velocity(q, v, x)[:, :3] * f).sum(-1) for x, f in zip(FEET, found.forces))  # noqa: B905
    assert np.abs(power).max() < CLOSE * max(np.abs(f).max() for f in found.forces)


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_an_impulse_turns_the_contacts_velocity_round(e):
    robot = solo()
    q, v, _ = state(robot)
    found = robot.contact_impulse(q, v, contacts=FEET[:2], restitution=e)
    impulse = 0
    for x, p in zip(FEET, found.impulses, strict=False):
        J = robot.jacobian(q, x)[:, :3]
        close((J @ found.velocity[..., None])[..., 0], -e * (J @ v[..., None])[..., 0], 1e-8)
        impulse = impulse + (J.swapaxes(-1, -2) @ p[..., None])[..., 0]
    M = robot.mass_matrix(q)
    close((M @ (found.velocity - v)[..., None])[..., 0], impulse)
    lost = robot.kinetic_energy(q, v[:, None]) - robot.kinetic_energy(q, found.velocity[:, None])
    assert (np.diagonal(lost) > -1e-9).all()


def test_without_contacts_the_robot_is_free():
    robot = solo()
    q, v, tau = state(robot)
    found = robot.contact_dynamics(q, v, tau, contacts=[])
    close(found.acceleration, robot.forward_dynamics(q, v, tau))
    assert found.forces == ()
    assert np.array_equal(robot.contact_impulse(q, v, contacts=[]).velocity, v)


# Contacts that repeat each other


def test_four_corners_hold_as_one_foot_by_the_smallest_forces():
    robot = solo()
    q, v, tau = state(robot)
    corners = [appell.Frame("base_link", (x, y, -0.1)) for x in (0.1, -0.1) for y in (0.1, -0.1)]
    v = robot.contact_impulse(q, v, contacts=corners).velocity
    whole = [appell.Contact("base_link", "fixed")]
    once = robot.contact_dynamics(q, v, tau, contacts=whole)
    found = robot.contact_dynamics(q, v, tau, contacts=corners)
    close(found.acceleration, once.acceleration)
    J = np.concatenate([robot.jacobian(q, x)[:, :3] for x in corners], axis=1)
    f = np.concatenate(found.forces, axis=-1)
    P, s, _ = np.linalg.svd(J)
    assert (s[:, 6:] < 1e-9 * s[:, :1]).all()
    idle = (P[..., 6:].swapaxes(-1, -2) @ f[..., None])[..., 0]
    assert np.abs(idle).max() < 1e-9 * np.abs(f).max()


def test_in_a_batch_each_state_is_solved_by_its_own_rank():
    """A leg that is straight cannot move its foot along itself, with a base that is held."""
    robot = AsWritten(appell.load("two_link").model)
    q = np.array([[0.3, 0.9], [0.3, 0.0], [0.3, np.pi]])
    v, tau = np.zeros((3, 2)), np.array([1.0, 2.0])
    tip = appell.Frame(robot.link_names[-1], (0.5, 0, 0))
    found = robot.contact_dynamics(q, v, tau, contacts=[tip])
    for k in range(3):
        one = robot.contact_dynamics(q[k], v[k], tau, contacts=[tip])
        close(found.acceleration[k], one.acceleration)
        close(found.forces[0][k], one.forces[0])
        a = robot.acceleration(q[k], v[k], one.acceleration, tip)
        assert np.abs(a[:3]).max() < 1e-9
    assert np.abs(found.acceleration[0]).max() < 1e-9
    assert np.abs(found.acceleration[1]).max() > 1e-3  # along the bar it is free to fold


def test_a_contact_named_twice_shares_its_force():
    robot = solo()
    q, v, tau = state(robot)
    once = robot.contact_dynamics(q, v, tau, contacts=FEET[:1])
    twice = robot.contact_dynamics(q, v, tau, contacts=[FEET[0], FEET[0]])
    close(twice.acceleration, once.acceleration)
    for f in twice.forces:
        close(f, once.forces[0] / 2)


def test_contacts_of_a_fixed_link_press_on_nothing():
    robot = AsWritten(appell.load("two_link").model)
    state = np.ones(2), np.ones(2), np.ones(2)
    found = robot.contact_dynamics(*state, contacts=[robot.link_names[0]])
    close(found.acceleration, robot.forward_dynamics(*state))
    assert np.array_equal(found.forces[0], np.zeros(3))


def test_damping_lets_contacts_give_way():
    robot = solo()
    q, v, tau = state(robot)
    found = robot.contact_dynamics(q, v, tau, contacts=FEET[:2], damping=0.01)
    for x, f in zip(FEET, found.forces, strict=False):
        close(robot.acceleration(q, v, found.acceleration, x)[:, :3], -0.01 * f, 1e-8)


@pytest.mark.parametrize("damping", [1.0, 1e-3, 1e-7, 1e-12])
def test_contacts_that_contradict_each_other_give_way_by_the_damping(damping):
    """Two points on one moving link cannot both be at rest, and more of them still less."""
    robot = solo()
    q, v, tau = state(robot)
    corners = [appell.Frame("base_link", (x, y, 0.1)) for x in (0.1, -0.1) for y in (0.1, -0.1)]
    found = robot.contact_dynamics(q, v, tau, contacts=corners, damping=damping)
    for x, f in zip(corners, found.forces, strict=True):
        a = robot.acceleration(q, v, found.acceleration, x)[:, :3]
        # What forces of 1 / damping add up to is rounded.
        assert np.abs(a + damping * f).max() < 1e-7 * max(1.0, np.abs(a).max())


# Footholds


def test_gains_pull_contacts_to_their_footholds():
    robot = solo()
    q, v, tau = state(robot)
    draw = np.random.default_rng(0)
    here = robot.forward_kinematics(q, "base_link")
    there = robot.forward_kinematics(robot.random(draw), "base_link")
    contacts = [
        appell.Contact(FEET[0], foothold=(0.1, 0.2, 0.3)),
        appell.Contact("base_link", "fixed", foothold=there),
    ]
    found = robot.contact_dynamics(q, v, tau, contacts=contacts, kp=30, kd=7)
    away = robot.forward_kinematics(q, FEET[0])[:, :3, 3] - [0.1, 0.2, 0.3]
    moving = robot.velocity(q, v, FEET[0])[:, :3]
    a = robot.acceleration(q, v, found.acceleration, FEET[0])[:, :3]
    close(a, -30 * away - 7 * moving, 1e-7)
    turn = rotation_vector(here[:, :3, :3] @ there[:3, :3].T)
    e = np.concatenate([here[:, :3, 3] - there[:3, 3], turn], axis=-1)
    a = robot.acceleration(q, v, found.acceleration, "base_link")
    close(a, -30 * e - 7 * robot.velocity(q, v, "base_link"), 1e-7)


def test_rates_of_rotation_vectors():
    draw = np.random.default_rng(0)
    for size in (0.0, 1e-5, 0.3, 3.0):
        r = draw.normal(size=3)
        r *= size / np.linalg.norm(r)
        R, h = Rotation.from_rotvec(r), 1e-6
        for k, w in enumerate(np.eye(3)):
            ahead, back = ((Rotation.from_rotvec(x * w) * R).as_rotvec() for x in (h, -h))
            assert np.abs((ahead - back) / (2 * h) - turning_rates(r)[:, k]).max() < 1e-8


# Derivatives, by differences in the tangent space


@cache
def tree():
    """A free base with a ball, a slide and turns, compiled."""
    links, hinges = random_description(
        4, 7, branching=0.5, prismatic=0.25, fixed=0.2, rotors=True, friction=False
    )
    moving = [h for h in hinges if h.joint is not None]
    hinges = [
        replace(h, joint=CompoundJoint(h.name, "spherical")) if h is moving[1] else h
        for h in hinges
    ]
    links["base"] = random_inertia(np.random.default_rng(0))
    return appell.Robot(assemble("tree", links, hinges, base="free"))


def differences(robot, q, v, tau, h=1e-5, **options):
    """Derivatives of accelerations and forces, (nv + m, nv) each."""

    def at(q, v, tau):
        found = robot.contact_dynamics(q, v, tau, **options)
        return np.concatenate([found.acceleration, *found.forces], axis=-1)

    d = h * np.eye(robot.nv)
    by_q = at(robot.integrate(q, d), v, tau) - at(robot.integrate(q, -d), v, tau)
    by_v = at(q, v + d, tau) - at(q, v - d, tau)
    by_tau = at(q, v, tau + d) - at(q, v, tau - d)
    return [x.T / (2 * h) for x in (by_q, by_v, by_tau)]


@pytest.mark.parametrize("case", ["points", "footholds", "repeated", "damped"])
def test_derivatives_are_those_of_differences(case):
    robot = tree()
    draw = np.random.default_rng(5)
    q, (v, tau) = robot.random(draw), draw.normal(size=(2, robot.nv))
    last, base = robot.moving_links[-1], "base"
    at = robot.forward_kinematics(robot.integrate(q, 0.1 * np.ones(robot.nv)), base)
    corners = [appell.Frame(base, p) for p in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0))]
    contacts, options = {
        "points": ([last, appell.Frame(base, (0.1, 0.2, 0.3))], {}),
        "footholds": (
            [appell.Contact(last, foothold=(1, 2, 3)), appell.Contact(base, "fixed", foothold=at)],
            {"kp": 20.0, "kd": 3.0},
        ),
        "repeated": (corners, {}),
        "damped": (corners, {"damping": 0.1}),
    }[case]
    if case == "repeated":  # at rest, so that their conditions agree
        v = robot.contact_impulse(q, v, contacts=contacts).velocity
    found = robot.contact_dynamics_derivatives(q, v, tau, contacts=contacts, **options)
    expected = differences(robot, q, v, tau, contacts=contacts, **options)
    n = robot.nv
    pairs = zip(found[:3], found[3:], expected, strict=True)
    for which, (da, df, both) in enumerate(pairs):
        # Differences are good to h^2 and eps / h of the largest.
        size = np.abs(both).max()
        assert np.abs(da - both[:n]).max() < 1e-6 * size, which
        assert np.abs(np.concatenate(df) - both[n:]).max() < 1e-6 * size, which


# Calls


def test_other_points_on_the_same_links_need_no_other_kernels():
    robot = tree()
    draw = np.random.default_rng(0)
    q, (v, tau) = robot.random(draw), draw.normal(size=(2, robot.nv))
    last = robot.moving_links[-1]
    made = set()
    for _ in range(3):
        there = appell.Frame(last, draw.normal(size=6))
        fixed = appell.Contact(there, "fixed", foothold=np.eye(4))
        robot.contact_dynamics(q, v, tau, contacts=[fixed], kp=1.0)
        robot.contact_dynamics(q, v, tau, contacts=[fixed])
        robot.contact_dynamics(
            q, v, tau, contacts=[there, appell.Frame("base", draw.normal(size=3))]
        )
        robot.contact_impulse(q, v, contacts=[there])
        made.add((len(robot._kernels), len(robot._sets)))
    assert len(made) == 1


def test_batches_broadcast_and_float32_comes_back():
    robot = tree()
    draw = np.random.default_rng(0)
    q, (v, tau) = robot.random(draw, (3, 1)), draw.normal(size=(2, 2, robot.nv))
    last = robot.moving_links[-1]
    foothold = draw.normal(size=(5, 1, 1, 3))
    contacts = [appell.Contact(last, foothold=foothold)]
    found = robot.contact_dynamics(q, v, tau, contacts=contacts, kp=2.0)
    assert found.acceleration.shape == (5, 3, 2, robot.nv)
    assert found.forces[0].shape == (5, 3, 2, 3)
    one = [appell.Contact(last, foothold=foothold[4, 0, 0])]
    single = robot.contact_dynamics(q[2, 0], v[1], tau[1], contacts=one, kp=2.0)
    close(found.acceleration[4, 2, 1], single.acceleration)
    short = [x.astype(np.float32) for x in (q, v, tau)]
    found = robot.contact_dynamics(*short, contacts=[last])
    assert found.acceleration.dtype == found.forces[0].dtype == np.float32


@pytest.mark.parametrize("name", ["two_link", "mimicking", "reordered"])
def test_compiled_and_as_written_are_the_same(name):
    """Also where a direction is missing in the whole, as in a plane, and where joints mimic others
    or stand in another order."""
    links, hinges = random_description(
        4, 5, branching=0.5, prismatic=0.3, fixed=0.3, rotors=False, friction=False
    )
    moving = [h.name for h in hinges if h.joint]
    if name == "mimicking":
        hinges = [
            replace(h, mimic=Mimic(moving[0], -1.7, 0.4)) if h.name == moving[2] else h
            for h in hinges
        ]
    order = moving[::-1] if name == "reordered" else None
    robot = (
        appell.load(name)
        if name == "two_link"
        else appell.Robot(assemble(name, links, hinges, order=order))
    )
    draw = np.random.default_rng(0)
    q, (v, tau) = robot.random(draw, 3), draw.normal(size=(2, 3, robot.nv))
    contacts = [appell.Frame(robot.moving_links[-1], (0.3, 0.1, 0.2))]
    for some in (contacts, contacts * 2, [robot.link_names[0]]):
        found = robot.contact_dynamics(q, v, tau, contacts=some)
        expected = AsWritten(robot.model).contact_dynamics(q, v, tau, contacts=some)
        close(found.acceleration, expected.acceleration)
        for f, g in zip(found.forces, expected.forces, strict=True):
            close(f, g)
        one = robot.contact_dynamics(q[1].tolist(), v[1].tolist(), tau[1].tolist(), contacts=some)
        close(one.acceleration, found.acceleration[1])


def test_a_nan_spoils_its_own_state_only():
    robot, contacts = tree(), [appell.Contact("base", "fixed"), "base"]
    draw = np.random.default_rng(0)
    q, (v, tau) = robot.random(draw, 5), draw.normal(size=(2, 5, robot.nv))
    expected = robot.contact_dynamics(q, v, tau, contacts=contacts)
    for x in (q, v, tau):
        kept = x[2, 1]
        x[2, 1] = np.nan
        for some in (contacts, contacts[:1]):
            found = robot.contact_dynamics(q, v, tau, contacts=some)
            assert np.isnan(found.acceleration[2]).any()
            others = np.delete(found.acceleration, 2, 0)
            close(others, np.delete(expected.acceleration, 2, 0))
            assert np.isnan(robot.contact_dynamics(q[2], v[2], tau[2], contacts=some)[0]).any()
        x[2, 1] = kept


def test_a_nan_spoils_derivatives_and_footholds_of_its_own_state_only():
    robot = solo()
    draw = np.random.default_rng(0)
    q, v, tau = state(robot, 3)
    fixed = appell.Contact("base_link", "fixed", foothold=np.eye(4))
    options = {"contacts": [fixed], "kp": 3.0}
    expected = robot.contact_dynamics(q, v, tau, **options).acceleration
    tree_q, tree_v, tree_tau = state(tree(), 3)
    repeats = {"contacts": [appell.Frame("base", x) for x in draw.normal(size=(3, 3))]}
    slopes = tree().contact_dynamics_derivatives(tree_q, tree_v, tree_tau, **repeats)
    for bad in (np.nan, 0.0):  # a quaternion of zero has no rotation
        spoilt, tree_spoilt = q.copy(), tree_q.copy()
        spoilt[1, 3:7] = tree_spoilt[1, 3:7] = bad
        with np.errstate(all="ignore"):
            found = robot.contact_dynamics(spoilt, v, tau, **options).acceleration
            more = tree().contact_dynamics_derivatives(tree_spoilt, tree_v, tree_tau, **repeats)
        assert np.isnan(found[1]).any()
        close(found[::2], expected[::2])
        for x, y in zip(more[:3], slopes[:3], strict=True):
            close(x[::2], y[::2])


def test_a_robot_keeps_so_many_kernels_and_places(monkeypatch):
    monkeypatch.setattr(BoundedCache, "most", 3)
    robot = AsWritten(tree().model)
    for x in range(10):
        robot.contact_impulse(
            robot.neutral(), np.ones(robot.nv), contacts=[appell.Frame("base", (x, 0, 0))]
        )
    assert len(robot._places) <= 3
    assert isinstance(robot._sets, BoundedCache)


def test_normals_of_any_length_are_directions():
    for size in (1e-300, 1e-160, 1.0, 1e200, 1e308):
        normal = appell.Contact("a", normal=(size, 0, size)).normal
        close(normal, np.array([1, 0, 1]) / np.sqrt(2), 1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda r, q, v: r.contact_dynamics(q, v, v, contacts="FL_FOOT"),
            "expected a list of links",
        ),
        (lambda r, q, v: r.contact_dynamics(q, v, v, contacts=["toe"]), "toe"),
        (
            lambda r, q, v: r.contact_dynamics(q, v, v, contacts=[3]),
            "expected a link or appell.Frame",
        ),
        (lambda r, q, v: r.contact_dynamics(q, v, v, contacts=FEET, kp=1), "has none; give"),
        (lambda r, q, v: r.contact_dynamics(q, v, v, contacts=FEET, kd=-1), "zero or more"),
        (lambda r, q, v: r.contact_dynamics(q, v, v, contacts=FEET, damping="x"), "zero or more"),
        (lambda r, q, v: r.contact_impulse(q, v, contacts=FEET, restitution=2), "from 0 to 1"),
        (
            lambda r, q, v: r.contact_inverse_dynamics(q, v, v, contacts=FEET, mu=0),
            "coefficient of friction greater than zero",
        ),
        (lambda r, q, v: appell.Contact("a", "sliding"), "expected one of point, fixed"),
        (
            lambda r, q, v: r.contact_dynamics(
                np.stack([q] * 3),
                v,
                v,
                contacts=[appell.Contact(FEET[0], foothold=np.zeros((4, 3)))],
                kp=1.0,
            ),
            r"foothold of FL_FOOT has leading axes \(4,\), and the states \(3,\)",
        ),
        (
            lambda r, q, v: appell.Contact("a", foothold=(1, 2)),
            r"expected a position \(\.\.\., 3\)",
        ),
        (lambda r, q, v: appell.Contact("a", "fixed", foothold=np.ones((4, 4))), "not a rotation"),
        (lambda r, q, v: appell.Contact("a", normal=(0, 0, 0)), "normal is zero"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    robot = solo()
    with pytest.raises(appell.AppellError, match=message):
        call(robot, standing(robot), np.zeros(robot.nv))


@pytest.mark.parametrize("contacts", [["base"], []])
def test_what_does_not_fit_is_told_in_the_methods_name(contacts):
    """Compiled: kernels refuse shapes."""
    robot = tree()
    q, v = robot.neutral(), np.zeros(robot.nv)
    for method in ("contact_dynamics", "contact_dynamics_derivatives"):
        call = getattr(robot, method)
        with pytest.raises(appell.InputError, match=f"^{method}: tau has shape.*zeros for the 6"):
            call(q, v, v[6:], contacts=contacts)
        with pytest.raises(appell.InputError, match=f"^{method}: v has shape"):
            call(q, v[1:], v, contacts=contacts)
    with pytest.raises(appell.InputError, match=r"^contact_impulse: v has shape"):
        robot.contact_impulse(q, v[:-1], contacts=contacts)
    with pytest.raises(appell.InputError, match="v has shape"):
        robot.contact_inverse_dynamics(q, v[:-1], v, contacts=contacts)


def test_closed_robots_are_refused():
    robot = appell.load("four_bar")
    q = robot.reference
    with pytest.raises(appell.InputError, match="has loops or wheels"):
        robot.contact_dynamics(q, [0.0], [0.0], contacts=[robot.link_names[-1]])
