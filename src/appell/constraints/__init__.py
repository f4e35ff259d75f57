"""Loops and rolling: closed chains and wheels, in independent speeds."""

from appell.constraints.close import close
from appell.constraints.closed import ClosedRobot
from appell.constraints.loops import Loop
from appell.constraints.refusal import Margins, SingularError
from appell.constraints.rolling import Custom, KnifeEdge, Rolling
from appell.constraints.way import Place

__all__ = [
    "ClosedRobot", "Custom", "KnifeEdge", "Loop", "Margins", "Place", "Rolling", "SingularError",
    "close",
]  # fmt: skip
