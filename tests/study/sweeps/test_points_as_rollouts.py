"""Points as runs of a rollout give what each gives by itself."""

from __future__ import annotations

import numpy as np
import pytest

from appell.errors import GpuError, InputError
from appell.study import Study, sweep
from appell.study.sweeps.points import Points

ARM = {
    "robot": {"model": "planar_chain", "options": {"n": 2}},
    "start": {"q": [0.2, -0.4]},
    "task": {"kind": "moves", "moves": [{"to": [0.7, 0.3], "duration": 0.2}]},
    "law": {"name": "computed-torque", "kp": 100.0, "kd": 20.0, "believes": {"scale": 0.9}},
    "sampling": {"period": 0.004},
}
FALL = {
    "robot": {"model": "planar_chain", "options": {"n": 2}},
    "start": {"q": {"joint1": 0.3}},
    "task": {"kind": "fall", "until": 0.2},
}
LOAD = {"payload": {"mass": 0.5, "com": [0.1, 0.0, 0.0], "inertia": [0.01, 0.01, 0.01]}}
UNKNOWN = {"law": ARM["law"] | {"believes": {"payload": {"mass": 0.0}, "gravity": [0, -9.0, 0]}}}
RUB = {"robot": ARM["robot"] | {"friction": {"viscous": [0.3, 0.2]}}}
TRACKED = ("worst_error", "rms_error", "final_error", "settling_time", "success", "peak_torque",
           "peak_speed", "effort", "work", "energy_start", "energy_end", "q.joint2", "v.joint1",
           "worst_error.joint1")  # fmt: skip
FALLEN = ("energy_start", "energy_end", "q.joint1", "v.joint2")
CASES = {
    "gains": (
        ARM | {"law": ARM["law"] | {"kd": [20.0, 20.0]}},
        {"law.kp": {"uniform": (50.0, 200.0)}, "law.kd.1": {"uniform": (10.0, 30.0)}},
    ),
    "load": (
        ARM | UNKNOWN | {"robot": ARM["robot"] | LOAD},
        {
            "robot.payload.mass": {"uniform": (0.0, 2.0)},
            "robot.payload.com.1": {"normal": (0.0, 0.1)},
        },
    ),
    "load that is not in the scenario": (
        ARM | UNKNOWN, {"robot.payload.mass": {"uniform": (0.0, 2.0)}}
    ),
    "gravity": (
        ARM | UNKNOWN | {"robot": ARM["robot"] | {"gravity": [0, -9.81, 0]}},
        {"robot.gravity.1": {"uniform": (-12.0, -8.0)}},
    ),
    "friction": (ARM | RUB, {"robot.friction.viscous": {"uniform": (0.0, 1.0)}}),
    "friction of a joint": (ARM | RUB, {"robot.friction.viscous.1": {"uniform": (0.0, 1.0)}}),
    "scaled": (
        ARM | RUB,
        {"rub": {"uniform": (0.0, 2.0), "scales": ("robot.friction.viscous", "law.kp")}},
    ),
    "delay": (ARM, {"sampling.delay": {"whole": (0, 3)}}),
    "limit": (
        ARM | {"actuators": {"torque_limit": 40.0}},
        {"actuators.torque_limit": {"uniform": (5.0, 30.0)}},
    ),
    "encoder": (
        ARM | {"sensors": {"encoder": 500.0}}, {"sensors.encoder": {"uniform": (200.0, 900.0)}}
    ),
    "speeds": (ARM, {"start.v.joint2": {"uniform": (-1.0, 1.0)}}),
    "hold": (
        ARM | {"task": {"kind": "hold", "until": 0.2, "at": [0.1, 0.1]}, "angles": "degrees"},
        {"start.q.1": {"uniform": (-30.0, 30.0)}},
    ),
    "pushed": (
        ARM | {"disturbances": [{"joint": "joint2", "force": 3.0, "start": 0.048, "end": 0.1}]},
        {"law.kp": {"uniform": (50.0, 200.0)}},
    ),
    "named": (
        ARM,
        {"law.name": {"values": ["computed-torque", "pd-gravity"]}, "law.kp": {"whole": (50, 80)}},
    ),
    "arrays": (ARM, {"law.kp": {"values": [(50.0, 100.0), (80.0, 60.0)]}}),
    "period": (ARM, {"sampling.period": {"values": [0.002, 0.004, 0.005]}}),
    "fall": (
        FALL,
        {"start.q.joint1": {"uniform": (-1.0, 1.0)}, "start.v.joint2": {"normal": (0.0, 1.0)}},
    ),
    "falling load": (FALL, {"robot.payload.mass": {"uniform": (0.0, 2.0)}}),
}  # fmt: skip


