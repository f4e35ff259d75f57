"""The errors Appell raises: each says what was given, what was expected, and the cure."""

from __future__ import annotations


class AppellError(Exception):
    """Anything Appell refuses to do."""


class ModelError(AppellError, ValueError):
    """A robot that cannot exist, or a description of one that cannot be read."""


class InputError(AppellError, ValueError):
    """An argument of the wrong shape, kind or name."""
