"""Closed robots keep their energy and their loops, and stop before what is singular."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

import appell
from appell.robots.closed import ClosedRobot, SingularError
from appell.robots.closed.assemble import null_space
from appell.robots.closed.independent_speeds import Freedom
from appell.simulation import Run, load_run
from appell.simulation.run_chart import coordinate_names


def springs(robot: ClosedRobot, stiffness: float):
    """Springs in the actuated joints, relaxed at the reference: a law and its energy."""
    places = robot.coordinates()
    rest = robot.reference[places]
    hold = robot.inverse_dynamics(robot.reference, np.zeros(robot.nv), np.zeros(robot.nv))

    def law(t, q, v):
        return hold - stiffness * (q[places] - rest)

    def energy(q):
        apart = q[:, places] - rest
        return stiffness / 2 * (apart**2).sum(axis=1) - apart @ hold

    return law, energy


STIFFNESS = {"four_bar": 5.0, "five_bar": 20.0, "planar_3rrr": 20.0, "delta": 20.0,
             "stewart_gough": 5e3, "differential_drive": 1.0}  # fmt: skip


@pytest.mark.parametrize("name", STIFFNESS)
def test_energy_and_loops_are_kept(name):
    robot = appell.load(name)
    law, stored = springs(robot, STIFFNESS[name])
    q, v = robot.random_states(1, seed=5, spread=0.02)
    run = robot.simulate(q[0], 0.2 * v[0], until=2.0, torque=law)
    assert run.stopped is None
    assert run.t[-1] == 2.0
    energy = run.energy + stored(run.q)
    assert np.ptp(run.kinetic) > 1e-4  # it moves
    assert np.abs(energy - energy[0]).max() < 1e-8
    assert run.opening.max() < 1e-10
    # Speeds of the tree agree with the coordinates they move.
    if not robot.model.free:
        slope = np.gradient(run.q, run.t, axis=0)[5:-5]
        assert np.abs(slope - run.speeds[5:-5]).max() < 0.1 * np.abs(run.speeds).max()


def test_a_falling_five_bar_changes_its_speeds_on_the_way():
    robot = appell.load("five_bar")
    run = robot.simulate(robot.reference, [0.3, -0.2], until=2.0)
    assert run.stopped is None
    assert len(run.choices) > 1
    assert run.choices[0] == (0.0, ("left shoulder", "right shoulder"))
    assert np.abs(run.energy - run.energy[0]).max() < 1e-8
    assert run.opening.max() < 1e-10
    assert run.v.shape == (len(run.t), 2)
    assert (run.v == run.speeds[:, [0, 2]]).all()


def parallelogram():
    robot = appell.load("four_bar", ground=0.8, crank=0.3, coupler=0.8, rocker=0.3).with_gravity(
        (0, 0, 0)
    )
    return robot, robot.assemble([1.0, -1.0, 1.0], fixed={"crank": 1.0})


@pytest.mark.parametrize("margin", [1e-4, 1e-2, 0.1])
def test_a_run_stops_before_a_parallelogram_becomes_flat(margin):
    """It moves uniformly, so its steps are as long as rounding lets them be: the time must not
    depend on them. The crank's angle at which the loop has that margin is found apart."""
    robot, q = parallelogram()

    def spare(angle):
        return float(robot.margins([angle, -angle, angle]).loops) - margin

    when = 1.0 - brentq(spare, 1e-6, 1.0, xtol=1e-14)  # flat when it has turned by a radian
    for longest in (np.inf, 0.3, 0.01):
        run = robot.simulate(q, [-1.0], until=3.0, singular=margin, max_step=longest)
        assert run.stopped is not None
        assert "singular" in run.stopped
        # Halved down to 1e-12 s; an error of 1e-12 in q shifts the margin by as much.
        assert abs(run.t[-1] - when) < 1e-10
        assert np.abs(run.energy - run.energy[0]).max() < 1e-8
        assert run.opening.max() < 1e-10


def test_speeds_that_do_equally_well_are_chosen_in_the_order_of_the_joints():
    """Whatever rounding favours: the rows of the basis are turned, and perturbed by rounding."""
    draw = np.random.default_rng(3)
    B = np.linalg.qr(np.vstack([np.eye(2), np.eye(2), 0.1 * np.ones((1, 2))]))[0]
    for _ in range(20):
        turn = np.linalg.qr(draw.normal(size=(2, 2)))[0]
        other = B @ turn + draw.uniform(-1e-15, 1e-15, B.shape)
        assert Freedom(3, [other]).best() == [0, 1]


