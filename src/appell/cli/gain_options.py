"""Gains of a law, as options give them."""

from __future__ import annotations

from typing import Any


def read_gains(law: str, known: Any, given: list[str]) -> dict[str, Any]:
    """Numbers, or lists of them, by their names."""
    from appell.errors import InputError

    read: dict[str, Any] = {}
    for text in given:
        what, _, value = text.partition("=")
        if what not in known or what in read:
            problem = "is given twice" if what in read else "is none of its gains"
            raise InputError(f"{law}: {what!r} {problem}; they are {', '.join(known)}.")
        try:
            numbers = [float(x) for x in value.split(",")]
        except ValueError:
            raise InputError(
                f"{law}: {text!r}; expected a number or several, such as {what}=100 or {what}=1,2."
            ) from None
        read[what] = numbers if len(numbers) > 1 else numbers[0]
    return read
