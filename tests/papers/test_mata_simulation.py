import numpy as np
import pytest

from appell.equations import gibbs_tensor
from appell.papers.mata2002_simulation import (
    BRANCH,
    DURATION,
    END,
    INTERPOLATIONS,
    METHODS,
    PICTURES,
    START,
    coarse,
    plan,
    simulate,
    simulations,
    smooth,
    tables,
    torques,
)
from appell.rig.machine.machine import puma560_machine
from appell.show.figure import svg_of


def test_the_plan_follows_the_line_at_the_stated_speed():
    planned = plan()
    assert planned.path.duration == pytest.approx(3.286, abs=1e-3)
    assert planned.shown.residual < 1e-12
    tool = planned.robot.forward_kinematics(planned.shown.q)[:, :3, 3]
    np.testing.assert_allclose(tool[[0, -1]], [START, END], atol=1e-12)
    speed = np.linalg.norm(np.diff(tool, axis=0), axis=1) / np.diff(planned.path.t)
    np.testing.assert_allclose(speed, 0.1, rtol=1e-6)


def test_the_duration_is_a_choice():
    assert plan(5.0).path.duration == pytest.approx(5.0)


@pytest.mark.parametrize("method", METHODS)
def test_the_simulated_arm_follows_the_line(method):
    # An error of the integration grows like that of a pendulum upside down: a thousandfold
    # from 1e-10 m in the first interval.
    simulation = simulate(method, plan(), smooth(plan()))
    assert simulation.q.shape == (34, 6)
    assert simulation.evaluations > 33 * 6
    assert simulation.astray.max() < 1e-6
    assert simulation.astray.max() > 0


@pytest.mark.parametrize("method", METHODS)
def test_coarse_torques_lead_it_away(method):
    simulation = simulate(method, plan(), coarse(plan()))
    assert 1e-3 < simulation.astray[-1] < 0.05
    assert simulation.astray[-1] == simulation.astray.max()


def test_methods_give_the_same_motion():
    found = simulations(DURATION, "torques every 1 ms")
    for simulation in found.values():
        np.testing.assert_allclose(simulation.q, found["GA"].q, atol=1e-11)
        assert simulation.evaluations == found["GA"].evaluations


@pytest.mark.parametrize("interpolation", INTERPOLATIONS.values())
def test_torques_between_samples_pass_through_them(interpolation):
    planned = plan()
    for k in planned.stops:
        np.testing.assert_allclose(
            interpolation(planned)(planned.path.t[k]), planned.shown.tau[k], rtol=1e-3, atol=1e-9
        )


def test_tables_have_what_the_paper_prints():
    feasible, *sixes, apart, torques, evaluations, tool, table_7 = tables()
    assert [len(table.rows) for table in sixes] == [6, 6]
    assert [table.failures for table in (feasible, *sixes, apart, torques, evaluations)] == [[]] * 6
    assert [table.compared for table in (tool, table_7)] == [False, False]
    assert all(x > 0 for row in table_7.rows for x in row.ours)


def test_the_arm_is_shown_within_its_ranges():
    machine = puma560_machine()
    q = plan().shown.q + [0, 0, 2 * np.pi, 0, 0, 0]  # joint 3 the other way round
    assert ((q >= machine.lower) & (q <= machine.upper)).all()
    assert [name for name, m in plan(DURATION, "all").motions.items() if not m.beyond] == [BRANCH]


def test_torques_are_those_of_the_papers_equations():
    planned = plan()
    np.testing.assert_allclose(torques(planned), planned.shown.tau, atol=1e-10)
    model, motion = planned.robot.model, planned.shown
    for k in (0, 1700, -1):
        state = [[float(x) for x in y[k]] for y in (motion.q, motion.v, motion.a)]
        by_hand = gibbs_tensor.inverse_dynamics(model, *state)
        np.testing.assert_allclose(torques(planned)[k], by_hand, atol=1e-10)


def test_pictures_draw():
    for picture in PICTURES:
        assert "<svg" in svg_of(picture.draw(), picture.title)