def test_the_allowed_speeds_have_one_basis():
    """An SVD gives any one, as its kernels on each processor please."""
    draw = np.random.default_rng(4)
    J = draw.normal(size=(3, 7))
    expected = null_space(J, 3)
    for _ in range(10):
        mixed = draw.normal(size=(3, 3)) @ J
        assert np.abs(null_space(mixed, 3) - expected).max() < 1e-11
    assert np.abs(J @ expected).max() < 1e-14
    assert np.abs(expected.T @ expected - np.eye(4)).max() < 1e-14


def test_long_steps_over_where_the_speeds_degenerate_are_taken_again():
    """A skate turned by a motor: its speed along x degenerates where the blade points along y."""
    from appell.model.build import assemble
    from appell.robots.closed import KnifeEdge
    from appell.robots.closed.library.parts import disc

    tree = appell.Robot(assemble("skate", {"skate": disc(1.0, 0.1)}, [], base="planar"))
    robot = appell.close(tree, [KnifeEdge("skate")], independent=["X1", "turn"])
    run = robot.simulate(np.zeros(3), [1.0, 2.0], until=3.0, rtol=1e-2, atol=1e-2)
    assert run.stopped is None
    assert len(run.choices) > 1
    fine = robot.simulate(np.zeros(3), [1.0, 2.0], until=3.0)
    # It goes round a circle of radius 0.5 at a speed of 1.
    x, y = 0.5 * np.sin(2 * fine.t), 0.5 * (1 - np.cos(2 * fine.t))
    assert np.abs(fine.q[:, :2] - np.stack([x, y], axis=1)).max() < 1e-10


def test_a_run_from_a_singular_configuration_is_refused():
    robot = appell.load("four_bar", ground=0.8, crank=0.3, coupler=0.8, rocker=0.3)
    with pytest.raises(SingularError, match="q0 is singular"):
        robot.simulate([0.0, 0.0, 0.0], [1.0], until=1.0)


def test_a_dropped_delta_stops_where_its_rods_are_stretched():
    robot = appell.load("delta")
    run = robot.simulate(robot.reference, [0.05, 0.02, 0.0], until=3.0)
    assert run.stopped is not None
    assert run.t[-1] < 3.0
    assert np.isfinite(run.q).all()
    assert np.abs(run.energy - run.energy[0]).max() < 1e-7
    assert run.opening.max() < 1e-10


def test_friction_takes_energy_as_fast_as_it_says():
    robot = appell.load("five_bar")
    model = robot.model
    rubbing = tuple(replace(j, viscous=0.2) for j in model.joints)
    bodies = tuple(replace(b, joint=rubbing[b.coordinate]) for b in model.bodies)
    slow = appell.close(
        appell.Robot(replace(model, joints=rubbing, bodies=bodies)),
        robot.constraints, guess=robot.reference, independent=robot.independent,
    )  # fmt: skip
    v = np.array([0.4, -0.7])
    speeds = slow.speeds(slow.reference, v)
    lost = slow.friction(v, q=slow.reference) @ v
    assert lost == pytest.approx(0.2 * (speeds**2).sum(), rel=1e-12)
    a = np.ones(2)
    more = slow.inverse_dynamics(slow.reference, v, a, friction=True)
    tau = slow.inverse_dynamics(slow.reference, v, a)
    assert np.abs(more - tau - slow.friction(v, q=slow.reference)).max() < 1e-12
    assert np.abs(slow.forward_dynamics(slow.reference, v, more, friction=True) - a).max() < 1e-11
    run = slow.simulate(slow.reference, v, until=0.5, friction=True)
    assert (np.diff(run.energy) < 0).all()


