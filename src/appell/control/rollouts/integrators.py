"""Steps of fixed length, as parts of a program.

A part advances the variables q and v by a step, under forces that it finds in other variables. Each
method runs one equation, the ``stage``, several times with a row of numbers of its own: code stays
as long as one evaluation of the dynamics.

- ``rk4``: the classical method of order four.
- ``semi_implicit_euler``: speeds first, then positions with the new speeds. Order one; what is
  elastic keeps its energy on average.
- ``implicit_midpoint``: order two and symmetric in time; its equation is solved by a fixed number
  of iterations, each of which gains a factor of h / 2 times the rate at which the motion changes.
  Where the last one still changes the state, the variable ``unsolved`` is set to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from appell.compile.program import TURN, Loop, Part
from appell.compile.trace import choose, trace

Shapes = Mapping[str, tuple[int, ...]]
# (q, v, *others) -> the rates of q and of v
Rates = Callable[..., tuple[Sequence[Any], Sequence[Any]]]

METHODS = ("rk4", "semi_implicit_euler", "implicit_midpoint")
ITERATIONS = 6  # of the implicit midpoint: at h = 1 ms an arm's error falls below rounding
# The largest change in the last iteration, relative to the sizes of q and of v. The stiffest spring
# that float64 lets pass has h / 2 times its rate = 0.1; 1000 steps change its energy by 4e-5. In
# float32 rounding alone changes a state by some 1e-7 of its size.
CHANGE = {"float64": 1e-6, "float32": 1e-4}
LITTLE = 1e-3  # rad, m, rad/s or m/s: changes of what is smaller are compared with this
# The largest rate of friction times h. An explicit step beyond it overshoots more and more; six
# iterations of the implicit midpoint leave (rate h / 2)^5 of positions, which CHANGE bounds.
STABLE = {"rk4": 2.0, "semi_implicit_euler": 2.0, "implicit_midpoint": 0.125}


def advance(
    method: str, rates: Rates, sizes: tuple[int, int], others: Shapes, h: float, change: float
) -> tuple[Part, ...]:
    """The parts of a step of length h; ``rates`` reads ``others`` after a state, and from ``h``
    halves, sixths and the like are taken as numbers; ``change`` is one of CHANGE."""
    nq, nv = sizes
    q, v = {"q": (nq,)}, {"v": (nv,)}
    stage = {"q.stage": (nq,), "v.stage": (nv,)}
    sums = {"q.sum": (nq,), "v.sum": (nv,)}
    turn = {TURN: (2,)}

    def begin(q: Any, v: Any) -> Any:
        return q, v, q, v

    if method == "semi_implicit_euler":

        def euler(q: Any, v: Any, *others: Any) -> Any:
            _, a = rates(q, v, *others)
            later = _moved(v, h, a)
            dq, _ = rates(q, later, *others)
            return _moved(q, h, dq), later

        return (trace(euler, {**q, **v, **others}, {**q, **v}),)

    start = trace(begin, {**q, **v}, {**stage, **sums})
    if method == "implicit_midpoint":

        def middle(q: Any, v: Any, Q: Any, V: Any, unsolved: Any, turn: Any, *others: Any) -> Any:
            dq, a = rates(Q, V, *others)
            half, is_last = turn
            new_q, new_v = _moved(q, half, dq), _moved(v, half, a)
            for x, old, new in ((q, Q, new_q), (v, V, new_v)):
                wrong = choose(change * _size(x, new), _distance(old, new), 1.0, unsolved)
                unsolved = choose(0.5, is_last, wrong, unsolved)
            return new_q, new_v, unsolved

        solved = {**stage, "unsolved": ()}
        one = trace(middle, {**q, **v, **solved, **turn, **others}, solved)
        rows = (*((h / 2, 0.0),) * (ITERATIONS - 1), (h / 2, 1.0))

        def end(q: Any, v: Any, Q: Any, V: Any) -> Any:
            return (
                [2 * X - x for x, X in zip(q, Q, strict=True)],
                [2 * X - x for x, X in zip(v, V, strict=True)],
            )

        finish = trace(end, {**q, **v, **stage}, {**q, **v})
        return (start, Loop(rows, (one,)), finish)

    def weighed(q: Any, v: Any, Q: Any, V: Any, sq: Any, sv: Any, turn: Any, *others: Any) -> Any:
        dq, a = rates(Q, V, *others)
        share, weight = turn
        return (
            _moved(q, share, dq), _moved(v, share, a), _moved(sq, weight, dq), _moved(sv, weight, a)
        )  # fmt: skip

    one = trace(weighed, {**q, **v, **stage, **sums, **turn, **others}, {**stage, **sums})
    rows = ((h / 2, h / 6), (h / 2, h / 3), (h, h / 3), (0.0, h / 6))
    finish = trace(lambda q, v: (q, v), sums, {**q, **v})
    return (start, Loop(rows, (one,)), finish)


def _moved(x: Sequence[Any], h: Any, rates: Sequence[Any]) -> list[Any]:
    return [a + h * b for a, b in zip(x, rates, strict=True)]


def _size(x: Sequence[Any], y: Sequence[Any]) -> Any:
    """The size of two states, and with it that of their difference."""
    return sum((abs(a) for a in (*x, *y)), start=LITTLE)


def _distance(x: Sequence[Any], y: Sequence[Any]) -> Any:
    apart = [abs(a - b) for a, b in zip(x, y, strict=True)]
    return sum(apart[1:], start=apart[0])
