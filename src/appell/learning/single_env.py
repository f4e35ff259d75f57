"""One robot as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

from appell.learning.vector_env import GymnasiumEnv, VectorEnv
from appell.robots.dynamics import Array, Dynamics


class Env(GymnasiumEnv[Array, Array]):
    """One environment of a robot. For training use `VectorEnv`, which runs thousands at nearly the
    same cost.

    Args:
        robot: Any.
        options: Those of `VectorEnv` but ``count`` and ``autoreset``.

    Examples:
        >>> env = appell.learning.Env(appell.load("planar_chain", n=2), torque_limit=5)
        >>> obs, info = env.reset(seed=1)
        >>> obs, reward, terminated, truncated, info = env.step(np.zeros(2))
        >>> obs.shape
        (6,)
    """

    def __init__(self, robot: Dynamics, **options: Any) -> None:
        self._one = VectorEnv(robot, 1, **options, autoreset="disabled")
        self.metadata = {"render_modes": []}
        self.observation_space = self._one.single_observation_space
        self.action_space = self._one.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start a new episode.

        Args:
            seed: Of random numbers; the generator goes on without it.
            options: Not used.

        Returns:
            The observation, (numbers,), in SI units, and an empty dictionary.
        """
        super().reset(seed=seed)
        self._one.np_random = self.np_random
        obs, _ = self._one.reset()
        return obs[0], {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Args:
            action: Torques, (d,), N m or N, or the positions that a law holds, rad or m.

        Returns:
            The observation, (numbers,), in SI units, its reward, whether the episode is terminated,
            whether it is truncated, and what else there is to know.
        """
        obs, reward, terminated, truncated, info = self._one.step([action])
        told = {"failed": bool(info["failed"][0])}
        return obs[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), told
