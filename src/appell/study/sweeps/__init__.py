"""Sweeps: a scenario at many points, on this machine or on others."""
