"""Closed robots keep their energy and their loops, and stop before what is singular."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.constraints import ClosedRobot, SingularError


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


def test_a_run_stops_before_a_parallelogram_becomes_flat():
    robot = appell.load("four_bar", ground=0.8, crank=0.3, coupler=0.8, rocker=0.3).with_gravity(
        (0, 0, 0)
    )
    q = robot.assemble([1.0, -1.0, 1.0], fixed={"crank": 1.0})
    run = robot.simulate(q, [-1.0], until=3.0)
    assert run.stopped is not None
    assert "singular" in run.stopped
    assert 0.5 < run.t[-1] < 1.0  # flat when the crank has turned by its first radian
    assert np.abs(run.energy - run.energy[0]).max() < 1e-8
    assert run.opening.max() < 1e-10


def test_long_steps_over_where_the_speeds_degenerate_are_taken_again():
    """A skate turned by a motor: its speed along x degenerates where the blade points along y."""
    from appell.constraints import KnifeEdge
    from appell.constraints.library.parts import disc
    from appell.model.build import assemble

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
    from dataclasses import replace

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
    np.testing.assert_array_equal(robot.simulate(q, [1.0], until=0.2, torque=writes).q, plain.q)


def test_a_run_is_kept_and_shown(tmp_path):
    robot = appell.load("four_bar")
    run = appell.simulate(robot, robot.assemble(), [1.0], until=0.05)
    same = robot.simulate(robot.assemble(), [1.0], until=0.05, rtol=3e-13)
    np.testing.assert_array_equal(run.q, same.q)
    assert repr(run) == f"<ClosedRun of four_bar: 0 s to 0.05 s, {len(run.t)} instants>"
    with np.load(run.save(tmp_path / "run")) as kept:
        np.testing.assert_array_equal(kept["speeds"], run.speeds)
    assert [axes.get_ylabel() for axes in run.plot().axes] == ["q, rad", "v, rad/s", "energy, J"]
    with pytest.raises(appell.errors.InputError, match="closed: it moves without walls"):
        appell.simulate(robot, robot.assemble(), until=1.0, walls=appell.walls.Circle(5.0))


def test_a_picture_of_a_closed_robot_is_smooth_between_instants():
    """Beside a run of twenty times as many instants; straight lines from instant to instant
    would be seen."""
    robot = appell.load("stewart_gough")
    start = {"q0": robot.assemble(), "v0": [0.3, -0.2, 0.1, 0.5, -0.4, 0.2], "until": 0.5}
    coarse, fine = (robot.simulate(**start, rtol=1e-8, atol=1e-8, max_step=h) for h in (1, 1e-3))
    assert len(coarse.t) < len(fine.t) / 10
    panels = coarse.plot().axes
    labels = [axes.get_ylabel() for axes in panels]
    assert labels == ["q, m, 1 and rad", "v, m/s and rad/s", "energy, J"]
    for axes, of in zip(panels, (lambda r: r.q, lambda r: r.v, energies), strict=True):
        span = np.ptp(of(fine))
        shown = [np.interp(fine.t, *line.get_data()) for line in axes.get_lines()]
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
