"""Robot's methods as a user calls them: shapes, kinds of numbers, errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell
from appell.equations.quantities import QUANTITIES
from appell.model.library.random import random_tree

N = 13


SHAPES = {
    "inverse_dynamics": (6,),
    "regressor": (6, 60),
    "gibbs_function": (),
}


@pytest.mark.parametrize("name", SHAPES)
def test_leading_axes_broadcast(robot, states, name):
    q, v, a = states
    method = getattr(robot, name)
    one = method(q[0], v[0], a[0])
    assert one.shape == SHAPES[name]
    many = method(q[:, None], v[:4], a[0])
    assert many.shape == (N, 4, *SHAPES[name])
    # One state alone takes another way through the library than a batch, but the same code.
    np.testing.assert_array_equal(many[5, 3], method(q[5], v[3], a[0]))


def test_every_method_gives_one_state_and_a_batch_alike(robot, states):
    q, v, a = states
    for name, arguments in {
        "inverse_dynamics": (q, v, a), "forward_dynamics": (q, v, a), "mass_matrix": (q,),
        "coriolis_matrix": (q, v), "gravity": (q,), "bias": (q, v), "friction": (v,),
        "regressor": (q, v, a), "kinetic_energy": (q, v), "potential_energy": (q,),
        "gibbs_function": (q, v, a), "forward_kinematics": (q,), "jacobian": (q,),
    }.items():  # fmt: skip
        batch = getattr(robot, name)(*arguments)
        for k in (0, N - 1):
            single = getattr(robot, name)(*(x[k] for x in arguments))
            np.testing.assert_array_equal(single, batch[k], err_msg=name)


def test_lists_integers_and_booleans_are_converted(robot):
    q, v, a = [1, 0, 2, 0, 1, 0], [True] * 6, (0,) * 6
    expected = robot.inverse_dynamics(*(np.array(x, dtype=float) for x in (q, v, a)))
    np.testing.assert_array_equal(robot.inverse_dynamics(q, v, a), expected)


def test_float32_in_gives_float32_out(robot, states):
    single = [x.astype(np.float32) for x in states]
    torques = robot.inverse_dynamics(*single)
    assert torques.dtype == np.float32
    assert robot.inverse_dynamics(*(x[0] for x in single)).dtype == np.float32
    # Rounding of 24 bits through about 400 operations.
    np.testing.assert_allclose(torques, robot.inverse_dynamics(*states), rtol=0, atol=2e-3)
    assert robot.inverse_dynamics(single[0], states[1], single[2]).dtype == np.float64
    assert robot.kernel("gravity", dtype="float32")([0.0] * 6).dtype == np.float32


@pytest.mark.parametrize("awkward", ["fortran", "reversed", "strided", "read_only", "unaligned",
                                     "swapped", "transposed"])  # fmt: skip
def test_memory_may_lie_in_any_way(robot, states, awkward):
    expected = robot.inverse_dynamics(*states)

    def arranged(x):
        if awkward == "fortran":
            return np.asfortranarray(x)
        if awkward == "reversed":
            return x[::-1].copy()[::-1]
        if awkward == "strided":
            return np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3]
        if awkward == "unaligned":
            raw = np.zeros(x.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(x.shape)
            raw[:] = x
            return raw
        if awkward == "swapped":
            return x.astype(">f8")
        if awkward == "transposed":
            return x.T.copy().T
        x = x.copy()
        x.flags.writeable = False
        return x

    np.testing.assert_array_equal(robot.inverse_dynamics(*map(arranged, states)), expected)
    one = robot.inverse_dynamics(*(arranged(x)[4] for x in states))
    np.testing.assert_array_equal(one, expected[4])


def test_empty_batches_stay_empty(robot):
    nothing = np.zeros((0, 6))
    assert robot.inverse_dynamics(nothing, nothing, nothing).shape == (0, 6)
    assert robot.mass_matrix(np.zeros((3, 0, 6))).shape == (3, 0, 6, 6)


def test_out_is_written_and_returned(robot, states):
    expected = robot.mass_matrix(states[0])
    out = np.zeros((N, 6, 6))
    assert robot.mass_matrix(states[0], out=out) is out
    np.testing.assert_array_equal(out, expected)
    spread = np.zeros((N, 6, 12))[:, :, ::2]
    robot.mass_matrix(states[0], out=spread)
    np.testing.assert_array_equal(spread, expected)


def test_out_may_be_an_input(robot, states):
    expected = robot.inverse_dynamics(*states)
    a = states[2].copy()
    robot.inverse_dynamics(states[0], states[1], a, out=a)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("joint", range(6))
@pytest.mark.parametrize("argument", range(3))
def test_a_nan_in_any_input_is_seen_in_the_torques(robot, states, argument, joint):
    states[argument, 2, joint] = np.nan
    torques = robot.inverse_dynamics(*states)
    assert np.isnan(torques[2]).any()
    assert np.isfinite(np.delete(torques, 2, axis=0)).all()
    np.testing.assert_array_equal(robot.inverse_dynamics(*states[:, 2]), torques[2])


def test_joint_speeds_and_accelerations_have_other_names(robot, states):
    q, v, a = states
    expected = robot.inverse_dynamics(q, v, a)
    np.testing.assert_array_equal(robot.inverse_dynamics(q, qd=v, qdd=a), expected)
    np.testing.assert_array_equal(robot.inverse_dynamics(q=q, v=v, qdd=a), expected)
    np.testing.assert_array_equal(robot.bias(q, qd=v), robot.bias(q, v))


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (np.zeros(5), r"q has shape \(5,\); expected \(\.\.\., 6\)"),
        (np.zeros((6, 1)), r"q has shape \(6, 1\)"),
        (0.0, r"q has shape \(\)"),
        (np.zeros(6, dtype=complex), "q has dtype complex128; expected real.*real part"),
        (np.zeros(6, dtype=object), "q has dtype object"),
        (["a"] * 6, "q has dtype <U1"),
        ([[0.0] * 6, [0.0] * 5], "q is ragged"),
        (None, "q is missing"),
        (np.zeros(6, dtype=np.longdouble), "which float64 cannot hold"),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_expected(robot, q, message):
    with pytest.raises(appell.InputError, match=message):
        robot.inverse_dynamics(q, np.zeros(6), np.zeros(6))


def test_batches_that_do_not_fit_are_named(robot):
    with pytest.raises(appell.InputError, match=r"q \(2,\), v \(3,\)"):
        robot.bias(np.zeros((2, 6)), np.zeros((3, 6)))


def test_a_missing_argument_is_named(robot):
    with pytest.raises(appell.InputError, match="a is missing"):
        robot.inverse_dynamics(np.zeros(6), np.zeros(6))


def test_an_out_that_does_not_fit_is_refused_and_untouched(robot, states):
    out = np.full((N - 1, 6), 7.0)
    with pytest.raises(appell.InputError, match="out= does not fit"):
        robot.inverse_dynamics(*states, out=out)
    assert (out == 7).all()


def test_a_payload_is_felt_where_it_hangs(robot, states):
    q = states[0]
    heavier = robot.with_payload(2.0, com=(0, 0, 0.1))
    pull = np.array([0, 0, -9.81 * 2.0])
    T, J = robot.forward_kinematics(q), robot.jacobian(q)
    arm = T[:, :3, :3] @ [0, 0, 0.1]
    wrench = np.concatenate([np.broadcast_to(pull, (N, 3)), np.cross(arm, pull)], axis=1)
    expected = robot.gravity(q) - np.einsum("nij,ni->nj", J, wrench)
    np.testing.assert_allclose(heavier.gravity(q), expected, rtol=0, atol=1e-12)


def test_a_payload_that_cannot_be_is_refused(robot):
    with pytest.raises(appell.ModelError, match="mass is negative"):
        robot.with_payload(-1.0)
    with pytest.raises(appell.ModelError, match="changes nothing"):
        robot.with_payload(1.0, link="base")
    with pytest.raises(appell.InputError, match="no frame 'hand'"):
        robot.with_payload(1.0, link="hand")


def test_gravity_is_a_choice(robot, states):
    weightless = robot.with_gravity((0, 0, 0))
    assert not weightless.gravity(states[0]).any()
    for wrong in ((0, 0), 9.81, "down", (0, 0, np.nan), None):
        with pytest.raises(appell.ModelError, match=r"three numbers|finite"):
            robot.with_gravity(wrong)


def test_a_joint_that_moves_nothing_is_named():
    arm = appell.Robot.from_dh(
        convention="modified", alpha=[0, 0], a=[0, 1], d=[0, 0], mass=[1, 0],
        com=[[0.5, 0, 0], [0, 0, 0]], inertia=[[0.1, 0.1, 0.1], [0, 0, 0]],
    )  # fmt: skip
    assert arm.inverse_dynamics([0, 0], [0, 0], [1, 1])[1] == 0
    with pytest.raises(appell.ModelError, match="joint2 feels no inertia"):
        arm.forward_dynamics([0, 0], [0, 0], [1, 1])


def test_friction_is_added_when_asked(states):
    model = appell.load("puma560").model
    joints = [replace(j, viscous=0.5 * k, coulomb=1.0 + k) for k, j in enumerate(model.joints)]
    bodies = [replace(b, joint=j) for b, j in zip(model.bodies, joints, strict=True)]
    robot = appell.Robot(replace(model, bodies=tuple(bodies), joints=tuple(joints)))
    q, v, a = states
    v[0, 0] = 0.0
    k = np.arange(6)
    expected = 0.5 * k * v + (1.0 + k) * np.sign(v)
    np.testing.assert_allclose(robot.friction(v), expected)
    with_friction = robot.inverse_dynamics(q, v, a, friction=True)
    np.testing.assert_allclose(with_friction, robot.inverse_dynamics(q, v, a) + expected)
    returned = robot.forward_dynamics(q, v, with_friction, friction=True)
    np.testing.assert_allclose(returned, a, rtol=0, atol=1e-11)


def test_selfcheck_holds_for_every_robot_of_the_library():
    for name in ("puma560", "stanford_arm", "two_link", "planar_chain", "random_tree"):
        failed = [check for check in appell.load(name).selfcheck(states=20) if not check.passed]
        assert not failed, name


# What others found by trying


@pytest.mark.parametrize("n", [50, 20_000])
def test_out_may_overlap_the_inputs_in_any_way(robot, n):
    """Large batches are cut among threads: an output must not overtake another's input."""
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, n, 6))
    expected = robot.inverse_dynamics(q, v, a)
    shifted = np.zeros((n + 1, 6))
    shifted[:-1] = q
    robot.inverse_dynamics(shifted[:-1], v, a, out=shifted[1:])
    np.testing.assert_array_equal(shifted[1:], expected)
    backwards = q[::-1].copy()
    robot.inverse_dynamics(backwards[::-1], v, a, out=backwards)
    np.testing.assert_array_equal(backwards, expected)


