"""Which function computes which steps of a tape.

A long tape is cut into several functions, one after another, which leave each other values in a
small memory: the time to compile it then grows with its length and not with its square.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import inf, prod
from typing import NamedTuple

from appell.compile.order import ordered, waiting
from appell.compile.tape import Step, Tape

LENGTH, WINDOWS = 800, 60  # steps in a function, and windows of four outputs


class Window(NamedTuple):
    """Elements of an output's row that are written together."""

    operand: int
    width: int  # of the row
    first: int
    places: Sequence[int]


class Plan:
    """Which function computes what, and where values wait that another one needs."""

    def __init__(
        self,
        tape: Tape,
        length: int | None = None,
        windows: int = WINDOWS,
        stored: Collection[int] = (),
        registers: float = inf,
    ) -> None:
        """``stored`` are places of results that are written as soon as they are computed. Where
        more values than ``registers`` would wait, steps stay as they are recorded if fewer wait
        then."""
        length, self.most = length or LENGTH, windows
        self.operands = operands = [step.operands for step in tape.steps]
        levels = _trig_levels(tape.steps, operands)
        early = [k for k, s in enumerate(tape.steps) if s.op in ("sin", "cos") and levels[k] == 1]
        self.angles = list(dict.fromkeys(tape.steps[k].a for k in early))
        self.before_angles = _cone(operands, self.angles)
        done = {*self.before_angles, *early}
        later = [k for k in range(len(tape.steps)) if k not in done]
        cuts = range(0, max(len(later), 1), length)
        self.parts = [later[k : k + length] for k in cuts]
        self.parts[0] = [*early, *self.parts[0]]
        home = {place: n for n, part in enumerate(self.parts) for place in part}
        home |= dict.fromkeys(self.before_angles, 0)
        self.windows: list[list[Window]] = [[] for _ in self.parts]
        last_use = dict(home)
        for window in _windows(tape):
            at = self._assign(window)
            for place in {*window.places}.difference(stored):
                last_use[place] = max(last_use[place], at)
        for place, those in enumerate(operands):
            for used in those:
                last_use[used] = max(last_use[used], home[place])
        self.slots, self.room = self._slots(tape, home, last_use)
        self.waiting = 0  # values at the same time, where one function computes them all
        if len(self.parts) == 1:  # longer tapes were measured to be faster as they are recorded
            kept = set().union(*tape.results).difference(stored)
            self._order(tape.steps, kept, registers)

    def _order(self, steps: Sequence[Step], kept: Collection[int], registers: float) -> None:
        orders = [ordered(steps, self.parts[0], kept), self.parts[0]]
        held = [waiting(steps, [*self.before_angles, *x], kept) for x in orders]
        best = 1 if held[0] > registers and held[1] < held[0] else 0
        self.parts[0], self.waiting = orders[best], held[best]

    def _assign(self, window: Window) -> int:
        """The last function writes all outputs, in order, and further ones what is too much for it:
        memory is written fastest from one end to the other."""
        if len(self.windows[-1]) == self.most:
            self.parts.append([])
            self.windows.append([])
        self.windows[-1].append(window)
        return len(self.windows) - 1

    def _slots(
        self, tape: Tape, home: dict[int, int], last_use: dict[int, int]
    ) -> tuple[dict[int, int], int]:
        """A place in memory for each value that outlives its function; they are used again."""
        slots: dict[int, int] = {}
        free: list[int] = []
        ending: list[list[int]] = [[] for _ in self.parts]
        room = 0
        for number in range(len(self.parts)):
            places = self.parts[number] if number else [*self.before_angles, *self.parts[0]]
            for place in places:
                if tape.steps[place].op in ("constant", "input") or last_use[place] == number:
                    continue
                slots[place] = free.pop() if free else room
                room += slots[place] == room
                ending[last_use[place]].append(slots[place])
            free += ending[number]
        return slots, room


def _windows(tape: Tape) -> Iterator[Window]:
    """Outputs in groups of four neighbours."""
    for k, (shape, places) in enumerate(zip(tape.outputs.values(), tape.results, strict=True)):
        width = prod(shape)
        for start in range(0, width, 4):
            first = max(0, min(start, width - 4))
            yield Window(k, width, first, places[first : first + 4])


def _trig_levels(steps: Sequence[Step], operands: Sequence[Sequence[int]]) -> list[int]:
    """How many sines and cosines stand on the longest way to each step."""
    levels: list[int] = []
    for step, those in zip(steps, operands, strict=True):
        level = max(map(levels.__getitem__, those), default=0)
        levels.append(level + (step.op in ("sin", "cos")))
    return levels


def _cone(operands: Sequence[Sequence[int]], places: Sequence[int]) -> list[int]:
    """Everything the places are computed from, and themselves, in order."""
    needed, stack = set(), list(places)
    while stack:
        place = stack.pop()
        if place in needed:
            continue
        needed.add(place)
        stack += operands[place]
    return sorted(needed)