LOADS = {
    "place of a load": (
        ARM | UNKNOWN | {"robot": ARM["robot"] | LOAD},
        {"robot.payload.com.0": {"uniform": (0.0, 0.3)}},
    ),
    "scaled load": (
        ARM | UNKNOWN | {"robot": ARM["robot"] | LOAD},
        {"load": {"uniform": (0.5, 2.0), "scales": ("robot.payload.mass",)}},
    ),
}


@pytest.mark.parametrize("case", LOADS)
def test_a_load_of_which_a_part_varies_has_its_other_numbers(case):
    same_as_runs(*LOADS[case])


@pytest.mark.parametrize("case", CASES)
def test_a_run_of_a_rollout_is_the_run_by_itself(case):
    same_as_runs(*CASES[case])


def same_as_runs(scenario, vary):
    kept = TRACKED if "law" in scenario else FALLEN
    study = Study(scenario=scenario, vary=vary, points=5, measures=kept, rollout={"compare": 0})
    rolled, alone = Points(study), Points(study.model_copy(update={"method": "runs"}))
    assert rolled.why_one_by_one is None
    many, single = rolled.compute(0, 5), alone.compute(0, 5)
    assert not many["failed"].any(), many["reason"]
    assert not single["failed"].any(), single["reason"]
    for name in kept:
        # Steps of 1 ms of fourth order against an integration to 1e-11. Speeds of a rollout are
        # looked at every 4 ms, and those of a run also between: its largest is no smaller.
        between = 0.01 * (name == "peak_speed")
        assert np.allclose(many[name] + between / 2, single[name], 1e-6, 1e-6 + between / 2), name


@pytest.mark.parametrize("level", ["stiction", "coulomb_backwards"])
def test_friction_of_two_levels_is_no_rollout_though_both_are_the_same_at_first(level):
    """A joint that its stiction holds: 1.5 N m are asked for, and 2 are needed."""
    rub = {"coulomb": 2.0, level: 2.0}
    robot = {"model": "planar_chain", "options": {"n": 1}, "gravity": (0, 0, 0), "friction": rub}
    scenario = {
        "robot": robot, "start": {"q": (0.0,)}, "sampling": {"period": 0.002},
        "task": {"kind": "hold", "at": (0.015,), "until": 0.1},
        "law": {"name": "pd-gravity", "kp": 100.0, "kd": 1.0},
    }  # fmt: skip
    vary = {"robot.friction.coulomb": {"values": (0.5, 1.0)}}
    study = Study(scenario=scenario, vary=vary, measures=("peak_speed",), sampling="grid")
    found, exact = (sweep(study.model_copy(update={"method": x})) for x in ("auto", "runs"))
    assert np.array_equal(found["peak_speed"], exact["peak_speed"])
    assert (found["peak_speed"] == 0).all() == (level == "stiction")


def test_robots_that_lack_a_joint_fail_with_the_reason_and_others_go_on():
    scenario = {"robot": FALL["robot"] | {"options": {"n": 3}}, "task": FALL["task"]}
    vary = {
        "robot.options.n": {"values": (3, 2)},
        "start.v.joint3": {"values": (0.5, 1.0)},
    }
    found = sweep(Study(scenario=scenario, vary=vary, measures=("peak_speed",), sampling="grid"))
    lost = found["robot.options.n"] == 2
    assert np.array_equal(found.failed, lost)
    assert all("joint3" in why for why in found["reason"][lost])


def test_robots_whose_load_is_no_lane_run_one_by_one():
    scenario = {
        "robot": {"model": "puma560", "payload": {"mass": 1.0}},
        "task": {"kind": "fall", "until": 0.02},
    }
    vary = {
        "robot.model": {"values": ("five_bar", "puma560", "puma560")},
        "robot.payload.mass": {"values": (0.5, 1.0)},
    }
    study = Study(scenario=scenario, vary=vary, measures=("peak_speed",), sampling="grid")
    found, exact = (sweep(study.model_copy(update={"method": x})) for x in ("auto", "runs"))
    assert not found.failed.any()
    assert np.allclose(found["peak_speed"], exact["peak_speed"], rtol=1e-6)


