"""Loops and rolling: closed chains and wheels, in independent speeds."""

from appell.robots.closed.close import close
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.closed.loops import Loop
from appell.robots.closed.places import Place
from appell.robots.closed.refusal import Margins, SingularError
from appell.robots.closed.rolling import Custom, KnifeEdge, Rolling

__all__ = [
    "ClosedRobot", "Custom", "KnifeEdge", "Loop", "Margins", "Place", "Rolling", "SingularError",
    "close",
]  # fmt: skip
