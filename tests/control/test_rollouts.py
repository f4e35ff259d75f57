"""Rollouts against closed loops and simulations computed one by one, and laws of physics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell
from appell.control import (
    ComputedTorque,
    Noise,
    Payload,
    PDGravity,
    TrackingIntegral,
    quintic,
    track,
)
from appell.errors import InputError
from appell.maths.scalar import sin

START = np.array([1.5, 0.1, 1.5, 0.2, -0.1, 0.3])
WAY = np.array([-0.7, 0.5, -1.2, 0.7, 1.0, 1.2])
# Both take the same steps and differ by the order of sums alone: 300 steps of an arm whose errors
# shrink leave a few hundred units in the last place.
ROUNDING = 1e-11


@pytest.fixture(scope="module")
def puma():
    return appell.load("puma560")


@pytest.fixture(scope="module")
def move():
    return quintic(START, START + WAY, 0.3)


def tracked(robot, law, move, **how):
    return track(robot, law, move, period=1e-3, method="RK4", stops=False, **how)


@pytest.mark.parametrize("kind", [ComputedTorque, PDGravity, TrackingIntegral])
def test_a_run_is_that_of_a_closed_loop(puma, move, kind):
    law = kind(puma)
    off = START + 1e-2 * np.random.default_rng(0).normal(size=(3, 6))
    found = appell.rollout(puma, law, move, off, every=1)
    for k in range(3):
        run = tracked(puma, law, move, q0=off[k], v0=np.zeros(6))
        assert found.path["q"][k] == pytest.approx(run.q, abs=ROUNDING)
        assert found.path["v"][k] == pytest.approx(run.v, abs=100 * ROUNDING)
        assert found.path["tau"][k, 1:] == pytest.approx(run.tau[:-1], abs=1e4 * ROUNDING)
    assert not found.failed.any()


@pytest.mark.parametrize(
    "how",
    [
        {"delay": 2},
        {"encoder": 4096},
        {"torque_limit": 30.0},
        {"encoder": 500, "speeds": "differences"},
    ],
)
def test_hardware_is_that_of_a_closed_loop(puma, move, how):
    law = ComputedTorque(puma, kp=400, kd=40)
    found = appell.rollout(puma, law, move, every=1, **how)
    run = tracked(puma, law, move, **how)
    # Rounding moves a position across a count of the encoder now and then.
    bound = 1e-3 if "encoder" in how else ROUNDING
    assert found.path["q"][0] == pytest.approx(run.q, abs=bound)


def test_only_what_is_watched_may_be_kept(puma, move):
    law = ComputedTorque(puma, kp=100, kd=20)
    how = {"q0": START + [[0.01] * 6, [0.02] * 6], "reduce": "worst_error"}
    whole = appell.rollout(puma, law, move, **how)
    lean = appell.rollout(puma, law, move, **how, final=False)
    assert lean.q.shape == lean.v.shape == (2, 0)
    assert np.array_equal(lean.worst_error, whole.worst_error)
    assert not lean.failed.any()
    cures = {"q": "leave final=False out", "cost": "give cost=", "work": "add 'work' to reduce="}
    for asked, cure in cures.items():
        with pytest.raises(InputError, match=rf"{cure}, or choose among worst_error\."):
            appell.rollout(puma, law, move, **how, final=False, gradient=asked)


def test_inputs_of_other_types_and_orders_are_the_same_numbers(puma, move):
    """They are converted some runs at a time."""
    law = ComputedTorque(puma, kp=100, kd=20)
    q0 = np.float32(START + 0.01 * np.random.default_rng(0).normal(size=(50, 6)))
    counts = np.random.default_rng(1).integers(500, 5000, (50, 6))
    plain = appell.rollout(puma, law, move, np.float64(q0), encoder=np.float64(counts), steps=20)
    for x, y in (
        (q0, counts),
        (np.asfortranarray(q0), counts),
        (q0[::-1][::-1], counts.T.copy().T),
    ):
        assert np.array_equal(appell.rollout(puma, law, move, x, encoder=y, steps=20).q, plain.q)
    for k in (0, 49):
        alone = appell.rollout(puma, law, move, np.float64(q0[k]), encoder=counts[k], steps=20)
        assert np.array_equal(alone.q[0], plain.q[k])
    slopes = [
        appell.rollout(puma, law, move, x, steps=20, gradient="q", by="q0").gradient["q0"]
        for x in (np.float64(q0), np.asfortranarray(q0))
    ]
    assert np.array_equal(*slopes)


def test_every_run_may_have_its_own_delay(puma, move):
    law = ComputedTorque(puma, kp=400, kd=40)
    together = appell.rollout(puma, law, move, delay=[0, 3, 1])
    for k, delay in enumerate((0, 3, 1)):
        alone = appell.rollout(puma, law, move, delay=delay)
        assert together.q[k] == pytest.approx(alone.q[0], abs=ROUNDING)


def test_parameters_gains_and_friction_by_run_are_those_of_other_robots(puma, move):
    draw = np.random.default_rng(2)
    mass = puma.system.values("mass") * draw.uniform(0.8, 1.2, (3, 1))
    kp = np.array([50.0, 100.0, 200.0])[:, None] * np.ones(6)
    viscous = draw.uniform(0, 0.5, (3, 6))
    law = ComputedTorque(puma, kp=100, kd=30)
    found = appell.rollout(
        puma, law, move, parameters={"mass": mass}, gains={"kp": kp}, viscous=viscous
    )
    names = puma.joint_names
    for k in range(3):
        other = _with_masses(puma, mass[k]).with_friction(
            viscous=dict(zip(names, viscous[k], strict=True))
        )
        run = tracked(other, ComputedTorque(puma, kp=kp[k], kd=30), move, friction=True)
        assert found.q[k] == pytest.approx(run.q[-1], abs=ROUNDING)


def _with_masses(robot, mass):
    """The robot with other masses, whose centres and inertias about these stay."""
    own = robot.parameters.copy()
    com = robot.system.values("com")
    for k, (old, new) in enumerate(zip(robot.system.values("mass"), mass, strict=True)):
        own[10 * k] = new
        own[10 * k + 1 : 10 * k + 4] = new * com[k]
        x, y, z = com[k]
        point = np.array([y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y])
        own[10 * k + 4 : 10 * k + 10] += (new - old) * point
    return robot.with_parameters(own)


def test_the_same_rollout_is_compiled_once():
    arm = appell.load("planar_chain", n=2)
    law = PDGravity(arm)
    for load in (1.0, 2.0, 3.0):
        appell.rollout(arm, law, [0.1, 0.2], steps=5, viscous=0.1, payload=Payload(load), delay=1)
        kinds = [key[0] for key in arm._kernels if isinstance(key, tuple)]
        assert sum("rollout" in str(kind) for kind in kinds) == 2  # the friction's, and its own


def test_a_payload_is_what_the_arm_carries(puma, move):
    law = ComputedTorque(puma, kp=100, kd=20)
    loads, at = np.array([0.5, 2.0]), (0.05, -0.02, 0.1)
    found = appell.rollout(puma, law, move, payload=Payload(loads, at))
    for k, load in enumerate(loads):
        run = tracked(puma.with_payload(load, at), law, move)
        assert found.q[k] == pytest.approx(run.q[-1], abs=ROUNDING)


@pytest.mark.parametrize("link", ["tool0", "forearm_link"])
def test_a_payload_has_moments_of_inertia_along_the_axes_of_its_link(link):
    ur5, q0 = appell.load("ur5"), [0.3, -1.0, 0.8, -0.4, 0.5, 0.2]
    at, moments = (0.1, 0.2, -0.1), (0.1, 0.12, 0.15)
    found = appell.rollout(ur5, q0=q0, steps=100, payload=Payload([0.0, 2.0], at, link, moments))
    loaded = ur5.with_payload(2.0, at, np.diag(moments), link=link)
    alone = [appell.rollout(x, q0=q0, steps=100) for x in (ur5, loaded)]
    # Sums in another order: some units in the last place, which 100 steps let grow a little.
    assert np.abs(found.q - [x.q[0] for x in alone]).max() < 1e-12


def test_forces_from_outside(puma, move):
    law = ComputedTorque(puma, kp=100, kd=20)

    def wind(t, q, v):
        return [2 * sin(20 * t + q[0]), 0, -v[2], 0, 0, 0]

    found = appell.rollout(puma, law, move, external=wind)
    # A rollout holds the force for a step, a tracked run does not: first order in dt.
    run = tracked(puma, law, move, external=wind)
    assert found.q[0] == pytest.approx(run.q[-1], abs=2e-5)
    constant = np.array([[1.0, 2, 3, 0, 0, 0], [0, 0, 0, 0.1, 0, 0]])
    by_run = appell.rollout(puma, law, move, external=constant)
    by_step = appell.rollout(puma, law, move, external=np.repeat(constant[:, None], 300, axis=1))
    assert by_run.q == pytest.approx(by_step.q, abs=1e-14)
    gusts = np.random.default_rng(0).normal(size=(1, 300, 6))
    same = appell.rollout(puma, law, move, external=gusts, runs=2)
    each = appell.rollout(puma, law, move, external=np.repeat(gusts, 2, axis=0))
    assert np.array_equal(same.q, each.q)
    run = tracked(puma, law, move, external=constant[1])
    assert by_run.q[1] == pytest.approx(run.q[-1], abs=ROUNDING)


def test_reductions_are_those_of_the_path(puma, move):
    law = PDGravity(puma)
    found = appell.rollout(
        puma, law, move, START + [[0.02] * 6, [0.0] * 6], every=1, tolerance=0.02,
        reduce=["worst_error", "rms_error", "peak_torque", "peak_speed", "effort", "work",
                "settling_time"],
        cost=lambda t, q, v, tau, qd, vd: sum((x - y) ** 2 for x, y in zip(q, qd, strict=True)),
    )  # fmt: skip
    q, v, tau = (found.path[x] for x in ("q", "v", "tau"))
    error, acting = move(found.t)[0] - q, tau[:, 1:]
    assert found.worst_error == pytest.approx(np.abs(error).max(1), rel=1e-12)
    assert found.rms_error == pytest.approx(np.sqrt((error**2).mean(1)), rel=1e-12)
    assert found.peak_speed == pytest.approx(np.abs(v).max(1), rel=1e-12)
    assert found.peak_torque == pytest.approx(np.abs(acting).max(1), rel=1e-12)
    assert found.effort == pytest.approx(1e-3 * (acting**2).sum((1, 2)), rel=1e-12)
    speed = (v[:, :-1] + v[:, 1:]) / 2
    assert found.work == pytest.approx(1e-3 * (acting * speed).sum((1, 2)), rel=1e-9)
    assert found.cost == pytest.approx(1e-3 * (error[:, :-1] ** 2).sum((1, 2)), rel=1e-12)
    outside = (np.abs(error) > 0.02).any(-1)
    last = [np.flatnonzero(row)[-1] if row.any() else -1 for row in outside]
    expected = [np.inf if k == len(found.t) - 1 else (k + 1) * 1e-3 for k in last]
    assert found.settling_time == pytest.approx(expected, abs=1e-12)


def test_energy_errors_at_the_end_and_success(puma, move):
    law = ComputedTorque(puma, kp=100, kd=20)
    mass = puma.system.values("mass") * np.array([[1.0], [2.0]])
    found = appell.rollout(
        puma, law, move, [START, START + 0.5], parameters={"mass": mass}, tolerance=0.05, every=300,
        reduce=["energy", "final_error", "success"],
    )  # fmt: skip
    assert found.final_error == pytest.approx(move(0.3)[0] - found.q, abs=1e-12)
    assert found.success.tolist() == [1.0, 0.0]
    for k, robot in enumerate((puma, _with_masses(puma, mass[1]))):
        q, v = found.path["q"][k], found.path["v"][k]
        energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
        assert found.energy[k] == pytest.approx(energy, rel=1e-12)


def test_the_first_violation_of_a_limit():
    ur5 = appell.load("ur5")
    fast = np.zeros((2, 6))
    fast[1, 0] = 10.0  # rad/s, beyond what the file allows
    found = appell.rollout(ur5, None, None, ur5.neutral(), fast, steps=5)
    assert found.first_violation[1] == 0
    assert np.isinf(found.first_violation[0])


def with_limits(robot, **limits):
    """The robot with limits of some joints, {name: {"speed": ..., "effort": ...}}."""
    bodies = tuple(
        replace(body, joint=replace(body.joint, **limits.get(body.joint.name, {})))
        for body in robot.model.bodies
    )
    joints = tuple(replace(x, **limits.get(x.name, {})) for x in robot.model.joints)
    return robot._with_model(replace(robot.model, bodies=bodies, joints=joints))


def test_limits_of_robots_with_loops_and_on_free_bases():
    """Speeds of joints that follow loops, torques of actuators that are not the first joints."""
    plain = appell.load("five_bar")
    q0, v0 = plain.neutral(), np.array([[0.1, 0.0], [0.3, -0.3]])
    elbows = [plain.joint_names.index(x) for x in ("left elbow", "right elbow")]
    slow, fast = np.abs(plain.speeds(np.array([q0, q0]), v0)[:, elbows]).max(axis=1)
    assert slow < fast
    limit = {
        "left elbow": {"speed": (slow + fast) / 2},
        "right elbow": {"speed": (slow + fast) / 2},
    }
    robot = with_limits(plain, **limit)
    found = appell.rollout(robot, None, None, q0, v0, steps=2)
    assert found.first_violation.tolist() == [np.inf, 0]
    robot = with_limits(plain, **{"right shoulder": {"effort": 2.0}})
    for tau, expected in (([3.0, 1.0], np.inf), ([1.0, -3.0], 0.0)):
        found = appell.rollout(robot, None, None, q0, steps=2, tau=tau)
        assert found.first_violation[0] == expected
    free = with_limits(appell.load("free_chain", n=2), q1={"effort": 10.0, "speed": 5.0})
    for k in range(7):
        hard = {"tau": 50.0 * (np.arange(7) == k)}
        found = appell.rollout(free, None, None, free.neutral(), steps=1, **hard)
        assert (found.first_violation[0] == 0) == (k == 6)
    found = appell.rollout(free, None, None, free.neutral(), 9.0 * np.eye(7), steps=1)
    assert np.flatnonzero(found.first_violation == 0).tolist() == [6]


def test_a_joint_that_mimics_another_has_a_speed_limit_of_its_own():
    text = """<robot name="gripper"><link name="base"/>
