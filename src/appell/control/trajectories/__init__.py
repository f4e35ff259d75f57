"""Trajectories: of the joints, of a frame, within limits, and sampled."""