def test_torques_and_times_are_checked():
    robot = appell.load("four_bar")
    with pytest.raises(appell.InputError, match="open by"):
        robot.simulate([1.0, 0.0, 0.0], until=1.0)
    with pytest.raises(appell.InputError, match="torque"):
        robot.simulate(robot.reference, until=1.0, torque=[1.0, 2.0])
    with pytest.raises(appell.InputError, match="torque law"):
        robot.simulate(robot.reference, until=1.0, torque=lambda t, q, v: [np.nan])
    with pytest.raises(appell.InputError, match="until"):
        robot.simulate(robot.reference, until=-1.0)
    with pytest.raises(appell.InputError, match="v0"):
        robot.simulate(robot.reference, [1.0, 2.0], until=1.0)
    disc = appell.load("rolling_disc")
    with pytest.raises(appell.InputError, match="no actuators"):
        disc.simulate(disc.reference, until=1.0, torque=[1.0])


def test_a_law_that_fails_or_writes_keeps_the_motion():
    robot = appell.load("four_bar")
    q = robot.assemble(fixed={"crank": 1.0})

    def breaks(t, q, v):
        if t > 0.1:
            raise RuntimeError("the belt slipped")
        return np.zeros(1)

    run = robot.simulate(q, [1.0], until=0.5, torque=breaks)
    assert "the belt slipped" in run.stopped
    assert 0 < run.t[-1] < 0.5

    def writes(t, q, v):
        q -= 1
        return np.zeros(1)

    plain = robot.simulate(q, [1.0], until=0.2)
    np.testing.assert_array_equal(
        robot.simulate(q, [1.0], until=0.2, torque=writes, max_step=np.inf).q, plain.q
    )


def test_a_run_is_kept_and_shown(tmp_path):
    robot = appell.load("four_bar")
    run = appell.simulate(robot, robot.assemble(), [1.0], until=0.05)
    same = robot.simulate(robot.assemble(), [1.0], until=0.05, rtol=3e-13)
    np.testing.assert_array_equal(run.q, same.q)
    assert isinstance(run, Run)
    assert repr(run) == f"<Run of four_bar: 0 s to 0.05 s, {len(run.t)} instants, 0 impacts>"
    with np.load(run.save(tmp_path / "run")) as kept:
        np.testing.assert_array_equal(kept["speeds"], run.speeds)
    labels = ["position, rad", "speed, rad/s", "energy, J"]
    again = load_run(tmp_path / "run.npz")
    assert [axes.get_ylabel() for axes in run.plot().axes] == labels
    assert [axes.get_ylabel() for axes in again.plot().axes] == labels
    for name in ("t", "q", "v", "tau", "energy", "speeds", "opening"):
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    assert (again.independent, again.choices) == (run.independent, run.choices)
    for ours, theirs in zip(run([0.01, 0.03]), again([0.01, 0.03]), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    more = appell.simulate(robot, resume=again, until=0.1)
    np.testing.assert_allclose(more.q[-1], run.resume(0.1).q[-1], atol=1e-15)


def test_a_picture_of_a_closed_robot_is_smooth_between_instants():
    """Beside a run of twenty times as many instants; straight lines from instant to instant
    would be seen."""
    robot = appell.load("stewart_gough")
    start = {"q0": robot.assemble(), "v0": [0.3, -0.2, 0.1, 0.5, -0.4, 0.2], "until": 0.5}
    coarse, fine = (robot.simulate(**start, rtol=1e-8, atol=1e-8, max_step=h) for h in (1, 1e-3))
    assert len(coarse.t) < len(fine.t) / 10
    panels = coarse.chart().panels
    labels = {panel.y.partition(",")[0]: [] for panel in panels}
    for panel in panels:
        labels[panel.y.partition(",")[0]].extend(panel.lines)
    assert [panel.y for panel in panels] == [
        "position, m", "position", "position, rad", "speed, m/s", "speed, rad/s", "energy, J",
    ]  # fmt: skip
    names = [*coordinate_names(robot.joint_names, robot.joint_names, [3], robot.nq)[0]]
    order = {"position": names, "speed": robot.independent}
    for what, of in (("position", lambda r: r.q), ("speed", lambda r: r.v), ("energy", energies)):
        drawn = {line.name: line for line in labels[what]}
        lines = [drawn[name] for name in order.get(what, drawn)]
        span = np.ptp(of(fine))
        shown = [np.interp(fine.t, line.x, line.y) for line in lines]
        chords = [np.interp(fine.t, coarse.t, y) for y in of(coarse).T]
        # A thousandth of the panel's height is less than a pixel; splines err by a tenth of that.
        np.testing.assert_allclose(shown, of(fine).T, atol=1e-3 * span)
        assert np.abs(chords - of(fine).T).max() > 3e-3 * span


def energies(run):
    return np.column_stack([run.kinetic, run.potential, run.energy])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.assemble("x"), "guess = 'x'; expected finite numbers, 3"),
        (lambda r: r.assemble(fixed=3), "names of joints"),
        (lambda r: r.assemble(fixed={"crank": "far"}), "expected finite numbers, 1"),
        (lambda r: r.simulate("x", until=1.0), "q0 = 'x'"),
        (lambda r: r.simulate(r.reference, "x", until=1.0), "v0 = 'x'"),
        (lambda r: r.simulate(r.reference, until="x"), "until = 'x'"),
        (lambda r: r.simulate(r.reference, until=np.inf), "until = inf"),
        (lambda r: r.simulate(r.reference, until=1.0, torque="x"), "torque = 'x'"),
        (lambda r: r.simulate(r.reference, until=1.0, rtol="x"), "rtol = 'x'"),
    ],
)
def test_odd_arguments_are_explained(call, message):
    with pytest.raises(appell.errors.InputError, match=message):
        call(appell.load("four_bar"))


