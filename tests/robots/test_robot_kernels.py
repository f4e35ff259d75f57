"""Robot.kernel and its options."""

from __future__ import annotations

import copy
import pickle
from itertools import permutations

import numpy as np
import pytest

import appell
from appell.model.parameters import GROUPS, with_values
from appell.robots.bounded_cache import BoundedCache
from appell.robots.recipe import wrench_names

N = 13


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formulation": "magic"}, "no formulation 'magic'; it has gibbs_lean"),
        ({"formulation": ""}, "no formulation ''; it has gibbs_lean"),
        ({"formulation": []}, r"no formulation \[\]; it has gibbs_lean"),
        ({"dtype": "int32"}, "float64 and float32"),
        ({"target": "abacus"}, "expected one of cpu, cuda"),
        ({"parameters": "colour"}, "expected one of mass, com"),
        ({"wrt": "tau"}, "inputs are q, v, a"),
    ],
)
def test_an_unknown_option_is_answered_with_the_known_ones(robot, options, message):
    with pytest.raises(appell.InputError, match=message):
        robot.kernel("inverse_dynamics", **options)


def test_an_unknown_quantity_or_frame_is_answered_with_the_known_ones(robot):
    with pytest.raises(appell.InputError, match="there are inverse_dynamics"):
        robot.kernel("entropy")
    with pytest.raises(appell.InputError, match="its frames are base, link1"):
        robot.jacobian(np.zeros(6), frame="hand")


@pytest.mark.parametrize("group", GROUPS)
def test_a_parameter_given_to_a_kernel_acts_as_in_another_robot(robot, states, group):
    kernel = robot.kernel("inverse_dynamics", parameters=group)
    np.testing.assert_allclose(kernel(*states), robot.inverse_dynamics(*states), rtol=0, atol=1e-12)
    own = kernel.defaults[group]
    if group == "geometry":  # turned and moved, still a rotation
        changed = own.reshape(6, 3, 4).copy()
        turn = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])
        changed[..., :3] = changed[..., :3] @ turn
        changed[..., 3] += 0.1
        changed = changed.reshape(6, 12)
    else:
        changed = own * 1.3 + 0.01
    other = appell.Robot(with_values(robot.model, {group: changed.tolist()}))
    expected = other.inverse_dynamics(*states)
    assert np.abs(expected - robot.inverse_dynamics(*states)).max() > 1e-3
    np.testing.assert_allclose(kernel(*states, changed), expected, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(kernel(*states, **{group: changed}), kernel(*states, changed))


def test_parameters_have_batches_of_their_own(robot, states):
    kernel = robot.kernel("gravity", parameters=("mass", "gravity"))
    fields = np.array([[0, 0, -9.81], [0, 0, -1.62], [0, 0, 0]])
    g = kernel(states[0][:, None], gravity=fields)
    assert g.shape == (N, 3, 6)
    np.testing.assert_allclose(g[:, 0], robot.gravity(states[0]), atol=1e-12)
    np.testing.assert_allclose(g[:, 2], 0, atol=1e-12)


def test_a_kernel_says_what_it_takes(robot):
    kernel = robot.kernel("inverse_dynamics", parameters="gravity")
    with pytest.raises(appell.InputError, match="v, a missing"):
        kernel(np.zeros(6))
    with pytest.raises(appell.InputError, match="wind is unknown"):
        kernel(*np.zeros((3, 6)), wind=0)
    with pytest.raises(appell.InputError, match="got 5"):
        kernel(*np.zeros((3, 6)), [0, 0, 0], 1)
    assert "gravity[3]" in repr(kernel)


def test_derivatives_by_recording_agree_with_the_analytic_ones(robot, states):
    by_recording = robot.kernel("inverse_dynamics", wrt=("q", "v", "a"))(*states)
    analytic = robot.inverse_dynamics_derivatives(*states)
    for x, y in zip(by_recording, analytic, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-11)


def test_defaults_of_a_kernel_cannot_be_changed_by_accident(robot):
    kernel = robot.kernel("gravity", parameters="mass")
    with pytest.raises(ValueError, match="read-only"):
        kernel.defaults["mass"][:] = 0


def test_kernels_travel_by_pickle(robot, states):
    kernel = robot.kernel("inverse_dynamics", dtype="float32", regroup=False)
    assert copy.deepcopy(kernel) is kernel  # which never changes
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again(*states), kernel(*states))


def test_a_kernel_takes_the_names_that_methods_take():
    robot = appell.load("two_link")
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    kernel = robot.kernel("inverse_dynamics")
    expected = robot.inverse_dynamics(q, v, a)
    assert (kernel(q, qd=v, qdd=a) == expected).all()
    assert (kernel(qdd=a, v=v, q=q) == expected).all()
    with pytest.raises(appell.InputError, match="v is given twice"):
        kernel(q, v, qd=v, a=a)
    with pytest.raises(appell.InputError, match="qdd is unknown"):
        robot.kernel("bias")(q, v, qdd=a)
    with pytest.raises(appell.InputError, match="qd is unknown"):
        robot.kernel("gravity")(q, qd=v)


def test_a_request_is_found_again_whatever_its_names_are_in():
    robot = appell.load("two_link")
    first = robot.kernel("inverse_dynamics", wrt=["q"], forces=["link2"])
    assert robot.kernel("inverse_dynamics", wrt=["q"], forces=["link2"]) is first
    assert robot.kernel("inverse_dynamics", wrt=("q",), forces=("link2",)) is first
    assert len(robot._requests) == 1


def test_kernels_at_ever_new_places_are_let_go(monkeypatch):
    """And answer as before, those that were let go included."""
    robot, w = appell.load("two_link"), np.arange(6.0)
    q, v = np.array([[0.3, -0.5], [0.2, 0.4]])
    monkeypatch.setattr(BoundedCache, "most", 2)
    for x in (0.1, 0.2, 0.3, 0.1):
        place = appell.Frame("link2", (x, 0, 0))
        expected = robot.bias(q, v) - robot.jacobian(q, place).T @ w
        for _ in range(2):
            found = robot.bias(q, v, forces={place: w})
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        for cache in (robot._kernels, robot._requests, robot._singles):
            assert len(cache) <= 2


def test_wrenches_on_links_whose_names_are_alike_have_names_of_their_own():
    build, before = appell.Builder("alike"), "world"
    names = ["a-b_2", "a-b", "a_b", "a b"]
    for k, name in enumerate(names):
        build.link(name, mass=1.0, com=(0.1, 0, 0.2))
        build.joint(f"j{k}", "revolute", before, name, axis="xyzx"[k], pose=(0.1, 0, 0.1))
        before = name
    robot, draw = build.robot(), np.random.default_rng(0)
    q, v = draw.normal(size=(2, 4))
    for order in permutations(names):
        assert len(set(wrench_names(order))) == len(names)
    forces = {name: draw.normal(size=6) for name in names}
    work = sum(robot.jacobian(q, name).T @ w for name, w in forces.items())
    found = robot.bias(q, v, forces=forces)
    np.testing.assert_allclose(found, robot.bias(q, v) - work, rtol=0, atol=1e-12)