def test_joints_that_have_limits_stop_at_them():
    """Only the points that exceed a limit run again with stops: others have the bits of a rollout
    without them."""
    scenario = {
        "robot": "ur5",
        "start": {"q": {"elbow_joint": 3.0}},
        "task": {"kind": "fall", "until": 0.1},
    }
    study = Study(
        scenario=scenario, points=6, method="rollout", rollout={"compare": 0},
        vary={"start.v.elbow_joint": {"uniform": (-2.0, 6.0)}}, measures=("q.elbow_joint",),
    )  # fmt: skip
    found, exact = (sweep(x)["q.elbow_joint"] for x in (
        study, study.model_copy(update={"method": "runs"})))  # fmt: skip
    assert exact.max() <= np.pi + 1e-6
    assert np.abs(found - exact).max() < 0.02  # a step's way at most: 1 ms at 6 rad/s, and after
    free = np.abs(exact - np.pi) > 0.05
    assert free.any()
    assert not free.all()


REASONS = {
    "walls": ({"walls": [{"kind": "plane", "normal": [0, 1, 0], "offset": -1.0}]}, "walls"),
    "motor": (
        {"actuators": {"motor": {"torque_constant": 1.0, "resistance": 1.0, "voltage": 50.0}}},
        "motors",
    ),
    "stiction": (
        {"robot": ARM["robot"] | {"friction": {"coulomb": 0.1, "stiction": 0.2}}}, "stiction"
    ),
    "method": ({"integrator": {"method": "RK45"}}, "RK45"),
    "force": ({"disturbances": [{"force": [1.0, 0.0, 0.0]}]}, "frames"),
}  # fmt: skip


@pytest.mark.parametrize("case", REASONS)
def test_what_no_rollout_has_runs_one_by_one_and_says_why(case):
    more, why = REASONS[case]
    vary = {"law.kp": {"uniform": (50.0, 200.0)}}
    study = Study(scenario=ARM | more, vary=vary, points=2)
    assert why in Points(study).why_one_by_one
    with pytest.raises(InputError, match=why):
        assert Points(study.model_copy(update={"method": "rollout"})).why_one_by_one is None


def test_a_load_that_the_law_knows_is_no_lane():
    """The law of each point is that of its own robot."""
    vary = {"robot.payload.mass": {"uniform": (0.1, 2.0)}}
    law = {"law": {"name": "computed-torque", "kp": 100.0}}
    study = Study(scenario=ARM | law, vary=vary, points=2)
    assert "robot.payload.mass" in Points(study).why_one_by_one
    known = sweep(study)["worst_error"]
    apart = ARM | {"law": law["law"] | {"believes": {"payload": {"mass": 0.0}}}}
    unknown = sweep(study.model_copy(update={"scenario": apart}))["worst_error"]
    assert (known < 0.3 * unknown).all()


def test_a_motion_as_fast_as_the_motors_can_has_no_lanes_of_loads_and_gravity():
    """It is planned for the robot with its load."""
    task = {"kind": "via", "points": [[0.5, 0.0]], "timing": "time_optimal", "torque": [60.0, 30.0]}
    scenario = ARM | UNKNOWN | {"task": task}
    vary = {"robot.payload.mass": {"uniform": (0.0, 1.0)}}
    assert (
        "robot.payload.mass" in Points(Study(scenario=scenario, vary=vary, points=2)).why_one_by_one
    )


def test_points_that_are_no_rollout_among_others_run_one_by_one():
    vary = {"integrator.method": {"values": ["RK45", "DOP853", "DOP853"]}}
    study = Study(scenario=ARM, vary=vary, sampling="list", measures=("worst_error",))
    assert Points(study).why_one_by_one is None
    found = sweep(study)
    assert not found.failed.any(), found.reasons()
    assert np.ptp(found["worst_error"]) < 1e-6
    insisting = sweep(study.model_copy(update={"method": "rollout"}))
    assert insisting.failed.tolist() == [True, False, False]


