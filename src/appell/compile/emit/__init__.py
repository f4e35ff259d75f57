"""Emitters: from a tape to code."""
