"""From links and hinges to a model: nothing moves, nothing is lost, and nonsense is refused."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from batches import evaluate
from scipy.spatial.transform import Rotation

import appell
from appell.model.build import assemble
from appell.model.description.dh import link_inertia
from appell.model.hinges import Hinge, Mimic
from appell.model.inertia import NOTHING, check_inertia
from appell.model.library.random import random_description, random_rotation
from appell.model.model import Joint
from appell.robots.robot import Robot

BAR = link_inertia("bar", 2.0, [0.5, 0.0, 0.0], [0.01, 0.2, 0.2])


def described(n: int, seed: int):
    return random_description(
        n, seed, branching=0.4, prismatic=0.4, fixed=0.6, rotors=False, friction=False
    )


def pose(R: np.ndarray, s: np.ndarray) -> np.ndarray:
    return np.block([[R, np.reshape(s, (3, 1))], [np.zeros(3), 1]])


@pytest.mark.parametrize("seed", range(10))
def test_every_link_is_where_its_hinges_put_it(seed):
    """Poses composed of the hinges' own matrices, links off their joints and joints off zero."""
    draw = np.random.default_rng(seed)
    links, hinges = described(6, seed)
    hinges = [
        replace(
            h,
            shift=float(draw.normal()),
            link_rotation=random_rotation(draw),
            link_position=draw.normal(size=3),
        )
        for h in hinges
    ]
    model = assemble("tree", links, hinges)
    q = draw.normal(size=(1, 6))
    places, moving = {"base": np.eye(4)}, iter(q[0])
    for h in hinges:
        motion = np.eye(4)
        if h.joint is not None:
            x = np.array(h.axis) * (next(moving) + h.shift)
            if h.joint.kind == "revolute":
                motion[:3, :3] = Rotation.from_rotvec(x).as_matrix()
            else:
                motion[:3, 3] = x
        places[h.child] = (
            places[h.parent]
            @ pose(h.rotation, h.position)
            @ motion
            @ pose(h.link_rotation, h.link_position)
        )
    assert [frame.name for frame in model.frames] == ["base", *(h.child for h in hinges)]
    for name, place in places.items():
        (found,) = evaluate(model, "forward_kinematics", q, frame=name)
        np.testing.assert_allclose(found, place, rtol=0, atol=1e-13)


def test_hinges_may_come_in_any_order():
    links, hinges = described(8, 3)
    straight = assemble("tree", links, hinges)
    shuffled = assemble("tree", links, hinges[::-1])
    names = [joint.name for joint in shuffled.joints]
    assert names != [joint.name for joint in straight.joints]
    q, v, a = np.random.default_rng(0).normal(size=(3, 4, 8))
    order = [int(name.removeprefix("joint")) - 1 for name in names]
    torques = evaluate(straight, "inverse_dynamics", q, v, a)
    np.testing.assert_allclose(
        evaluate(shuffled, "inverse_dynamics", q[:, order], v[:, order], a[:, order]),
        torques[:, order],
        rtol=0,
        atol=1e-12 * np.abs(torques).max(),
    )


def test_links_welded_to_the_base_stand_still_and_weigh_nothing():
    weld = Hinge("weld", "base", "table", None, np.eye(3), np.array([1.0, 2.0, 3.0]))
    hinge = Hinge("joint", "table", "bar", Joint("joint"), np.eye(3), np.zeros(3), (0, 1, 0))
    heavy = Robot(assemble("arm", {"base": NOTHING, "table": BAR, "bar": BAR}, [weld, hinge]))
    light = Robot(assemble("arm", {"base": NOTHING, "table": NOTHING, "bar": BAR}, [weld, hinge]))
    np.testing.assert_array_equal(
        heavy.forward_kinematics([0.7], frame="table"), pose(np.eye(3), np.array([1, 2, 3]))
    )
    assert not heavy.jacobian([0.7], frame="table").any()
    assert heavy.gravity([0.7]) == light.gravity([0.7])


