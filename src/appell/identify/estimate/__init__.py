"""Estimates: from samples to parameters, and how sure they are."""
