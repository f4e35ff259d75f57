"""Rollouts: whole closed loops in one kernel, many runs at a time."""
