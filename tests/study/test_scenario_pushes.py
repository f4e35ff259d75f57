"""Pushes of a scenario act for their own time, and are no torque of a motor."""

from __future__ import annotations

import numpy as np
import pytest

from appell.errors import InputError
from appell.study import run
from appell.study.run_motion import motion_csv
from appell.study.scenario_file import checked

CHAIN = {"model": "planar_chain", "options": {"n": 1}, "gravity": [0, 0, 0]}
INERTIA = 1 / 3  # kg m^2 of a bar of 1 m and 1 kg about its end
LAW = {"name": "pd-gravity", "kp": 1e-9, "kd": 0.0}  # as good as none


def pushed(start, end, force=2.0, *, task=None, **more):
    push = {"joint": "joint1", "force": force, "start": start, "end": end}
    hold = {"law": LAW, "task": {"kind": "hold", "until": 0.1}}
    data = {"robot": CHAIN, "disturbances": [push]} | (task or hold)
    return run(checked(data | more))


FALL = {"task": {"kind": "fall", "until": 0.1}}


@pytest.mark.parametrize(("start", "end"), [(0.021, 0.024), (0.033, 0.058), (0.03, 0.05)])
@pytest.mark.parametrize("method", ["DOP853", "RK4"])
def test_a_push_under_a_law_has_its_whole_impulse(start, end, method):
    result = pushed(start, end, integrator={"method": method})
    assert result.run.v[-1, 0] == pytest.approx(2.0 * (end - start) / INERTIA, rel=1e-6)


def test_a_push_on_a_joint_is_no_torque_of_its_motor():
    result = pushed(0.021, 0.05, 60.0, task=FALL, expect={"max_torque": 1.0})
    assert result.verdict.ok
    assert result.run.v[-1, 0] == pytest.approx(60 * 0.029 / INERTIA, rel=1e-6)
    assert result.summary()["largest_torques"] == {"joint1": 0.0}
    table = np.genfromtxt(motion_csv(result.built, result.run).splitlines()[1:], delimiter=",")
    assert (table[:, -1] == 0).all()


def test_motors_give_their_own_torque_beside_a_push():
    task = {"task": {"kind": "torque", "until": 0.1, "torque": [0.5]}}
    result = pushed(0.02, 0.05, 60.0, task=task)
    assert (result.run.tau == 0.5).all()


@pytest.mark.parametrize("task", [None, FALL])
def test_a_push_after_the_run_is_refused(task):
    with pytest.raises(InputError, match=r"disturbances\[0\]: start = 100 s, and the run ends at"):
        pushed(100.0, 101.0, task=task)


def test_lines_between_samples_have_the_torque_of_the_sample_before():
    move = {"kind": "moves", "moves": [{"to": [1.0], "duration": 0.3}]}
    data = {"robot": CHAIN, "task": move, "sampling": {"period": 0.003}}
    result = run(checked(data | {"outputs": {"period": 0.009}}))
    table = np.genfromtxt(motion_csv(result.built, result.run).splitlines()[1:], delimiter=",")
    assert np.array_equal(table[:, -1], result.run.tau[::3, 0][: len(table)])