def test_points_that_fields_refuse_fail_with_the_reason_and_the_others_run():
    vary = {"law.kp": {"uniform": (-50.0, 200.0)}, "robot.friction.viscous": {"normal": (0.1, 0.2)}}
    study = Study(scenario=ARM | RUB, vary=vary, points=64)
    many, alone = (
        Points(study.model_copy(update={"method": m})).compute(0, 64) for m in ("rollout", "runs")
    )
    bad = (many["law.kp"] < 0) | (many["robot.friction.viscous"] < 0)
    assert 0 < bad.sum() < 64
    assert (many["failed"] == bad).all()
    assert many["reason"].tolist() == alone["reason"].tolist()
    assert np.isnan(many["worst_error"][bad]).all()
    assert np.isfinite(many["worst_error"][~bad]).all()


def test_friction_too_stiff_for_the_steps_fails_by_itself():
    rub = {"robot": ARM["robot"] | {"friction": {"coulomb": 0.01}}}
    vary = {"robot.friction.coulomb": {"log_uniform": (1e-3, 1e4)}}
    found = sweep(Study(scenario=ARM | rub, vary=vary, points=32, rollout={"compare": 0}))
    assert 0 < found.failed.sum() < 32
    assert all("too fast for steps" in x for x in found["reason"][found.failed])
    stiff = found["robot.friction.coulomb"]
    assert stiff[found.failed].min() > stiff[~found.failed].max()


def test_a_run_that_blows_up_fails_by_itself():
    vary = {"law.kd": {"log_uniform": (10.0, 1e5)}}  # damping too fast for its samples
    found = sweep(Study(scenario=ARM, vary=vary, points=16, rollout={"compare": 0}))
    assert 0 < found.failed.sum() < 16
    assert "not finite" in next(iter(found.reasons()))


@pytest.mark.parametrize(
    ("vary", "told"),
    [
        ({"law.kpp": {"uniform": (0.0, 1.0)}}, "kpp"),
        ({"robott.gravity": {"uniform": (0.0, 1.0)}}, "did you mean 'robot'"),
        ({"start.q.9": {"uniform": (0.0, 1.0)}}, "no place in an array of 2"),
        ({"law.kd.1": {"uniform": (0.0, 1.0)}}, "there is 20.0 where '1'"),
        ({"x": {"uniform": (0.0, 1.0), "scales": ("law.ki",)}}, "nothing to scale"),
        ({"x": {"uniform": (0.0, 1.0), "scales": ("law.name",)}}, "expected numbers to scale"),
        (
            {"law.kp": {"uniform": (1.0, 2.0)}, "x": {"uniform": (1.0, 2.0), "sets": ("law.kp",)}},
            "changed by",
        ),
        ({"task.moves.0.duraton": {"uniform": (0.1, 0.2)}}, "did you mean 'duration'"),
    ],
)
def test_a_field_that_is_not_there_is_refused_at_once(vary, told):
    with pytest.raises(InputError, match=told):
        Points(Study(scenario=ARM, vary=vary, points=4))


@pytest.mark.parametrize(
    ("measure", "told"),
    [
        ("worst_eror", "did you mean 'worst_error'"),
        ("worst_error.joint9", "has no 'joint9'"),
        ("effort.joint1", "not of joints"),
        ("q", "name a joint"),
        ("no_such_module:f", "no_such_module"),
    ],
)
def test_a_measure_that_is_not_there_is_refused_at_once(measure, told):
    vary = {"law.kp": {"uniform": (50.0, 200.0)}}
    with pytest.raises(InputError, match=told):
        Points(Study(scenario=ARM, vary=vary, points=4, measures=(measure,)))


def test_a_fall_follows_nothing():
    vary = {"start.v.joint1": {"uniform": (0.0, 1.0)}}
    with pytest.raises(InputError, match="follows nothing"):
        Points(Study(scenario=FALL, vary=vary, points=4, measures=("worst_error",)))


def test_a_machine_without_a_gpu_marks_no_point_as_failed(tmp_path, monkeypatch):
    def missing():
        raise GpuError("no GPU")

    monkeypatch.setattr("appell.study.sweeps.sweep.driver", missing)
    study = Study(scenario=ARM, vary={"law.kp": {"uniform": (50.0, 200.0)}}, points=8)
    with pytest.raises(GpuError):
        sweep(study, tmp_path / "sweep", target="cuda")
    assert not (tmp_path / "sweep").exists()


