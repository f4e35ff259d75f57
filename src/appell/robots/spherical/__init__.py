"""Spherical parallel robots: their limbs close loops, and have closed equations of their own."""

from __future__ import annotations

from appell.robots.spherical.spherical_robot import SphericalRobot

__all__ = ["SphericalRobot"]