def limited(robot: ClosedRobot, **ranges: tuple[float, float]) -> ClosedRobot:
    """The same robot with limits of its joints."""
    model = robot.model
    joints = tuple(
        replace(j, lower=ranges[j.name][0], upper=ranges[j.name][1]) if j.name in ranges else j
        for j in model.joints
    )
    bodies = tuple(replace(b, joint=joints[b.coordinate]) for b in model.bodies)
    tree = appell.Robot(replace(model, joints=joints, bodies=bodies))
    return appell.close(
        tree, robot.constraints, independent=robot.independent, actuated=robot.actuated,
        guess=robot.reference,
    )  # fmt: skip


@pytest.mark.parametrize("side", [1, -1])
def test_a_closed_robot_is_thrown_back_at_a_joints_limit(side):
    """Of a dependent joint, and of an independent one; by as much as the restitution says."""
    robot, q = parallelogram()
    low, high = sorted((1.0 + side * 0.25, 1.0 - side))
    for name, other in (("crank", "rocker"), ("rocker", "crank")):
        arm = limited(robot, **{name: (low, high), other: (-3.0, 3.0)})
        run = arm.simulate(q, [0.5 * side], until=1.5, stop_restitution=0.5)
        (impact,) = run.impacts
        assert impact.time == pytest.approx(0.5, abs=1e-9)
        assert impact.points == (name,)
        assert impact.walls == ("upper limit" if side > 0 else "lower limit",)
        assert impact.energy_change == pytest.approx(-0.75 * run.kinetic[0], rel=1e-9)
        assert run.v[-1, 0] == pytest.approx(-0.25 * side, abs=1e-9)
        assert run.q[-1, 0] == pytest.approx(1 + side * (0.25 - 0.25), abs=1e-9)
        assert (run.q[:, [0, 2]] * side).max() <= (1 + side / 4) * side + 1e-9
        assert run.opening.max() < 1e-10
        rests = arm.simulate(q, [0.5 * side], until=1.0, torque=[0.1 * side])
        assert np.abs(rests.q[-1, 0] - 1 - 0.25 * side) < 1e-9
        assert rests.reactions[-1] @ np.ones(4) == pytest.approx(0.1, abs=1e-9)
        past = arm.simulate(q, [0.5 * side], until=0.6, stops=False)
        assert not past.impacts
        assert np.abs(past.q[-1, 0] - 1 - 0.3 * side) < 1e-9


def test_a_limit_passed_and_left_within_one_step_is_seen():
    """A spring that turns the crank back 1e-6 rad beyond its limit."""
    robot, q = parallelogram()

    def law(t, q, v):
        return [-50.0 * (q[0] - 1.0)]

    farthest = robot.simulate(q, [0.5], until=2.0, torque=law, max_step=1e-3).q[:, 0].max()
    arm = limited(robot, crank=(-3.0, farthest - 1e-6))
    run = arm.simulate(q, [0.5], until=2.0, torque=law)
    assert run.impacts
    assert run.impacts[0].walls == ("upper limit",)
    assert abs(run.q[:, 0].max() - (farthest - 1e-6)) < 1e-9
    free = limited(robot, crank=(-3.0, farthest + 1e-6)).simulate(q, [0.5], until=2.0, torque=law)
    assert not free.impacts


