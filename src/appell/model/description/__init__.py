"""Robots as files and tables describe them: URDF, Denavit-Hartenberg."""
