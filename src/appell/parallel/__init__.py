"""Spherical parallel robots: their limbs close loops, and have closed equations of their own."""

from __future__ import annotations

from appell.parallel.spherical import SphericalRobot

__all__ = ["SphericalRobot"]
