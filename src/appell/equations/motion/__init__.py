"""Motion of frames and of the whole: kinematics, momentum, external forces."""
