"""Environments keep Gymnasium's rules and step as rollouts do; one that fails harms no other."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib import import_module

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics, RescaleAction

import appell
from appell.control import ComputedTorque, TrackingIntegral
from appell.learning import Env, Task, VectorEnv, holding, reaching

ARM = appell.load("planar_chain", n=2)
COUNT = 5
TORQUES = {"torque_limit": 5.0, "dt": 0.01, "frame_skip": 3}


def still(rng, count):
    """Episodes that all start alike, so that environments can be compared one by one."""
    return np.full((count, 2), 0.1), np.zeros((count, 2))


def low(q, v, goal):
    return q[:, 0] < 0.0


SAME = replace(holding(ARM), start=still, terminated=low)


def actions(steps, count=COUNT):
    return np.random.default_rng(1).uniform(-5, 5, (steps, count, 2))


# Gymnasium's own checks. It advises bounds that a robot's numbers do not have: see VectorEnv.
@pytest.mark.filterwarnings("ignore:.*A Box observation space m.*infinity:UserWarning")
@pytest.mark.filterwarnings("ignore:.*we recommend using a symmetric and normalized:UserWarning")
@pytest.mark.parametrize("law", [None, ComputedTorque(ARM, kp=100, kd=20)], ids=["torques", "law"])
def test_gymnasiums_checker_is_content(law):
    limit = TORQUES if law is None else {}
    check_env(Env(ARM, law=law, **limit), skip_render_check=True)


@pytest.mark.parametrize("ends", ["by task or time", "by time, all at once"])
@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)
def test_a_vector_is_gymnasiums_own_vector_of_single_environments(mode, ends):
    """Observations, rewards, flags and infos, over steps in which episodes end and start anew."""
    task = SAME if "task" in ends else replace(SAME, terminated=None)
    options = {"task": task, "episode_steps": 5, **TORQUES}
    ours = VectorEnv(ARM, COUNT, autoreset=mode.name.lower(), **options)
    theirs = SyncVectorEnv([lambda: Env(ARM, **options)] * COUNT, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] is mode
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert data_equivalence(ours.reset(seed=1), theirs.reset(seed=1), exact=True)
    counts = np.zeros(2, dtype=int)
    for action in actions(30):
        a, b = ours.step(action), theirs.step(action)
        for x, y in zip(a, b, strict=True):
            assert data_equivalence(x, y, exact=True)
        over = a[2] | a[3]
        counts += a[2].sum(), a[3].sum()
        if mode is AutoresetMode.DISABLED and over.any():
            again = [env.reset(options={"reset_mask": over.copy()}) for env in (ours, theirs)]
            assert data_equivalence(*again, exact=True)
    assert (counts > 0).tolist() == ["task" in ends, True]


def test_gymnasiums_wrappers_take_it():
    env = RescaleAction(VectorEnv(ARM, COUNT, episode_steps=4, **TORQUES), -1.0, 1.0)
    env = RecordEpisodeStatistics(env)
    env.reset(seed=1)
    for _ in range(5):
        *_, truncated, infos = env.step(env.action_space.sample())
        if truncated.any():
            assert (infos["episode"]["l"] == 4).all()
    assert env.episode_count == COUNT


# What a step computes


FLOOR = {"walls": appell.walls.Plane((0, 1, 0), -0.5), "restitution": 0.5}


@pytest.mark.parametrize("more", [{}, FLOOR, {"viscous": 0.3, "integrator": "implicit_midpoint"}])
def test_a_step_is_a_rollout(more):
    env = VectorEnv(ARM, COUNT, **TORQUES, **more)
    obs, _ = env.reset(seed=2)
    action = actions(1)[0]
    tau = np.repeat(action[:, None], 3, axis=1)
    start = {"q0": obs[:, :2], "v0": obs[:, 2:4]}
    run = appell.rollout(ARM, **start, tau=tau, steps=3, dt=0.01, **more)
    if more:  # which matters
        assert (run.q != appell.rollout(ARM, **start, tau=tau, steps=3, dt=0.01).q).any()
    after, *_ = env.step(action)
    assert (after == np.concatenate((run.q, run.v, obs[:, 4:]), axis=1)).all()


def test_a_law_holds_the_positions_that_are_asked_for_and_remembers_from_step_to_step():
    law = TrackingIntegral(ARM, kp=60, kd=15, ki=100)
    env = VectorEnv(ARM, 2, law=law, task=SAME, dt=0.01, frame_skip=3)
    env.reset()
    wanted = np.array([0.5, -0.2])
    for _ in range(2):
        obs, *_ = env.step(np.stack([wanted, wanted / 2]))
    for goal, seen in zip((wanted, wanted / 2), obs, strict=True):
        run = appell.rollout(ARM, law, goal, np.full(2, 0.1), np.zeros(2), steps=6, dt=0.01)
        # The tape of the set point is another one, rounded differently.
        assert np.allclose(seen, np.concatenate((run.q[0], run.v[0])), rtol=0, atol=1e-12)
    env.reset()
    fresh, *_ = env.step(np.stack([wanted, wanted / 2]))
    env.reset()
    again, *_ = env.step(np.stack([wanted, wanted / 2]))
    assert (fresh == again).all()  # a new episode's law has forgotten the last


def test_environments_differ_in_what_has_an_axis_for_them():
    mass = np.array(ARM.system.values("mass")) * np.array([[1.0], [2.0]])
    env = VectorEnv(ARM, 2, task=SAME, parameters={"mass": mass}, viscous=0.1, **TORQUES)
    env.reset()
    obs, *_ = env.step(np.ones((2, 2)))
    alone = VectorEnv(ARM, 1, task=SAME, parameters={"mass": mass[1]}, viscous=0.1, **TORQUES)
    alone.reset()
    assert (obs[1] == alone.step(np.ones((1, 2)))[0][0]).all()
    assert (obs[0] != obs[1]).any()


def test_actions_beyond_the_limits_are_those_at_the_limits():
    steps = []
    for size in (5.0, 500.0):
        env = VectorEnv(ARM, 1, task=SAME, **TORQUES)
        env.reset()
        steps.append(env.step(np.full((1, 2), size))[0])
    assert (steps[0] == steps[1]).all()


def test_a_simulation_that_fails_is_flagged_and_leaves_the_others_alone():
    def start(rng, count):
        q, v = still(rng, count)
        v[1::2] = 1e200
        return q, v

    options = {"task": replace(SAME, start=start), **TORQUES}
    env, alone = VectorEnv(ARM, 3, **options), VectorEnv(ARM, 1, **options)
    before, _ = env.reset()
    alone.reset()
    obs, reward, terminated, truncated, infos = env.step(np.ones((3, 2)))
    expected, of_one, *_ = alone.step(np.ones((1, 2)))
    assert infos["failed"].tolist() == terminated.tolist() == [False, True, False]
    assert not truncated.any()
    assert (obs[1] == before[1]).all()  # the last state that means anything
    assert (obs[[0, 2]] == expected).all()
    assert (reward[[0, 2]] == of_one).all()
    obs, *_, infos = env.step(np.ones((3, 2)))  # it has started anew, alone
    assert (obs[1] == before[0]).all()
    assert not infos["failed"].any()


def test_robots_with_loops_and_free_bases_are_environments():
    bars = appell.load("four_bar")
    env = VectorEnv(bars, 3, torque_limit=1.0)
    env.reset(seed=1)
    obs, *_, infos = env.step(np.ones((3, 1)))
    assert np.abs(bars.closure(obs[:, : bars.nq])).max() < 1e-9
    assert not infos["failed"].any()
    chain = appell.load("free_chain")
    env = VectorEnv(chain, 3, torque_limit=1.0)
    env.reset(seed=1)
    obs, *_ = env.step(np.ones((3, chain.nv - 6)))
    assert np.allclose(chain.normalise(obs[:, : chain.nq]), obs[:, : chain.nq], atol=1e-12)


# Tasks, seeds, spaces


@pytest.mark.parametrize("frame", [None, "link2"])
def test_reaching_rewards_the_way_to_the_goal(frame):
    task = reaching(ARM, frame or ARM.link_names[-1] if frame else None, speed=0.0)
    env = VectorEnv(ARM, COUNT, task=task, **TORQUES)
    obs, _ = env.reset(seed=3)
    q, v, goal = np.split(obs, [2, 4], axis=1)
    assert goal.shape == (COUNT, 2 if frame is None else 3)
    near = task.reward(q, v, v, q if frame is None else ARM.forward_kinematics(q)[:, :3, 3])
    assert np.abs(near).max() < 1e-12
    assert (task.reward(q, v, v, goal) < -1e-3).all()


def test_a_seed_fixes_starts_and_goals():
    env = VectorEnv(ARM, COUNT, **TORQUES)
    first, other, again = (env.reset(seed=seed)[0] for seed in (1, 2, 1))
    assert (first == again).all()
    assert (first != other).any()
    assert len(np.unique(first[:, 0])) == COUNT
    assert (env.reset()[0] != again).any()


def test_spaces_have_the_robots_limits_and_the_kernels_numbers():
    ur5 = appell.load("ur5")
    env = VectorEnv(ur5, 2, dtype="float32")
    assert env.single_action_space.high.tolist() == [150, 150, 150, 28, 28, 28]
    obs, _ = env.reset(seed=1)
    assert obs.dtype == env.action_space.dtype == np.float32
    assert obs in env.observation_space
    law = ComputedTorque(ur5, kp=100, kd=20)
    held = VectorEnv(ur5, 2, law=law).single_action_space
    assert np.allclose(held.high, [2 * np.pi, 2 * np.pi, np.pi, 2 * np.pi, 2 * np.pi, 2 * np.pi])


# Refusals


def test_mistakes_are_refused_with_a_cure():
    env = VectorEnv(ARM, 2, autoreset="disabled", episode_steps=1, **TORQUES)
    with pytest.raises(appell.InputError, match="reset the environments first"):
        env.step(np.zeros((2, 2)))
    with pytest.raises(appell.InputError, match="reset all environments first"):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset()
    with pytest.raises(appell.InputError, match=r"shape \(3, 2\); expected \(2, 2\)"):
        env.step(np.zeros((3, 2)))
    with pytest.raises(appell.InputError, match=r"actions\[1, 0\] is NaN"):
        env.step(np.array([[0.0, 0.0], [np.nan, 0.0]]))
    with pytest.raises(appell.InputError, match="an array of 2 booleans"):
        env.reset(options={"reset_mask": [True, False]})
    env.step(np.zeros((2, 2)))
    with pytest.raises(appell.InputError, match="environment 0 is over"):
        env.step(np.zeros((2, 2)))
    with pytest.raises(appell.InputError, match="give torque_limit"):
        VectorEnv(ARM, 2)
    with pytest.raises(appell.InputError, match="one of next_step, same_step, disabled"):
        VectorEnv(ARM, 2, autoreset="never", **TORQUES)
    with pytest.raises(TypeError, match="gravity"):
        VectorEnv(ARM, 2, gravity=0, **TORQUES)
    short = VectorEnv(ARM, 2, task=Task(still, lambda *x: 0.0), **TORQUES)
    short.reset()
    with pytest.raises(appell.InputError, match=r"reward gave shape \(\); expected \(2,\)"):
        short.step(np.zeros((2, 2)))
    broken = VectorEnv(ARM, 2, task=replace(SAME, start=lambda *x: (np.ones(2), 0.0)), **TORQUES)
    with pytest.raises(appell.InputError, match=r"shapes \(2,\) and \(\); expected \(2, 2\)"):
        broken.reset()
    bars = appell.load("four_bar")
    with pytest.raises(appell.InputError, match="Leave the law out"):
        VectorEnv(bars, 1, law=appell.control.PDGravity(bars, kp=1, kd=1))


def test_without_gymnasium_the_extra_is_named(monkeypatch):
    for name in [x for x in sys.modules if x.startswith("appell.learning")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(appell.AppellError, match=r"pip install 'appell\[rl\]'"):
        import_module("appell.learning")


def test_it_is_a_vector_environment_by_gymnasiums_registry():
    gymnasium.register("AppellArm-v0", vector_entry_point=_registered)
    try:
        env = gymnasium.make_vec("AppellArm-v0", COUNT, vectorization_mode="vector_entry_point")
        assert env.num_envs == COUNT
        assert env.reset(seed=1)[0] in env.observation_space
    finally:
        del gymnasium.registry["AppellArm-v0"]


def _registered(num_envs):
    return VectorEnv(ARM, num_envs, **TORQUES)


def test_no_motor_acts_on_a_free_base():
    robot = appell.load("free_chain", n=2)
    env = VectorEnv(robot, 2, torque_limit=3.0)
    assert env.single_action_space.shape == (robot.nv - 6,)
    env.reset(seed=0)
    env.step(env.action_space.sample())