def test_a_card_that_is_full_gets_fewer_runs_and_one_that_is_lost_fails_no_point(monkeypatch):
    from appell.study.sweeps import points as module

    study = Study(scenario=ARM, vary={"law.kp": {"uniform": (50.0, 200.0)}}, points=8)
    expected, real = sweep(study), module.rollout

    def full(most):
        def rollout(*arguments, runs, **options):
            if runs > most:
                raise GpuError("the GPU's memory is full")
            return real(*arguments, runs=runs, **options)

        return rollout

    monkeypatch.setattr(module, "rollout", full(2))
    found = sweep(study)
    assert all(np.array_equal(found[name], expected[name]) for name in found.columns)
    monkeypatch.setattr(module, "rollout", full(0))
    with pytest.raises(GpuError, match="memory is full"):
        sweep(study)


@pytest.mark.parametrize("method", ["rollout", "runs"])
@pytest.mark.parametrize(
    "task", [ARM["task"], {"kind": "torque", "until": 0.2, "torque": [5.0, -3.0]}]
)
def test_the_work_of_the_motors_is_the_energy_gained(method, task):
    """Nothing rubs: all that the motors do is in the robot at the end."""
    scenario = {name: ARM[name] for name in ("robot", "start")} | {"task": task}
    if task is ARM["task"]:
        scenario |= {"law": ARM["law"], "sampling": {"period": 0.01}}
    vary = {"start.v.joint1": {"linear": (0.0, 0.4, 2)}}
    kept = ("work", "energy_start", "energy_end")
    found = sweep(
        Study(scenario=scenario, vary=vary, sampling="grid", measures=kept, method=method)
    )
    gained = found["energy_end"] - found["energy_start"]
    # The trapezoidal rule over samples of 10 ms; steps of other kinds are shorter.
    assert np.allclose(found["work"], gained, rtol=2e-3)


STOPS = """<robot name="arm"><link name="base"/>
  <link name="swung"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="swung"/>
  <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="100" velocity="100"/></joint></robot>"""


@pytest.mark.parametrize("scales", [False, True])
def test_a_start_beyond_a_stop_fails_as_it_does_by_itself(tmp_path, scales):
    (tmp_path / "arm.urdf").write_text(STOPS)
    scenario = {
        "angles": "degrees", "robot": {"model": str(tmp_path / "arm.urdf")},
        "start": {"q": {"turn": 10.0}}, "task": {"kind": "fall", "until": 0.1},
    }  # fmt: skip
    vary = {"start.q.turn": {"values": (-90.0, 30.0, 45.0, 58.0, 90.0)}}
    if scales:
        vary = {"far": {"values": (-9.0, 3.0, 4.5, 5.8, 9.0), "scales": ("start.q.turn",)}}
    study = Study(scenario=scenario, vary=vary, sampling="grid", measures=("q.turn",))
    rolled = sweep(study.model_copy(update={"method": "rollout"}))
    alone = sweep(study.model_copy(update={"method": "runs"}))
    assert rolled.failed.tolist() == [True, False, False, True, True]
    assert rolled["reason"].tolist() == alone["reason"].tolist()
    assert "behind upper limit" in rolled["reason"][4]
    # RK4 of 1 ms and DOP853 on a swing of 0.1 s
    np.testing.assert_allclose(rolled["q.turn"], alone["q.turn"], atol=1e-6)


def test_a_part_of_a_load_may_need_a_rollout_of_its_own_beside_one_that_does_not():
    vary = {
        "robot.payload.mass": {"uniform": (0.1, 1.0)},
        "robot.payload.com": {"values": ((0.1, 0.0, 0.0), (0.0, 0.1, 0.0))},
    }
    study = Study(scenario=ARM | UNKNOWN, vary=vary, points=4, measures=("worst_error",))
    found = sweep(study.model_copy(update={"method": "rollout"}))
    alone = sweep(study.model_copy(update={"method": "runs"}))
    assert not found.failed.any()
    # RK4 of 1 ms beside DOP853; loads that are left out would be off by the errors themselves.
    np.testing.assert_allclose(found["worst_error"], alone["worst_error"], rtol=1e-3)
