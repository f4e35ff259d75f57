"""In which order steps are computed.

A processor computes several values at once, if it finds them near each other, and holds few. So
of the steps that can be computed the one is next from which the way to the results is longest;
once too many values wait, the one that ends most of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import accumulate

from appell.compile.tape import LEAVES, Step

WAITING = 24  # values, the sines and cosines among them: measured to be fastest
_CYCLES = {
    "fma": 4, "fms": 4, "fnma": 4, "inv": 13, "div": 13, "sqrt": 18, "neg": 1, "abs": 1,
    "atan2": 60, "exp": 60, "log": 90, "pow": 150, "sinh": 80, "cosh": 70, "tanh": 60,
}  # fmt: skip
_USUAL = 3  # cycles of all others


def ordered(steps: Sequence[Step], places: Sequence[int], kept: Collection[int]) -> list[int]:
    """The places in another order; what is ``kept`` is needed after all of them."""
    mine = set(places)
    operands = {place: set(steps[place].operands) for place in places}
    users: dict[int, list[int]] = {}
    for place in places:
        for used in operands[place]:
            users.setdefault(used, []).append(place)
    way: dict[int, int] = {}  # cycles to the results
    for place in sorted(places, reverse=True):
        own = _CYCLES.get(steps[place].op, _USUAL)
        way[place] = own + max((way[user] for user in users.get(place, ())), default=0)
    needs = {place: len(operands[place] & mine) for place in places}
    uses = Counter({place: len(those) for place, those in users.items()})
    uses.update(dict.fromkeys(kept, 1))
    waiting = {place for place in users if steps[place].op in ("sin", "cos")}

    def ends(place: int) -> int:
        return sum(uses[used] == 1 for used in operands[place])

    ready = [place for place in places if not needs[place]]
    found: list[int] = []
    while ready:
        many = len(waiting) >= WAITING
        following = max(ready, key=lambda p: (ends(p), way[p]) if many else (way[p], ends(p)))
        ready.remove(following)
        found.append(following)
        waiting.add(following)
        uses.subtract(operands[following])
        waiting -= {used for used in operands[following] if not uses[used]}
        for user in users.get(following, ()):
            needs[user] -= 1
            if not needs[user]:
                ready.append(user)
    return found


def waiting(steps: Sequence[Step], order: Sequence[int], kept: Collection[int]) -> int:
    """How many computed values wait at the same time, at most, for a later step of the order; what
    is ``kept`` waits until its end."""
    last = {used: k for k, place in enumerate(order) for used in steps[place].operands}
    last |= dict.fromkeys(kept, len(order))
    change = [0] * (len(order) + 1)
    for k, place in enumerate(order):
        if place in last and steps[place].op not in LEAVES:
            change[k] += 1
            change[last[place]] -= 1
    return max(accumulate(change), default=0)
