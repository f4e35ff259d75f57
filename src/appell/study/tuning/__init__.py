"""Tuning: parameters of a scenario that make a measure as small, or as large, as can be."""
