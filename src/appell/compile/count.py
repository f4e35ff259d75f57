"""Operation counts of a recorded equation, as the papers count them."""

from __future__ import annotations

from typing import NamedTuple

from appell.compile.tape import Tape


class Operations(NamedTuple):
    """Operations of one evaluation, constants folded and shared values computed once.

    A change of sign is counted apart: it costs no more than a move.
    """

    multiplications: int
    additions: int
    divisions: int
    square_roots: int
    sines_and_cosines: int
    sign_changes: int

    def __str__(self) -> str:
        named = (f"{n} {name.replace('_', ' ')}" for name, n in self._asdict().items() if n)
        return ", ".join(named) or "no operations"


def count(tape: Tape) -> Operations:
    """Additions include subtractions, multiplications include squares."""
    n = tape.counts
    return Operations(
        multiplications=n["mul"],
        additions=n["add"] + n["sub"],
        divisions=n["inv"],
        square_roots=n["sqrt"],
        sines_and_cosines=n["sin"] + n["cos"],
        sign_changes=n["neg"],
    )
