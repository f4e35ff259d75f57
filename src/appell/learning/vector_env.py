"""Many copies of a robot as one Gymnasium environment: a step of all of them is one kernel call."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from appell.control.hardware_numbers import motors, torque_limits
from appell.control.laws.law import Law
from appell.control.rollouts.rollout_setup import refuse_open
from appell.errors import AppellError, InputError
from appell.given import number, one_of, optional, whole
from appell.learning.held_action import HeldAction
from appell.learning.task import Task, reaching
from appell.model.limits import limits
from appell.robots.dynamics import Array, Dynamics

Flags = npt.NDArray[np.bool_]

try:
    from gymnasium import Env as GymnasiumEnv
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector import VectorEnv as GymnasiumVectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    raise AppellError(
        "environments need Gymnasium, 1.1 or newer: pip install 'appell[rl]'."
    ) from None

__all__ = ["GymnasiumEnv", "VectorEnv"]

MODES = {mode.name.lower(): mode for mode in AutoresetMode}


class VectorEnv(GymnasiumVectorEnv[Array, Array, Any]):
    """Many environments of a robot, stepped together.

    An action is held for ``frame_skip`` steps of ``dt`` seconds. Without a law it is the torques,
    within ``torque_limit``, the joints' own efforts where it is not given; with a law the positions
    that the law holds, within the joints' limits, or from -pi to pi. What is beyond is clipped.

    An observation is q, v and the task's goal, one after another. Its space has no bounds: steps of
    fixed length pass a joint's limit before a stop sends them back. An episode is truncated after
    ``episode_steps`` actions, and terminated where the task says so, or where its simulation
    failed: its numbers were no longer finite, or a robot with loops came too near to a singular
    configuration. Then ``infos["failed"]`` is True, and the observation and the reward are those of
    the state before, the last that means anything; other environments do not notice.

    ``autoreset`` is Gymnasium's: "next_step", "same_step" (with ``final_obs`` and ``final_info``),
    or "disabled", where ``reset(options={"reset_mask": mask})`` starts some anew.

    Args:
        robot: Any.
        count: How many environments.
        task: The task of `reaching` a configuration if not given.
        law: Of which actions are the targets.
        dt: s.
        frame_skip: Steps of ``dt`` per action.
        episode_steps: Actions per episode.
        torque_limit: One number or (d,), N m (N).
        autoreset: "next_step", "same_step" or "disabled".
        dtype: "float64" or "float32".
        physics: Options of `appell.rollout`: integrator, substeps, parameters, payload, viscous,
            coulomb, slip, walls, points, stops, restitution, stop_restitution, mu, formulation.
            What has a first axis of ``count`` differs between environments.

    Examples:
        >>> env = appell.learning.VectorEnv(appell.load("planar_chain", n=2), 16, torque_limit=5)
        >>> obs, _ = env.reset(seed=1)
        >>> obs, reward, terminated, truncated, infos = env.step(np.zeros((16, 2)))
        >>> obs.shape, reward.shape
        ((16, 6), (16,))
    """

    def __init__(
        self,
        robot: Dynamics,
        count: int,
        *,
        task: Task | None = None,
        law: Law | None = None,
        dt: float = 0.002,
        frame_skip: int = 10,
        episode_steps: int = 500,
        torque_limit: Any = None,
        autoreset: str = "next_step",
        dtype: Any = "float64",
        **physics: Any,
    ) -> None:
        super().__init__()
        optional("VectorEnv: task", task, Task, "a Task, such as reaching(robot), or None")
        self.robot, self.num_envs = robot, whole("VectorEnv: count", count, 1)
        self.task = task or reaching(robot)
        self.episode_steps = whole("VectorEnv: episode_steps", episode_steps, 1)
        mode = one_of("VectorEnv: autoreset", autoreset, MODES)
        self._mode = MODES[mode]
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        self.dt = number("VectorEnv: dt", dt) * whole("VectorEnv: frame_skip", frame_skip, 1)
        most = self._torques(torque_limit, law)
        limit = None if law is None else most  # actions are within it
        self._steps = HeldAction(
            robot, law, self.num_envs, frame_skip, dt, torque_limit=limit, dtype=dtype, **physics
        )
        self._kind = self._steps.kernel.dtype
        low, high = reach(robot) if most is None or law is not None else (-most, most)
        low, high = (np.asarray(x).astype(self._kind) for x in (low, high))
        self._low, self._high = low, high
        self._goal = self._goals(1)[:0]
        width = robot.nq + robot.nv + self._goal.shape[1]
        self.single_action_space = Box(low, high, dtype=self._kind.type)
        self.single_observation_space = Box(-np.inf, np.inf, (width,), self._kind.type)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._q = np.empty((self.num_envs, robot.nq), self._kind)
        self._v = np.empty((self.num_envs, robot.nv), self._kind)
        self._goal = np.empty((self.num_envs, width - robot.nq - robot.nv), self._kind)
        self._age = np.zeros(self.num_envs, dtype=np.int64)
        self._over = np.zeros(self.num_envs, dtype=bool)
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start new episodes.

        Args:
            seed: Of random numbers; the generator goes on without it.
            options: ``{"reset_mask": mask}`` starts only those where the mask, (count,), is True.

        Returns:
            Observations, (count, numbers), in SI units, and an empty dictionary.
        """
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask")
        if mask is None:
            mask = np.ones(self.num_envs, dtype=bool)
        elif not isinstance(mask, np.ndarray) or mask.dtype != bool or len(mask) != self.num_envs:
            raise InputError(
                f"reset_mask = {mask!r}; expected an array of {self.num_envs} booleans."
            )
        elif not self._begun:
            raise InputError("reset_mask: nothing has begun; reset all environments first.")
        self._begin(mask)
        self._begun = True
        return self._observed(), {}

    def step(self, actions: Any) -> tuple[Array, Array, Flags, Flags, dict[str, Any]]:
        """Take an action in each environment.

        Args:
            actions: Torques, (count, d), N m or N, or the positions that a law holds, rad or m.

        Returns:
            Observations, (count, numbers), in SI units, rewards, (count,), which episodes are
            terminated, which are truncated, and what else there is to know.
        """
        action = self._checked(actions)
        again = self._over
        if again.any() and self._mode is AutoresetMode.DISABLED:
            raise InputError(
                f"step: the episode of environment {np.flatnonzero(again)[0]} is over; reset it "
                'by reset(options={"reset_mask": mask}), or choose autoreset="next_step".'
            )
        q, v, tau, lost = self._steps(self._q, self._v, action)
        if lost.any():
            q[lost], v[lost], tau[lost] = self._q[lost], self._v[lost], 0.0
        self._q, self._v = q, v
        self._age += 1
        task = self.task
        reward = np.array(task.reward(q, v, tau, self._goal), dtype=float)
        self._refuse_shape("reward", reward)
        terminated = lost.copy()
        if task.terminated is not None:
            ended = np.asarray(task.terminated(q, v, self._goal), dtype=bool)
            self._refuse_shape("terminated", ended)
            terminated |= ended
        truncated = self._age >= self.episode_steps
        stepped = ~again
        if again.any():  # the step after an episode's last: it starts anew, whatever the action
            self._begin(again)
            reward[again] = 0.0
            for flags in (terminated, truncated, lost):
                flags[again] = False
        over = terminated | truncated
        info: dict[str, Any] = {"failed": lost, "_failed": stepped} if stepped.any() else {}
        if self._mode is AutoresetMode.SAME_STEP and over.any():
            info = self._ended(over, lost)
            self._begin(over)
            self._over = np.zeros_like(over)
        else:
            self._over = over
        return self._observed(), reward, terminated, truncated, info

    def _ended(self, over: Flags, lost: Flags) -> dict[str, Any]:
        """What Gymnasium wants to know of episodes that end in the same step as new ones start."""
        last = np.full(self.num_envs, None, dtype=object)
        seen = self._observed()
        for k in np.flatnonzero(over):
            last[k] = seen[k]
        final = {"failed": np.where(over, lost, False), "_failed": over.copy()}
        info: dict[str, Any] = {"final_obs": last, "_final_obs": over.copy()}
        info |= {"final_info": final, "_final_info": over.copy()}
        if not over.all():
            info |= {"failed": np.where(over, False, lost), "_failed": ~over}
        return info

    def _begin(self, mask: Flags) -> None:
        """New episodes where the mask is True."""
        count = int(mask.sum())
        q, v = self._starts(count)
        self._q[mask], self._v[mask] = q, v
        self._goal[mask] = self._goals(count)
        self._age[mask] = 0
        self._over = self._over & ~mask
        self._steps.forget(mask)

    def _starts(self, count: int) -> list[Array]:
        found = [np.asarray(x, dtype=float) for x in self.task.start(self.np_random, count)]
        shapes = (count, self.robot.nq), (count, self.robot.nv)
        if [x.shape for x in found] != [*shapes] or not all(np.isfinite(x).all() for x in found):
            told = " and ".join(str(x.shape) for x in found)
            raise InputError(
                f"Task: start gave shapes {told}; expected {shapes[0]} and {shapes[1]}, positions "
                "and velocities, all finite."
            )
        refuse_open("Task: start", self.robot, found[0])
        return found

    def _goals(self, count: int) -> Array:
        if self.task.goal is None:
            return np.empty((count, 0))
        goal = np.asarray(self.task.goal(self.np_random, count), dtype=float)
        if goal.ndim != 2 or len(goal) != count:
            raise InputError(f"Task: goal gave shape {goal.shape}; expected ({count}, numbers).")
        return goal

    def _observed(self) -> Array:
        return np.concatenate((self._q, self._v, self._goal), axis=1)

    def _checked(self, actions: Any) -> Array:
        if not self._begun:
            raise InputError("step: nothing has begun; reset the environments first.")
        try:
            array = np.asarray(actions, dtype=self._kind)
        except (TypeError, ValueError):
            raise InputError(
                f"step: actions = {actions!r}; expected ({self.num_envs}, {self._steps.size}) "
                "numbers."
            ) from None
        if array.shape != (self.num_envs, self._steps.size):
            raise InputError(
                f"step: actions have shape {array.shape}; expected "
                f"({self.num_envs}, {self._steps.size})."
            )
        clipped = np.clip(array, self._low, self._high)
        if np.isnan(clipped.sum()):
            k, j = np.argwhere(np.isnan(array))[0]
            raise InputError(f"step: actions[{k}, {j}] is NaN; expected numbers.")
        return clipped

    def _refuse_shape(self, what: str, x: npt.NDArray[Any]) -> None:
        if x.shape != (self.num_envs,):
            raise InputError(
                f"Task: {what} gave shape {x.shape}; expected ({self.num_envs},), one each."
            )

    def _torques(self, given: Any, law: Law | None) -> Array | None:
        """The largest torques; a law may do without."""
        most = torque_limits(True if given is None and law is None else given, self.robot)
        if law is None and most is not None:
            most = most[motors(self.robot)]
        if law is None and (most is None or not np.isfinite(most).all()):
            raise InputError(
                f"VectorEnv: the joints of '{self.robot.name}' have no efforts that would bound "
                "torques; give torque_limit, one number or one per joint."
            )
        return most


def reach(robot: Dynamics) -> tuple[Array, Array]:
    """The least and the largest position of each joint; where there is no limit, half a turn. Of a
    joint that others mimic, the tightest limits of all of them."""
    low, high = np.full((2, robot.nq), [[-np.inf], [np.inf]])
    for limit in limits(robot.model):
        k = limit.coordinate
        if limit.side > 0:
            low[k] = max(low[k], limit.value)
        else:
            high[k] = min(high[k], limit.value)
    return np.where(np.isfinite(low), low, -np.pi), np.where(np.isfinite(high), high, np.pi)
