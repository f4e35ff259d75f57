"""Closed loops: a law moves a simulated arm along a trajectory."""