<link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="one" type="continuous"><parent link="base"/><child link="a"/></joint>
<joint name="two" type="revolute"><parent link="base"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="9" velocity="4"/><mimic joint="one" multiplier="-2"/></joint>
</robot>"""
    robot = appell.Robot.from_urdf(text)
    assert robot.nv == 1
    found = appell.rollout(robot, q0=[0.0], v0=[[1.9], [-2.1]], steps=1)
    assert found.first_violation.tolist() == [np.inf, 0]


@pytest.mark.parametrize(
    ("method", "order"), [("rk4", 4), ("semi_implicit_euler", 1), ("implicit_midpoint", 2)]
)
def test_integrators_have_their_order(method, order):
    chain = appell.load("planar_chain")
    q0, v0 = [0.4, 0.3, -0.2], [1.0, -1.0, 2.0]
    exact = appell.simulate(chain, q0, v0, until=0.4, rtol=1e-12, atol=1e-13, stops=False)
    errors = []
    for n in (50, 100):
        found = appell.rollout(chain, None, None, q0, v0, steps=n, dt=0.4 / n, integrator=method)
        errors.append(np.abs(found.q[0] - exact.q[-1]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


def test_substeps_are_shorter_steps():
    chain = appell.load("planar_chain")
    q0 = [0.4, 0.3, -0.2]
    coarse = appell.rollout(chain, None, None, q0, steps=20, dt=0.01, substeps=4)
    fine = appell.rollout(chain, None, None, q0, steps=80, dt=0.0025)
    assert coarse.q == pytest.approx(fine.q, abs=1e-13)


def test_a_free_base_keeps_energy_and_a_quaternion_of_length_one():
    build = appell.Builder("biped", base="free")
    build.link("trunk", appell.inertia.box(5, (0.3, 0.4, 0.2)))
    build.link("leg", appell.inertia.box(1, (0.05, 0.05, 0.4), com=(0, 0, -0.2)))
    build.joint("hip", "revolute", "trunk", "leg", pose=(0, 0.1, -0.1), axis="y")
    robot = build.robot()
    v0 = [0.1, 0, 0, 1, 2, 3, 0.5]
    found = appell.rollout(robot, None, None, robot.neutral(), v0, steps=400, every=400)
    exact = appell.simulate(robot, robot.neutral(), v0, until=0.4, rtol=1e-12, atol=1e-13)
    assert found.q[0] == pytest.approx(exact.q[-1], abs=1e-9)
    assert np.linalg.norm(found.q[0, 3:7]) == pytest.approx(1, abs=1e-15)
    q, v = found.path["q"][0], found.path["v"][0]
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    assert np.ptp(energy) < 1e-9


@pytest.mark.parametrize("name", ["five_bar", "four_bar", "delta", "differential_drive"])
def test_loops_stay_closed_and_move_as_simulated(name):
    robot = appell.load(name)
    v0 = 0.2 * np.random.default_rng(0).uniform(-1, 1, robot.nv)
    q0 = robot.neutral()
    found = appell.rollout(robot, None, None, q0, v0, steps=60)
    exact = appell.simulate(robot, q0, v0, until=0.06, rtol=1e-11, atol=1e-12, stops=False)
    assert not found.failed.any()
    assert found.q[0] == pytest.approx(exact.q[-1], abs=1e-8)
    assert robot.assembly.is_closed(found.q[0])


def test_a_law_moves_a_robot_with_loops():
    robot = appell.load("five_bar")
    own = list(robot.system.coordinates)
    a = robot.neutral()[own]
    move = quintic(a, a + [0.1, -0.1], 0.2)
    law = ComputedTorque(robot, kp=400, kd=40)
    found = appell.rollout(robot, law, move, robot.neutral(), reduce="worst_error")
    run = track(robot, law, move, q0=robot.neutral(), period=1e-3, stops=False)
    assert found.q[0] == pytest.approx(run.q[-1], abs=1e-7)
    assert found.worst_error.max() < 1e-3


def test_a_run_through_a_singular_configuration_is_marked():
    robot = appell.load("five_bar")
    found = appell.rollout(robot, None, None, robot.neutral(), [[0.3, -0.2], [0.0, 0.0]], steps=500)
    assert found.failed[0]
    assert 0.3 < found.singular_at[0] < 0.5


def test_a_spherical_robot():
    robot = appell.load("agile_wrist")
    q0 = robot.neutral() + 0.1
    found = appell.rollout(robot, None, None, q0, steps=50)
    exact = appell.simulate(robot, q0, np.zeros(3), until=0.05, rtol=1e-11, atol=1e-12)
    assert found.q[0] == pytest.approx(exact.q[-1], abs=1e-8)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_walls_err_by_the_length_of_a_step(restitution):
    chain, floor = appell.load("planar_chain"), appell.walls.Plane((0, 1, 0), -1.5)
    q0, until = [0.3, 0.2, 0.1], 0.75
    exact = appell.simulate(chain, q0, until=until, walls=[floor], restitution=restitution)
    assert len(exact.impacts) == 1
    errors = [
        np.abs(
            appell.rollout(chain, None, None, q0, steps=n, dt=until / n, walls=[floor],
                           restitution=restitution).q[0] - exact.q[-1]
        ).max()
        for n in (7_500, 75_000)
    ]  # fmt: skip
    assert errors[0] < 2e-3
    assert errors[1] < errors[0] / 4


def test_a_box_slides_to_rest_on_a_floor():
    build = appell.Builder("box", base="free")
    build.link("box", appell.inertia.box(2, (0.2, 0.2, 0.1)))
    box = build.robot()
    corners = [(x, y, -0.05) for x in (0.1, -0.1) for y in (0.1, -0.1)]
    points = {f"corner{k}": ("box", at) for k, at in enumerate(corners)}
    q0 = box.neutral()
    q0[2] = 0.05
    mu, speed = 0.4, 0.5
    found = appell.rollout(
        box, None, None, q0, [speed, 0, 0, 0, 0, 0], steps=400,
        walls=appell.walls.Plane((0, 0, 1)), points=points, mu=mu, restitution=0.0,
    )  # fmt: skip
    assert found.v[0] == pytest.approx(np.zeros(6), abs=2e-3)
    assert found.q[0, 0] == pytest.approx(speed**2 / (2 * mu * 9.81), rel=0.02)
    assert found.q[0, 2] == pytest.approx(0.05, abs=5e-5)


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_a_box_that_is_thrown_on_a_floor_keeps_a_quaternion_of_length_one(dt):
    """Walls put positions back; what they leave is an orientation all the same."""
    build = appell.Builder("box", base="free")
    build.link("box", appell.inertia.box(2, (0.2, 0.2, 0.1)))
    box = build.robot()
    corners = [(x, y, -0.05) for x in (0.1, -0.1) for y in (0.1, -0.1)]
    points = {f"corner{k}": ("box", at) for k, at in enumerate(corners)}
    q0 = box.neutral()
    q0[2] = 0.12
    found = appell.rollout(
        box, None, None, q0, [0, 0, -3, 3, 2, 1], steps=round(0.1 / dt), dt=dt, every=1,
        walls=appell.walls.Plane((0, 0, 1)), points=points, restitution=0.3,
    )  # fmt: skip
    assert found.path["v"][0, -1, 2] > -2  # it struck the floor
    lengths = np.linalg.norm(found.path["q"][0, :, 3:7], axis=1)
    assert lengths == pytest.approx(np.ones(len(lengths)), abs=1e-15)


def test_no_torque_acts_beyond_its_limit():
    """Not by noise, and not by what waits before the first delayed one acts."""
    arm = appell.load("planar_chain", n=2)
    found = appell.rollout(
        arm, q0=[0.1, 0.2], steps=20, runs=200, tau=[4.0, -4.0], torque_limit=5.0,
        noise=Noise(tau=3.0), reduce="peak_torque",
    )  # fmt: skip
    assert found.peak_torque.max() == 5.0
    assert found.peak_torque.min() > 4.0
    law, move = PDGravity(arm), quintic([0.1, 0.2], [0.3, 0.1], 0.02)
    how = {"delay": 5, "torque_limit": 5.0}  # it takes 15 N m to hold it
    late = appell.rollout(arm, law, move, reduce="peak_torque", **how)
    assert late.peak_torque.max() == 5.0
    run = tracked(arm, law, move, **how)
    assert np.abs(run.tau).max() == 5.0
    assert late.q[0] == pytest.approx(run.q[-1], abs=ROUNDING)


def test_stops_hold_joints():
    ur5 = appell.load("ur5")
    q0 = np.zeros(6)
    q0[0] = 6.28
    v0 = np.zeros(6)
    v0[0] = 1.0
    found = appell.rollout(ur5, None, None, q0, v0, steps=100, stops=True)
    limit = ur5.model.joints[0].upper
    assert found.q[0, 0] < limit + 1e-3
    free = appell.rollout(ur5, None, None, q0, v0, steps=100)
    assert free.q[0, 0] > limit + 0.05
    assert np.isfinite(free.first_violation[0])


def test_noise_belongs_to_a_run_and_not_to_its_place(puma, move):
    law = ComputedTorque(puma, kp=100, kd=20)
    noise = Noise(q=1e-3, v=1e-2, tau=0.5, seed=7)
    all_runs = appell.rollout(puma, law, move, runs=20, noise=noise)
    some = appell.rollout(puma, law, move, runs=3, noise=noise, ids=[11, 0, 19])
    assert np.array_equal(some.q, all_runs.q[[11, 0, 19]])
    assert len(np.unique(all_runs.q[:, 0])) == 20
    other = appell.rollout(puma, law, move, runs=3, noise=Noise(q=1e-3, v=1e-2, tau=0.5, seed=8))
    assert not np.array_equal(other.q, all_runs.q[:3])


def test_noise_has_its_deviation():
    chain = appell.load("planar_chain")
    found = appell.rollout(chain, None, None, [0.1, 0.2, 0.3], steps=1, runs=4000,
                           noise=Noise(tau=[1.0, 2.0, 3.0]), every=1)  # fmt: skip
    tau = found.path["tau"][:, 1]
    # Of 4000 numbers the deviation is known to 1.1 %, the mean to 1.6 % of it.
    assert tau.std(0) == pytest.approx([1, 2, 3], rel=0.06)
    assert np.abs(tau.mean(0) / [1, 2, 3]).max() < 0.08
    assert np.abs(np.corrcoef(tau.T) - np.eye(3)).max() < 0.08


def test_a_run_that_blows_up_leaves_the_others_alone():
    chain = appell.load("planar_chain")
    v0 = np.zeros((5, 3))
    v0[2] = 1e200
    found = appell.rollout(chain, None, None, [0.1, 0.2, 0.3], v0, steps=50)
    alone = appell.rollout(chain, None, None, [0.1, 0.2, 0.3], steps=50)
    assert found.failed.tolist() == [False, False, True, False, False]
    assert np.array_equal(found.q[[0, 1, 3, 4]], np.repeat(alone.q, 4, axis=0))


def test_torques_without_a_law():
    chain = appell.load("planar_chain")
    draw = np.random.default_rng(3).normal(size=(4, 25, 3))
    found = appell.rollout(chain, None, None, [0.1, 0.2, 0.3], steps=25, tau=draw, every=1)
    assert np.array_equal(found.path["tau"][:, 1:], draw)
    shared = appell.rollout(chain, None, None, [0.1, 0.2, 0.3], steps=25, tau=draw[2])
    assert np.array_equal(shared.q[0], found.q[2])


def test_single_precision_is_near(puma, move):
    law = ComputedTorque(puma, kp=100, kd=20)
    single = appell.rollout(puma, law, move, dtype="float32")
    assert single.q.dtype == np.float32
    assert single.q[0] == pytest.approx(appell.rollout(puma, law, move).q[0], abs=1e-3)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"q0": np.zeros(5)}, r"q0 has shape \(5,\); expected \(6,\), or \(runs, 6\)"),
        ({"q0": np.full(6, np.nan)}, r"q0\[0\] is nan"),
        ({"q0": np.zeros((3, 6)), "v0": np.zeros((2, 6))}, "for 2 runs, and what was given before"),
        ({"integrator": "euler"}, "expected one of rk4"),
        ({"reduce": ["worst"]}, "expected one of worst_error"),
        ({"gains": {"kx": 1.0}}, "expected one of kp"),
        ({"delay": 1.5}, "whole numbers of samples"),
        ({"dt": 0}, "greater than zero"),
        ({"substeps": 0}, "1 or more"),
        ({"tau": np.zeros(6)}, "both give torques"),
        ({"parameters": {"weight": 1}}, "expected one of mass"),
        ({"noise": Noise(q=[1.0, 2.0])}, "Noise: q has shape"),
        ({"payload": Payload(-1.0)}, "zero or more"),
        ({"payload": Payload(1.0, inertia=(0.1, 0.2, 0.4))}, "which no body has"),
        ({"runs": 0}, "1 or more"),
    ],
)
def test_what_cannot_be_is_refused(puma, move, how, said):
    with pytest.raises(InputError, match=said):
        appell.rollout(puma, ComputedTorque(puma), move, **how)


def test_what_is_missing_is_told(puma):
    with pytest.raises(InputError, match="trajectory"):
        appell.rollout(puma, ComputedTorque(puma))
    with pytest.raises(InputError, match="steps is missing"):
        appell.rollout(puma)
    with pytest.raises(InputError, match="needs a trajectory"):
        appell.rollout(puma, steps=3, reduce="worst_error")
    with pytest.raises(AttributeError, match="this rollout has no 'worst_error'"):
        _ = appell.rollout(puma, steps=3).worst_error
    with pytest.raises(InputError, match="walls and stops are for trees"):
        appell.rollout(appell.load("five_bar"), steps=3, walls=appell.walls.Plane((0, 1, 0), -9))


def test_friction_that_steps_cannot_follow_is_refused(puma):
    with pytest.raises(InputError, match=r"too fast for steps of 0\.001 s; expected less than 2e"):
        appell.rollout(puma, steps=5, coulomb=1.0)
    appell.rollout(puma, steps=5, coulomb=1.0, slip=30.0)
    heavy = puma.with_armature(dict.fromkeys(puma.joint_names, 1.0))
    appell.rollout(heavy, steps=5, coulomb=1.0)


@pytest.fixture
def both_ways(monkeypatch):
    """(robot, law, ...) -> the run of `track` as a rollout, or None if it was none, and sample by
    sample."""
    from appell.control.tracking import at_once

    rolled = at_once.rollout
    found: list = []

    def tracked_twice(*arguments, **how):
        how = {"period": 1e-3, "method": "RK4", **how}
        with monkeypatch.context() as patch:
            patch.setattr(at_once, "LONG", 10)
            patch.setattr(at_once, "rollout", lambda *x, **y: found.append(1) or rolled(*x, **y))
            found.clear()
            whole = track(*arguments, **how)
        return whole if found else None, track(*arguments, **how)

    return tracked_twice


def same_runs(one, other, bound=1e-9):
    names = ("t", "q", "v", "tau", "commanded", "measured", "state", "desired", "kinetic")
    for name in (*names, "potential", "reactions"):
        x, expected = getattr(one, name), getattr(other, name)
        assert x.shape == expected.shape, name
        assert x == pytest.approx(expected, abs=bound), name
    between = np.linspace(0, one.t[-1], 777)
    for x, y in zip(one(between), other(between), strict=True):
        assert x == pytest.approx(y, abs=bound)
    assert one.voltage is other.voltage is None
    assert one.stopped == other.stopped
    assert one.contacts == other.contacts


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        (ComputedTorque, {}),
        (TrackingIntegral, {}),
        (PDGravity, {"delay": 3}),
        (ComputedTorque, {"torque_limit": 30.0}),
        (TrackingIntegral, {"torque_limit": 50.0, "delay": 2}),
        (ComputedTorque, {"speeds": "differences"}),
        (ComputedTorque, {"external": [1.0, 2, 3, 0, 0.1, 0]}),
        (PDGravity, {"encoder": 4096}),
        (TrackingIntegral, {"encoder": 20_000, "speeds": "differences", "external": np.ones(6)}),
    ],
)
def test_a_long_closed_loop_is_a_rollout(puma, move, both_ways, kind, how):
    believed = puma.with_payload(1.0)
    how = {"q0": START + 0.01, "v0": np.full(6, 0.1), "until": 0.35, **how}
    whole, one_by_one = both_ways(puma, kind(believed), move, **how)
    assert whole is not None
    # Torques are as uncertain as positions are, times gains of some thousands.
    same_runs(whole, one_by_one, 1e-8)


def test_a_long_loop_alone_is_worth_a_kernel(puma, monkeypatch):
    from appell.control.tracking import at_once

    asked = []
    known = at_once.rollout
    monkeypatch.setattr(at_once, "rollout", lambda *x, **y: asked.append(1) or known(*x, **y))
    for until, count in ((1.9, 0), (2.1, 1)):
        tracked(puma, ComputedTorque(puma), quintic(START, START + WAY, until))
        assert len(asked) == count


def test_joints_that_keep_from_their_limits_are_a_rollout_and_others_are_not(both_ways):
    ur5 = appell.load("ur5")
    law, start = ComputedTorque(ur5, kp=100, kd=20), np.full(6, 0.1)
    whole, one_by_one = both_ways(ur5, law, quintic(start, start + 0.5, 0.3))
    assert whole is not None
    assert len(whole.contacts) > 0
    same_runs(whole, one_by_one)
    start[0] = ur5.model.joints[0].upper - 0.02
    struck, expected = both_ways(ur5, law, quintic(start, start + 0.1, 0.3))
    assert len(expected.impacts) > 0
    assert len(struck.impacts) == len(expected.impacts)
    assert np.array_equal(struck.q, expected.q)  # both went sample by sample


@pytest.mark.parametrize(
    "how",
    [
        {"external": lambda t, q, v: 0 * v},
        {"adc": appell.control.Adc(12)},
        {"friction": appell.control.Friction(viscous=0.1)},
        {"method": "DOP853"},
        {"walls": appell.walls.Plane((0, 0, 1), -9)},
        {"motor": appell.control.Motor(0.1, 1.0, 50.0, 100)},
    ],
)
def test_what_a_rollout_does_not_have_goes_sample_by_sample(puma, move, both_ways, how):
    whole, _ = both_ways(puma, ComputedTorque(puma), move, until=0.02, **how)
    assert whole is None


def test_what_is_kept_may_be_chosen(puma, move):
    law = TrackingIntegral(puma)
    how = {"delay": 2, "encoder": 500, "torque_limit": 40.0, "every": 1, "steps": 50}
    names = ["state", "commanded", "measured", "tau", "q", "v"]
    found = appell.rollout(puma, law, move, START + 0.01, **how, keep=names)
    assert list(found.path) == names
    state, asked, seen, tau, q, v = (found.path[x][0] for x in names)
    assert seen[1:] == pytest.approx(np.pi / 250 * np.round(q[:-1] / (np.pi / 250)), abs=1e-15)
    assert np.array_equal(np.clip(asked[1:-2], -40, 40), tau[3:])
    assert state.shape == (51, law.nstate)
    desired = [x[:50] for x in move(found.t)]
    again, later = law(seen[1:], v[:-1], *desired, state[:-1], period=1e-3)
    assert again == pytest.approx(asked[1:], abs=1e-9)
    assert later == pytest.approx(state[1:], abs=1e-9)
    with pytest.raises(InputError, match="no law that has one"):
        appell.rollout(puma, steps=2, every=1, keep="state")
    with pytest.raises(InputError, match="expected one of q, v"):
        appell.rollout(puma, steps=2, every=1, keep=["a"])
    with pytest.raises(InputError, match="keep is empty"):
        appell.rollout(puma, steps=2, every=1, keep=[])


def test_friction_of_a_point_that_moves_along_one_line():
    """Normal and friction impulses act against each other there."""
    arm, floor = appell.load("planar_chain", n=2), appell.walls.Plane((0, 1, 0), -0.5)
    case = {"walls": [floor], "restitution": 0.5, "mu": 0.3}
    exact = appell.simulate(arm, [0.3, 0.2], until=0.6, **case)
    assert len(exact.impacts) == 1
    found = appell.rollout(arm, None, None, [0.3, 0.2], steps=6000, dt=1e-4, **case)
    assert found.q[0] == pytest.approx(exact.q[-1], abs=1e-3)


def test_work_is_what_the_actuators_do():
    for name, options in (("planar_3rrr", {}), ("delta", {}), ("planar_chain", {"n": 2})):
        robot = appell.load(name, **options)
        tau = np.random.default_rng(0).normal(size=robot.system.size("d"))
        found = appell.rollout(
            robot, None, None, robot.neutral(), steps=400, dt=1e-4, tau=tau,
            reduce=["work", "energy", "work"],
        )  # fmt: skip
        gained = found.energy[0, 1] - found.energy[0, 0]
        assert found.work[0] == pytest.approx(gained, rel=0.02, abs=1e-4), name
    with pytest.raises(InputError, match="work: the actuators of"):
        appell.rollout(appell.load("agile_wrist"), steps=2, reduce="work")


def test_a_free_fall_is_not_slowed_by_the_friction_of_joints():
    robot = appell.load("free_chain", n=2)
    found = appell.rollout(robot, None, None, robot.neutral(), steps=200, viscous=1.0)
    free = appell.rollout(robot, None, None, robot.neutral(), steps=200)
    assert found.v[0, :6] == pytest.approx(free.v[0, :6], abs=1e-9)


def test_a_run_does_not_depend_on_the_first_one():
    robot = appell.load("five_bar")
    own = list(robot.system.coordinates)
    a = robot.neutral()[own]
    move, law = quintic(a, a + 0.05, 0.02), ComputedTorque(robot)
    near = robot.integrate(robot.neutral(), [0.01, -0.02])
    both = appell.rollout(robot, law, move, np.stack([near, robot.neutral()]))
    alone = appell.rollout(robot, law, move, robot.neutral())
    assert np.array_equal(both.q[1], alone.q[0])


@pytest.mark.parametrize(
    ("name", "how", "said"),
    [
        ("agile_wrist", {"viscous": 0.1}, "do not act on its speeds one by one"),
        ("agile_wrist", {"external": np.ones(3)}, "do not act on its speeds one by one"),
        ("planar_chain", {"q0": np.zeros((0, 3))}, "0 runs; expected one or more"),
        ("planar_chain", {"torque_limit": [[-5.0] * 3]}, "greater than zero"),
        ("planar_chain", {"torque_limit": [["a", "b", "c"]]}, "expected real numbers"),
        ("planar_chain", {"encoder": [[100.0, 0.0, 100.0]]}, "0 counts; expected"),
        ("planar_chain", {"payload": Payload([1.0, -1.0])}, "mass is -1; expected zero or more"),
        ("planar_chain", {"tau": np.ones((2, 3)), "q0": np.zeros((2, 3))}, "as many runs as steps"),
        ("planar_chain", {"external": np.ones((2, 3))}, r"shape \(2, 3\), and there are 2"),
        ("planar_chain", {"external": np.ones((2, 3)), "runs": 9}, "None. for forces by step"),
        ("planar_chain", {"ids": [2**32], "noise": Noise(tau=1.0)}, "from 0 to 2"),
        ("planar_chain", {"noise": Noise(tau=-1.0)}, "a deviation is negative"),
        ("planar_chain", {"coulomb": -1.0}, "coulomb is negative"),
        ("planar_chain", {"tolerance": -1.0, "reduce": "success"}, "tolerance is negative"),
        ("planar_chain", {"tolerance": np.nan, "reduce": "success"}, "tolerance is nan; expected"),
        ("planar_chain", {"q0": ["0", "0", "0"]}, "expected real numbers"),
        ("planar_chain", {"q0": np.ma.masked_array([0.0, 0, 0], [1, 0, 0])}, "expected real"),
        ("planar_chain", {"parameters": {"mass": [-1.0, 1, 1]}}, "a mass is negative"),
        ("planar_chain", {"reduce": "settling_time", "tolerance": [1, 2]}, "tolerance has"),
        ("five_bar", {"speeds": "differences"}, "coordinates that are no joints"),
        ("five_bar", {"q0": [0.1, 0.2, 0.3, 0.4]}, "are open by"),
    ],
)  # fmt: skip
def test_what_would_be_wrong_in_silence_is_refused(name, how, said):
    with pytest.raises(InputError, match=said):
        appell.rollout(appell.load(name), **{"steps": 2, **how})


def test_more_joints_than_random_numbers_are_refused():
    with pytest.raises(InputError, match="random numbers per step"):
        appell.rollout(appell.load("planar_chain", n=90), steps=1, noise=Noise(tau=1.0))


def test_a_rollout_is_told_in_one_line():
    arm = appell.load("planar_chain", n=2)
    found = appell.rollout(arm, q0=np.zeros((3, 2)), steps=4, reduce=["work"], every=2)
    assert repr(found).startswith("<Rollout of 3 runs: q (3, 2), v (3, 2), work (3,)")
    assert "path of q (3, 3, 2), v (3, 3, 2)" in repr(found)


@pytest.mark.parametrize("how", [{}, {"delay": 2}])
def test_a_long_loop_that_is_interrupted_keeps_its_whole_parts(puma, move, monkeypatch, how):
    from appell.control.tracking import at_once

    how = {"period": 1e-3, "method": "RK4", "until": 0.1, **how}
    monkeypatch.setattr(at_once, "LONG", 10)
    monkeypatch.setattr(at_once, "PART", 30)
    whole = track(puma, ComputedTorque(puma), move, **how)
    parts, part_of = [], at_once._part

    def interrupted(*arguments):
        if len(parts) == 2:
            raise KeyboardInterrupt
        parts.append(part_of(*arguments))
        return parts[-1]

    monkeypatch.setattr(at_once, "_part", interrupted)
    cut = track(puma, ComputedTorque(puma), move, **how)
    assert cut.stopped == "interrupted at 0.06 s"
    assert len(whole.t) == 101
    assert np.array_equal(cut.q, whole.q[:61])
    assert np.array_equal(cut(0.0555)[0], whole(0.0555)[0])


def test_how_far_joints_pass_their_limits_is_watched_in_every_substep():
    """Of a rollout whose samples see only the ends of seven substeps."""
    link = "<link name='{0}'><inertial><origin xyz='0.2 0 0'/><mass value='1'/><inertia ixx='0.01' "
    link += "ixy='0' ixz='0' iyy='0.01' iyz='0' izz='0.01'/></inertial></link>"
    joint = "<joint name='{0}' type='{1}'><parent link='{2}'/><child link='{3}'/>"
    joint += "<axis xyz='{4}'/><limit lower='-0.4' upper='0.3' effort='9' velocity='9'/></joint>"
    robot = appell.Robot.from_urdf(
        "<robot name='two'><link name='base'/>" + link.format("a") + link.format("b")
        + joint.format("turn", "revolute", "base", "a", "0 1 0")
        + joint.format("slide", "prismatic", "a", "b", "1 0 0") + "</robot>"
    )  # fmt: skip
    q0 = np.random.default_rng(0).uniform(-0.3, 0.2, (8, 2))
    watched = {"q0": q0, "v0": 4 * q0[::-1], "reduce": ["beyond_limits"], "every": 1}
    coarse = appell.rollout(robot, steps=8, dt=0.014, substeps=7, **watched)
    fine = appell.rollout(robot, steps=56, dt=0.002, **watched)
    q = fine.path["q"]
    deepest = np.maximum(np.maximum(q - 0.3, -0.4 - q), 0).max(axis=(1, 2))
    assert 0 < np.count_nonzero(deepest) < 8
    # Times of steps are rounded otherwise, and so are the sums.
    np.testing.assert_allclose(coarse.beyond_limits, deepest, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fine.beyond_limits, deepest, rtol=1e-12)