def test_friction_is_taken_before_out_overwrites_the_speeds(states):
    model = appell.load("puma560").model
    joints = tuple(replace(j, viscous=2.0) for j in model.joints)
    bodies = tuple(replace(b, joint=j) for b, j in zip(model.bodies, joints, strict=True))
    robot = appell.Robot(replace(model, bodies=bodies, joints=joints))
    q, v, a = states
    expected = robot.inverse_dynamics(q, v, a, friction=True)
    robot.inverse_dynamics(q, v, a, friction=True, out=v)
    np.testing.assert_array_equal(v, expected)


def test_an_argument_given_under_both_its_names_is_refused(robot):
    z = np.zeros(6)
    with pytest.raises(appell.InputError, match="v is given twice, as v and as qd"):
        robot.inverse_dynamics(z, z, z, qd=z)
    with pytest.raises(appell.InputError, match="a is given twice, as a and as qdd"):
        robot.regressor(z, z, z, qdd=z)


def test_masked_arrays_are_refused(robot):
    masked = np.ma.array(np.zeros(6), mask=[1, 0, 0, 0, 0, 0])
    with pytest.raises(appell.InputError, match="masked"):
        robot.gravity(masked)


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda r, z: appell.Robot("puma560"), "appell.load"),
        (lambda r, z: r.kernel("gravity", frame="link1"), "asked of no frame"),
        (lambda r, z: r.operations("gravity", frame="link1"), "asked of no frame"),
        (lambda r, z: r.kernel("gravity", dtype="nonsense"), "float64 and float32"),
        (lambda r, z: r.kernel("gravity", parameters=3), "expected a name"),
        (lambda r, z: r.kernel("gravity", wrt=3), "expected a name"),
        (lambda r, z: r.forward_dynamics(z, z, None, friction=True), "tau is missing"),
        (lambda r, z: r.forward_dynamics(z, z, "abc", friction=True), "tau has dtype"),
        (lambda r, z: r.forward_kinematics(z, frame=["link1"]), "no frame"),
        (
            lambda r, z: r.gravity(np.zeros((20_000, 6)), out=[1.0]),
            r"got list; expected writable arrays",
        ),
        (lambda r, z: r.selfcheck(1.5), "whole number"),
        (lambda r, z: r.selfcheck(5, seed=-1), "whole number"),
    ],
)
def test_misuse_is_answered_with_a_cure(robot, misuse, message):
    with pytest.raises(appell.InputError, match=message):
        misuse(robot, np.zeros(6))
    with pytest.raises(appell.ModelError, match="expected numbers"):
        robot.with_payload("heavy")