def test_a_start_at_a_limit_leaves_it_or_is_thrown_back_at_once():
    robot, q = parallelogram()
    arm = limited(robot, crank=(0.5, 1.0))
    assert not arm.simulate(q, [-0.5], until=0.5).impacts
    run = arm.simulate(q, [0.5], until=0.5, stop_restitution=1.0)
    (impact,) = run.impacts
    assert impact.time < 1e-8
    assert run.q[-1, 0] == pytest.approx(0.75, abs=1e-8)
    with pytest.raises(
        appell.InputError, match=r"crank starts 0\.2 behind upper limit; .* stops=False"
    ):
        limited(robot, crank=(0.0, 0.8)).simulate(q, until=1.0)


def test_a_closed_run_honours_max_steps_and_the_keyboard(capsys):
    robot = appell.load("four_bar")
    q = robot.assemble(fixed={"crank": 1.0})
    run = appell.simulate(robot, q, [1.0], until=1.0, max_steps=3)
    assert "3 steps were taken by" in run.stopped
    assert len(run.t) == 4
    with pytest.raises(appell.InputError, match="max_steps = 0"):
        robot.simulate(q, [1.0], until=1.0, max_steps=0)

    def interrupted(t, q, v):
        if t > 0.1:
            raise KeyboardInterrupt
        return np.zeros(1)

    run = appell.simulate(robot, q, [1.0], until=1.0, torque=interrupted)
    assert run.stopped.startswith("interrupted at 0.")
    appell.simulate(robot, q, [1.0], until=0.05, progress=True)
    assert "0.050 of 0.05 s" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["RK45", "RK23", "RK4", "Radau"])
def test_a_closed_robot_moves_by_any_method(method):
    robot = appell.load("four_bar")
    start = {"q0": robot.assemble(fixed={"crank": 1.0}), "v0": [1.0], "until": 0.3}
    accuracy = {"max_step": 2e-3} if method == "RK4" else {"rtol": 1e-7, "atol": 1e-9}
    run = robot.simulate(**start, method=method, **accuracy)
    exact = robot.simulate(**start)
    np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=1e-6)
    assert run.opening.max() < 1e-10
    with pytest.raises(appell.InputError, match="Radau suits stiff closed robots"):
        robot.simulate(**start, method="BDF")


def test_a_short_pulse_moves_a_closed_robot():
    """By both doors: a law given as a function is not stepped over."""
    robot = appell.load("snakeboard")
    n = len(robot.actuated)

    def pulse(t, q, v):
        return np.full(n, 0.05 * (5.0 <= t < 5.05))

    own = robot.simulate(robot.reference, until=5.5, torque=pulse)
    same = appell.simulate(robot, robot.reference, until=5.5, torque=pulse)
    assert np.abs(own.q[-1] - own.q[0]).max() > 1e-3
    np.testing.assert_allclose(own.q[-1], same.q[-1], atol=1e-9)


def test_a_law_that_jumps_is_met_at_its_breakpoints():
    """A constant push on a parallelogram, whose inertia does not change, for a time."""
    robot, q = parallelogram()
    inertia = float(robot.mass_matrix(q)[0, 0])

    class Push:
        breakpoints = (0.1, 0.15)

        def __call__(self, t, q, v):
            return [2.0 * (0.1 <= t < 0.15)]

    run = robot.simulate(q, until=0.3, torque=Push(), max_step=1.0)
    assert run.v[-1, 0] == pytest.approx(2.0 * 0.05 / inertia, rel=1e-11)
    assert {0.1, 0.15} <= set(run.t.tolist())


def test_a_run_of_a_closed_robot_is_known_at_any_time():
    robot, q = parallelogram()
    run = robot.simulate(q, [0.5], until=1.0, max_step=0.3)
    t = np.linspace(0, 1, 37)
    angles, speeds = run(t)
    np.testing.assert_allclose(angles, q + 0.5 * t[:, None] * [1, -1, 1], atol=1e-10)
    np.testing.assert_allclose(speeds, np.full((37, 1), 0.5), atol=1e-10)


