"""Inverse kinematics: joint positions from poses."""