def test_many_states_are_checked_a_few_at_a_time(monkeypatch):
    """Memory does not grow with them, and the worst error of all is told."""
    robot, sizes = appell.load("two_link"), []
    drawn = type(robot).states_to_check

    def seen(self, count, draw):
        sizes.append(count)
        return drawn(self, count, draw)

    monkeypatch.setattr(type(robot), "states_to_check", seen)
    many = robot.selfcheck(states=250, seed=3)
    assert sizes == [100, 100, 50]
    few = robot.selfcheck(states=100, seed=3)
    for worst, first in zip(many, few, strict=True):
        assert worst.law == first.law
        assert worst.error >= first.error


def test_a_law_that_gives_no_number_in_one_block_has_failed():
    from appell.robots.selfcheck import Check, in_blocks

    errors = iter([1e-3, np.nan, 0.0])
    [check] = in_blocks(lambda *_: [Check("law", next(errors), 1.0)], 300, 0)
    assert not check.passed


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_friction_has_the_precision_of_the_result(kind):
    """The result is float64 unless all arguments are float32: friction is part of it."""
    robot = appell.Robot(random_tree(4, 2, branching=0.0, friction=True))
    draw = np.random.default_rng(0)
    q, v, a = draw.normal(size=(3, 5, 4))
    v = v.astype(np.float32)
    q, a = q.astype(kind), a.astype(kind)
    wide = v.astype(np.float64) if kind == "float64" else v
    expected = robot.inverse_dynamics(q, wide, a, friction=True)
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    assert tau.dtype == expected.dtype == kind
    np.testing.assert_array_equal(tau, expected)
    np.testing.assert_array_equal(
        robot.forward_dynamics(q, v, a, friction=True),
        robot.forward_dynamics(q, wide, a, friction=True),
    )
    np.testing.assert_array_equal(
        robot.forward_dynamics(q, v, a.astype(np.float32), friction=True),
        robot.forward_dynamics(q, wide, a.astype(np.float32), friction=True),
    )