def test_a_closed_run_goes_on_where_it_ended_with_the_speeds_it_had():
    robot = appell.load("five_bar")
    whole = robot.simulate(robot.reference, [0.3, -0.2], until=1.2)
    half = robot.simulate(robot.reference, [0.3, -0.2], until=1.1)
    assert half.choices[-1][1] != robot.independent
    both = half.resume(until=1.2)
    np.testing.assert_allclose(both.q[-1], whole.q[-1], atol=1e-8)
    assert len(both.choices) == len(whole.choices)
    assert (np.diff(both.t) >= 0).all()
    assert both.speeds.shape == (len(both.t), 4)


def rubbing(robot: ClosedRobot, **coulomb: float) -> ClosedRobot:
    """The same robot with dry friction in some joints."""
    model = robot.model
    joints = tuple(replace(j, coulomb=coulomb.get(j.name, 0.0)) for j in model.joints)
    bodies = tuple(replace(b, joint=joints[b.coordinate]) for b in model.bodies)
    return appell.close(
        appell.Robot(replace(model, joints=joints, bodies=bodies)), robot.constraints,
        guess=robot.reference, independent=robot.independent, actuated=robot.actuated,
    )  # fmt: skip


@pytest.mark.parametrize(
    "levels", [{"crank": 0.1}, {"rocker": 0.1}, {"crank": 0.04, "rocker": 0.06}]
)
def test_dry_friction_stops_a_closed_robot_and_holds_it(levels):
    """All joints of a parallelogram turn alike, so that it does not matter which of them rub: the
    speed falls evenly to zero, and stays there until more than 0.1 N m push."""
    robot, q = parallelogram()
    inertia = float(robot.mass_matrix(q)[0, 0])
    arm = rubbing(robot, **levels)
    stop = inertia * 0.5 / 0.1

    def law(t, q, v):
        return [0.2 * max(t - 1.5 * stop, 0.0) / stop]

    run = arm.simulate(q, [0.5], until=2.5 * stop, friction=True, torque=law)
    assert run.stopped is None
    slows, rests = run.t < stop, (run.t >= stop) & (run.t <= 2 * stop)
    # A joint slower than 1e-9 rad/s counts as at rest; one with loops, than twice that.
    np.testing.assert_allclose(run.v[slows, 0], 0.5 * (1 - run.t[slows] / stop), atol=2e-9)
    np.testing.assert_allclose(run.v[rests, 0], 0.0, atol=2e-9)
    pushed = (0.2 / stop) * (0.5 * stop) ** 2 / 2  # what is left of the push beyond 0.1 N m
    assert run.v[-1, 0] == pytest.approx(pushed / inertia, rel=1e-6)


def test_a_five_bar_with_dry_friction_in_all_joints_comes_to_rest():
    """Four joints that stick hold two freedoms: they share the load."""
    five = appell.load("five_bar")
    arm = rubbing(five, **dict.fromkeys(five.joint_names, 1.5))
    run = arm.simulate(five.reference, [2.0, -1.0], until=3.0, friction=True)
    assert run.stopped is None
    assert np.diff(run.energy).max() < 1e-9
    assert np.abs(run.speeds[-1]).max() < 1e-9
    assert run.energy[0] - run.energy[-1] > 0.1


def test_a_parallelogram_strikes_a_wall():
    """Its coupler is carried round without turning: a point of it meets a wall when the crank has
    turned far enough, and the crank is thrown back with half its speed."""
    robot, q = parallelogram()
    height = 0.3 * np.sin(1.2)
    link = robot.model.bodies[1].name
    ceiling = appell.walls.Plane((0, -1), -height, name="ceiling")
    run = robot.simulate(q, [0.5], until=1.0, walls=ceiling, points=[link], restitution=0.5)
    (impact,) = run.impacts
    assert impact.time == pytest.approx(0.4, abs=1e-9)
    assert impact.walls == ("ceiling",)
    assert run.v[-1, 0] == pytest.approx(-0.25, abs=1e-9)
    assert run.residuals["penetration"] < 1e-11
    inertia = float(robot.mass_matrix(q)[0, 0])
    # The impulse acts on the point, which moves up by 0.3 cos(1.2) m per radian.
    assert impact.impulses[0] * 0.3 * np.cos(1.2) == pytest.approx(0.75 * inertia, rel=1e-9)
