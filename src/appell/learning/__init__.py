"""Environments for reinforcement learning, over rollouts; they need Gymnasium (``appell[rl]``)."""

from appell.learning.single_env import Env
from appell.learning.task import Task, holding, reaching
from appell.learning.vector_env import VectorEnv

__all__ = ["Env", "Task", "VectorEnv", "holding", "reaching"]
