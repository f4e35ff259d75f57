"""Excitation: motions from which parameters can be told apart."""
