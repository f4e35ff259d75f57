"""Steps in another order: nothing is lost, nothing comes too early, few values wait."""

from __future__ import annotations

import random

import pytest

from appell.compile.order import WAITING, ordered, waiting
from appell.compile.tape import Step


def sum_of_products(count):
    """x0 x1 + x2 x3 + ...: all the products could be computed first."""
    steps = [Step("input", 0, k) for k in range(2 * count)]
    steps += [Step("mul", 2 * k, 2 * k + 1) for k in range(count)]
    total = 2 * count
    for k in range(1, count):
        steps.append(Step("add", total, 2 * count + k))
        total = len(steps) - 1
    return steps


def drawn(seed):
    rng = random.Random(seed)
    steps = [Step("input", 0, k) for k in range(5)]
    for _ in range(rng.randrange(1, 200)):
        op = rng.choice(["add", "mul", "neg", "sin", "fma", "sqrt"])
        a, b, c = (rng.randrange(len(steps)) for _ in range(3))
        steps.append(Step(op, (a, b) if op == "fma" else a, None if op in ("neg", "sin") else c))
    return steps


def most_waiting(steps, order, kept):
    left = {}
    for place in order:
        for used in set(steps[place].operands):
            left[used] = left.get(used, 0) + 1
    waiting, most = set(), 0
    for place in order:
        waiting.add(place)
        for used in set(steps[place].operands):
            left[used] -= 1
            if not left[used] and used not in kept:
                waiting.discard(used)
        most = max(most, len(waiting))
    return most


@pytest.mark.parametrize("seed", range(20))
def test_every_step_comes_once_and_after_what_it_needs(seed):
    steps = drawn(seed)
    places = list(range(5, len(steps)))
    found = ordered(steps, places, {len(steps) - 1})
    assert sorted(found) == places
    at = {place: k for k, place in enumerate(found)}
    assert all(at[used] < at[p] for p in places for used in steps[p].operands if used >= 5)


def test_few_values_wait():
    steps = sum_of_products(200)
    places, last = range(400, len(steps)), len(steps) - 1
    assert most_waiting(steps, list(places), {last}) == 200
    assert most_waiting(steps, ordered(steps, places, {last}), {last}) <= WAITING + 1


@pytest.mark.parametrize("order", [list, lambda x: ordered(sum_of_products(200), x, {x[-1]})])
def test_what_waits_is_counted(order):
    steps = sum_of_products(200)
    some = order(range(400, len(steps)))
    assert waiting(steps, some, {some[-1]}) == most_waiting(steps, some, {some[-1]})


def test_the_longest_way_is_first():
    """A root and a product are needed at the end: the root takes longer."""
    steps = [Step("input", 0, 0), Step("mul", 0, 0), Step("sqrt", 0, None), Step("add", 1, 2)]
    assert ordered(steps, [1, 2, 3], {3}) == [2, 1, 3]
