"""A griffe extension: comments beside the fields of a class are what the reference says of them."""

from __future__ import annotations

import re
from typing import Any

import griffe

FIELD = re.compile(r"^    (\w+)(?:: [^#]+)?(?: = [^#]+)?  # (?!noqa|type:|fmt:)(.+)$")


class FieldComments(griffe.Extension):
    """A class whose docstring has no list of arguments or attributes gets one of its comments."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Add the list."""
        told = cls.docstring
        if told is None or re.search(r"(?m)^(Args|Attributes):$", told.value):
            return
        fields = [found.groups() for line in cls.lines if (found := FIELD.match(line))]
        if fields:
            lines = "".join(f"    {name}: {comment}\n" for name, comment in fields)
            told.value += f"\n\nAttributes:\n{lines}"