# Quaternions of any length


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_quaternion_of_any_length_is_a_rotation(dtype):
    robot = appell.load("free_chain")
    draw = np.random.default_rng(1)
    small, large = {"float64": (1e-300, 1e300), "float32": (1e-35, 1e35)}[dtype]
    lengths = np.geomspace(small, large, 41)
    q = np.repeat(draw.normal(size=(1, robot.nq)), len(lengths), axis=0)
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    unit = q.astype(dtype)
    q[:, 3:7] *= lengths[:, None]
    q = q.astype(dtype)
    close = 32 * np.finfo(dtype).eps
    for quantity, frame in (("gravity", None), ("forward_kinematics", "P6"), ("jacobian", "P6")):
        kernel = robot.kernel(quantity, frame=frame, dtype=dtype)
        expected = kernel(unit[0])
        size = np.abs(expected).max()
        batch = kernel(q)
        assert np.abs(batch - expected).max() < close * size
        for row, single in zip(q, batch, strict=True):
            np.testing.assert_array_equal(kernel(row), single)
            if dtype == "float64":
                extra = (robot.model.frame(frame),) if frame else ()
                equation = QUANTITIES[quantity].formulations[robot.default_formulation(quantity)]
                on_floats = np.array(equation(robot.model, row.tolist(), *extra), dtype=float)
                assert np.abs(on_floats - expected).max() < close * size
    np.testing.assert_allclose(robot.gravity(q), robot.gravity(unit), rtol=0, atol=close * 1e3)


def test_a_quaternion_beyond_all_lengths_is_no_rotation():
    robot = appell.load("free_chain")
    q = np.zeros((4, robot.nq))
    q[:, 3:7] = np.array([0.0, 1e308, 5e-324, np.inf])[:, None]
    with np.errstate(all="ignore"):
        assert np.isnan(robot.gravity(q)).any(axis=1).all()