def test_a_robot_of_any_size_keeps_its_inertia():
    """A robot 10 000 times smaller, of the same density: forces by length and mass, no zeros."""
    arm = {
        "convention": "modified",
        "alpha": [0, 1],
        "a": [0, 1],
        "d": [0, 0],
        "mass": [1, 2],
        "com": [[0.5, 0.1, 0]] * 2,
        "inertia": [[0.1, 0.2, 0.2]] * 2,
        "gravity": (3, -5, 8),
    }
    length, mass = 1e-4, 1e-12
    tiny = arm | {
        "a": [0, length],
        "mass": [mass, 2 * mass],
        "com": [[0.5 * length, 0.1 * length, 0]] * 2,
        "inertia": np.array(arm["inertia"]) * mass * length**2,
    }
    q = np.array([0.3, -0.8])
    large, small = Robot.from_dh(**arm), Robot.from_dh(**tiny)
    np.testing.assert_allclose(
        small.mass_matrix(q), large.mass_matrix(q) * mass * length**2, rtol=1e-12
    )
    np.testing.assert_allclose(small.gravity(q), large.gravity(q) * mass * length, rtol=1e-12)


def test_random_links_are_physical():
    for seed in range(50):
        for name, inertia in described(5, seed)[0].items():
            check_inertia(name, inertia)


def hinge(**changes) -> Hinge:
    usual = {"joint": Joint("j"), "rotation": np.eye(3), "position": np.zeros(3)}
    return Hinge("j", "base", "bar", **usual | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rotation": 2 * np.eye(3)}, "joint 'j'.*is no rotation"),
        ({"rotation": -np.eye(3)}, "joint 'j'.*is no rotation.*right-handed"),
        ({"rotation": np.full((3, 3), nan)}, "joint 'j'.*nan.*is no rotation"),
        ({"link_rotation": np.ones((3, 3))}, "joint 'j'.*is no rotation"),
        ({"position": np.array([0, nan, 0])}, "joint 'j': expected finite numbers"),
        ({"link_position": np.array([0, nan, 0])}, "joint 'j': expected finite numbers"),
        ({"shift": nan}, "joint 'j': expected finite numbers"),
        ({"axis": (0, 0, nan)}, "joint 'j': axis .* has no direction"),
        ({"mimic": Mimic("j")}, "joint 'j' mimics 'j', which is not an independent"),
    ],
)
def test_a_hinge_that_means_nothing_is_refused(changes, message):
    with pytest.raises(appell.ModelError, match=message):
        assemble("arm", {"base": NOTHING, "bar": BAR}, [hinge(**changes)])


@pytest.mark.parametrize(
    ("mimic", "message"),
    [
        (Mimic("j", nan), "joint 'k': expected finite numbers"),
        (Mimic("j", 1.0, nan), "joint 'k': expected finite numbers"),
        (Mimic("z"), "joint 'k' mimics 'z', which is not an independent moving joint; those are j"),
    ],
)
def test_a_joint_follows_only_a_joint_that_is_there(mimic, message):
    second = Hinge("k", "bar", "tip", Joint("k"), np.eye(3), np.zeros(3), mimic=mimic)
    with pytest.raises(appell.ModelError, match=message):
        assemble("arm", {"base": NOTHING, "bar": BAR, "tip": BAR}, [hinge(), second])


@pytest.mark.parametrize(
    ("kind", "pitch", "message"),
    [
        ("magnetic", 0, "kind = 'magnetic'; expected one of revolute, prismatic, helical"),
        ("helical", 0, "'helical' with pitch = 0 m/rad; a helical joint has a pitch"),
        ("revolute", 0.1, "'revolute' with pitch = 0.1 m/rad; a helical joint has a pitch, and no"),
    ],
)
def test_a_joint_turns_slides_or_does_both(kind, pitch, message):
    with pytest.raises(appell.ModelError, match=message):
        Joint("j", kind=kind, pitch=pitch)
