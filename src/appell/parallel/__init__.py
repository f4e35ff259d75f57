"""Robots whose limbs close loops, with their own closed equations."""

from __future__ import annotations

from appell.parallel.agile_wrist import AgileWrist

__all__ = ["AgileWrist"]
