"""The PUMA's straight line: kinematics, laws of physics, another engine, and refusals."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import appell
from appell.control.kinematics.spherical_wrist import BRANCHES
from appell.errors import InputError
from appell.maths.rotation import as_matrix
from appell.study.puma_line import PumaLine
from appell.study.straight_line import (
    SingularLineError,
    beyond_ranges,
    bias_acceleration,
    ranges,
    run,
)
from appell.study.study_timing import measure


@pytest.fixture(scope="module")
def study():
    return run()


@pytest.fixture(scope="module", params=BRANCHES)
def motion(request, study):
    return study.motions[request.param]


def rate(x, dt):
    """dx/dt of samples, to the fourth order, without the two at each end."""
    return (8 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) / (12 * dt)


def test_the_line_takes_8_6_seconds(study):
    assert study.path.duration == pytest.approx(8.6, abs=0.05)  # as the paper prints it
    assert np.allclose(study.path.position[[0, -1]], [(0.6, 0.175, 0.25), (0.018, 0.757, 0)])


def test_eight_distinct_branches_elbow_up_first(study):
    assert list(study.motions) == list(BRANCHES)
    assert study.shown.branch == BRANCHES["left-up-flip"]
    angles = [np.exp(1j * m.q) for m in study.motions.values()]
    apart = [abs(p - q).max(-1).min() for k, p in enumerate(angles) for q in angles[:k]]
    assert min(apart) > 0.1


def test_the_arm_shown_keeps_its_joints_within_their_ranges(study):
    """The first of the eight, as was shown once, turns joint 4 to 209 degrees; it goes to 170."""
    lower, upper = ranges(study.robot)
    assert (study.shown.q >= lower).all()
    assert (study.shown.q <= upper).all()
    assert study.motions["left-up-noflip"].beyond == (4,)
    assert [name for name, m in study.motions.items() if not m.beyond] == [
        "left-up-flip", "left-down-noflip", "right-up-noflip", "right-down-flip",
    ]  # fmt: skip


def test_whole_turns_bring_joints_into_their_ranges():
    q = np.radians([[141.0, 10.0], [161.0, 20.0]])
    lower, upper = np.radians([-225.0, 15.0]), np.radians([45.0, 50.0])
    assert beyond_ranges(q, lower, upper) == (2,)


@pytest.mark.parametrize("formulation", ["gibbs_vector", "gibbs_vector_paul"])
def test_torques_by_the_papers_own_equations(study, formulation):
    ours = run(formulation=formulation)
    for name, m in ours.motions.items():
        # Of about 80 N m, rounded in another order.
        assert np.abs(m.tau - study.motions[name].tau).max() < 1e-11
        assert m.returned < 1e-9


def test_the_tool_stays_on_the_line(study, motion):
    T = study.robot.forward_kinematics(motion.q)
    assert np.abs(T[:, :3, 3] - study.path.position).max() < 1e-12
    assert np.abs(T[:, :3, :3] - study.path.R).max() < 1e-12
    assert motion.residual < 1e-12


def test_speeds_and_accelerations_are_the_angles_derivatives(study, motion):
    dt = study.path.t[1]
    # Differences of samples 0.02 s apart err by about dt^4 times the fifth derivative.
    assert np.abs(rate(motion.q, dt) - motion.v[2:-2]).max() < 1e-6
    assert np.abs(rate(motion.v, dt) - motion.a[2:-2]).max() < 1e-6


def test_power_is_the_rate_of_energy(study, motion):
    robot = study.robot
    energy = robot.kinetic_energy(motion.q, motion.v) + robot.potential_energy(motion.q)
    power = (motion.tau * motion.v).sum(axis=-1)
    assert np.abs(rate(energy, study.path.t[1]) - power[2:-2]).max() < 1e-5  # of about 15 W


def test_torques_are_pinocchios(study, motion):
    model = pin.Model()
    parameters = study.robot.parameters.reshape(-1, 10)
    for i, (body, p) in enumerate(zip(study.robot.model.bodies, parameters, strict=True)):
        place = pin.SE3(np.array(as_matrix(body.R0).rows, float), np.array(body.s0, float))
        joint = model.addJoint(i, pin.JointModelRZ(), place, body.joint.name)
        model.appendBodyToJoint(joint, pin.Inertia.FromDynamicParameters(p), pin.SE3.Identity())
    data = model.createData()
    expected = [pin.rnea(model, data, *x) for x in zip(motion.q, motion.v, motion.a, strict=True)]
    assert np.abs(np.array(expected) - motion.tau).max() < 1e-11  # of about 80 N m


def test_forward_dynamics_returns_the_accelerations(motion):
    assert motion.returned < 1e-9


def test_no_branch_comes_near_a_singularity(study, motion):
    J = study.robot.jacobian(motion.q)
    assert motion.singular_value == np.linalg.svd(J, compute_uv=False).min()
    assert not motion.near_singular


def test_bias_acceleration_is_the_jacobians_rate_times_speed(study):
    robot, draw = study.robot, np.random.default_rng(0)
    q, v = draw.uniform(-2, 2, (2, 50, 6))
    h = 1e-5
    dJ = (robot.jacobian(q + h * v) - robot.jacobian(q - h * v)) / (2 * h)
    expected = np.einsum("tij,tj->ti", dJ, v)
    assert np.abs(bias_acceleration(robot.jacobian(q), v) - expected).max() < 1e-7  # h^2


def test_angles_are_continuous_and_start_within_half_a_turn(motion):
    assert np.abs(motion.q[0]).max() <= np.pi
    assert np.abs(np.diff(motion.q, axis=0)).max() < 0.02


def test_one_branch_alone(study):
    one = run(PumaLine(branch="right-down-flip"))
    assert list(one.motions) == ["right-down-flip"]
    assert np.array_equal(one.shown.tau, study.motions["right-down-flip"].tau)


def test_measured_times_are_positive(study):
    timing = measure(study)
    assert timing.states == 8 * 401
    assert min(timing.call, timing.state, timing.ready) > 0


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ({"end": (1.2, 0.0, 0.0)}, r"at \(1.200, 0.000, 0.000\) m the tool is 0.322 m out"),
        ({"start": (0.05, 0, 0.5), "end": (0.6, 0, 0.5)}, r"at \(0.050, .* 0.1 m out"),
        # Both ends are within reach, the middle is inside the base.
        ({"start": (0.5, -0.5, 0.1), "end": (-0.5, 0.5, 0.1)}, "at .* 0.15 m out of reach"),
    ],
)
def test_a_line_out_of_reach_says_how_far(ends, message):
    with pytest.raises(InputError, match=message):
        run(PumaLine(samples=12, **ends))


def through_a_stretched_wrist(robot, samples):
    T = robot.forward_kinematics([0.3, -0.9, 2.9, 0.4, 0.0, 0.2])
    way = np.array([0.05, 0.08, 0.02])
    return PumaLine(
        start=tuple((T[:3, 3] - way).tolist()),
        end=tuple((T[:3, 3] + way).tolist()),
        orientation=tuple(Rotation.from_matrix(T[:3, :3]).as_euler("ZYZ", degrees=True).tolist()),
        samples=samples,
    )


@pytest.mark.parametrize(("samples", "reason"), [(201, "singular at"), (200, "joints jump")])
def test_branches_through_a_singularity_are_refused_the_others_kept(study, samples, reason):
    result = run(through_a_stretched_wrist(study.robot, samples))
    assert result.refused
    assert set(result.refused) | set(result.motions) == set(BRANCHES)
    assert all(reason in text for text in result.refused.values())
    (name, *_) = result.refused
    task = result.task.model_copy(update={"branch": name})
    with pytest.raises(SingularLineError, match=reason):
        run(task)


def test_a_robot_of_another_build_is_refused():
    with pytest.raises(InputError, match="not built like the PUMA"):
        run(robot=appell.load("stanford_arm"))
