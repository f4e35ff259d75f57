"""Derivatives of tapes, which are tapes: tangents of outputs, adjoints of inputs.

An operation z(x, y) has, for each operand, the linear map that takes a change of the operand to one
of z. Forwards these maps give tangents, dz = z_x dx + z_y dy; backwards, the same maps give
adjoints, x' += z_x z' and y' += z_y z'. New steps are numbered with the old ones, so that each
value is computed once.

Conventions where a derivative does not exist: abs and sqrt have the slope 0 at 0, so that a norm
has a gradient where it is smallest; a choice has the slope of the branch that it takes. In an
adjoint, the other branch counts as 0 times its own slope, which must be finite.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from math import log, prod

from appell.compile.tape import LEAVES, Builder, Step, Tape

Map = Callable[[int], int]  # from a place to a place, linear
FLAT = frozenset(("sign", "round", "uniform"))  # operations whose slope is 0
_TINY = 2.0**-126  # the smallest number that float32 holds with all its digits


def tangent_of(name: str) -> str:
    """The name of a value's tangent: no argument of a Python function has such a name."""
    return f"d {name}"


def adjoint_of(name: str) -> str:
    """The name of a value's adjoint, the derivative of the objective with respect to it."""
    return f"adjoint {name}"


def tangent(tape: Tape, by: Collection[str], of: Collection[str]) -> Tape:
    """The tape that also computes ``d y`` for each output y in ``of``, from ``d x`` for each input
    x in ``by``; other inputs do not change."""
    on, names = Builder(), list(tape.inputs)
    varied, wanted = [x for x in names if x in by], [y for y in tape.outputs if y in of]
    to: dict[int, int] = {}
    changes: dict[int, int] = {}
    for place, step in enumerate(tape.steps):
        z = to[place] = on.step(*step.moved(to))
        if step.op == "input" and names[step.a] in varied:
            changes[z] = on.step("input", len(names) + varied.index(names[step.a]), step.b)
        for x, through in _maps(on, z):
            if x in changes:
                _add(on, changes, z, through(changes[x]))
    rows = {y: [to[p] for p in row] for y, row in zip(tape.outputs, tape.results, strict=True)}
    zero = on.constant(0.0)
    return on.tape(
        {**tape.inputs, **{tangent_of(x): tape.inputs[x] for x in varied}},
        {**tape.outputs, **{tangent_of(y): tape.outputs[y] for y in wanted}},
        [*rows.values(), *([changes.get(p, zero) for p in rows[y]] for y in wanted)],
    )


def adjoint(tape: Tape, of: Collection[str], by: Collection[str]) -> Tape:
    """The tape that takes adjoints back: from ``adjoint y`` of each output y in ``of`` to
    ``adjoint x`` of each input x in ``by``, as the tape replaces variables by what it computes.

    It takes the tape's own inputs, too. The adjoint of a variable that the tape writes is replaced
    (by 0 if the tape does not read it); of one that it only reads, added to.
    """
    on, names = Builder(), list(tape.inputs)
    written, read = [y for y in tape.outputs if y in of], [x for x in names if x in by]
    shapes = {**tape.inputs, **tape.outputs}
    given = [*written, *(x for x in read if x not in tape.outputs)]
    number = {x: len(names) + k for k, x in enumerate(given)}
    to: dict[int, int] = {}
    active: set[int] = set()  # the places that change with the inputs
    for place, step in enumerate(tape.steps):
        z = to[place] = on.step(*step.moved(to))
        if names[step.a] in read if step.op == "input" else active & {*_smooth(on.steps[z])}:
            active.add(z)
    bars: dict[int, int] = {}
    for y, row in zip(tape.outputs, tape.results, strict=True):
        for j, place in enumerate(row if y in written else ()):
            if to[place] in active:
                _add(on, bars, to[place], on.step("input", number[y], j))
    for z in sorted(active, reverse=True):
        for x, through in _maps(on, z) if z in bars else ():
            if x in active:
                _add(on, bars, x, through(bars[z]))
    zero, rows = on.constant(0.0), dict[str, list[int]]()
    for name in dict.fromkeys([*read, *written]):
        rows[name] = []
        for j in range(prod(shapes[name])):
            old = zero if name in tape.outputs else on.step("input", number[name], j)
            own = on.step("input", names.index(name), j) if name in read else zero
            rows[name].append(on.add(old, bars.get(own, zero)))
    return on.tape(
        {**tape.inputs, **{adjoint_of(x): shapes[x] for x in given}},
        {adjoint_of(x): shapes[x] for x in rows},
        rows.values(),
    )


def depends(tape: Tape) -> dict[str, set[str]]:
    """The inputs that each output changes with."""
    names = list(tape.inputs)
    sets: list[int] = []  # of inputs, as bits of a number
    for step in tape.steps:
        bits = 1 << step.a if step.op == "input" else 0
        for place in _smooth(step):
            bits |= sets[place]
        sets.append(bits)
    found = {}
    for y, row in zip(tape.outputs, tape.results, strict=True):
        bits = 0
        for place in row:
            bits |= sets[place]
        found[y] = {x for k, x in enumerate(names) if bits >> k & 1}
    return found


def _add(on: Builder, sums: dict[int, int], at: int, term: int) -> None:
    sums[at] = on.add(sums[at], term) if at in sums else term


def _smooth(step: Step) -> tuple[int, ...]:
    """The operands that the result changes with."""
    if step.op in FLAT:
        return ()
    return step.operands[2:] if step.op == "choose" else step.operands


def _maps(on: Builder, z: int) -> list[tuple[int, Map]]:
    """Each operand that a step's result changes with, and the map of its changes."""
    step = on.steps[z]
    if step.op in FLAT or step.op in LEAVES:
        return []
    return list(zip(_smooth(step), _RULES[step.op](on, z, *step.operands), strict=True))


def _times(on: Builder, *factors: int) -> Map:
    """Multiplication by a product."""
    coefficient, *others = factors
    for factor in others:
        coefficient = on.mul(coefficient, factor)
    return partial(on.mul, coefficient)


def _minus(on: Builder, *factors: int) -> Map:
    by = _times(on, *factors)
    return lambda x: on.neg(by(x))


def _same(x: int) -> int:
    return x


def _product(on: Builder, z: int, x: int, y: int) -> tuple[Map, Map]:
    if x == y:  # half of the slope for each of the two would be one operation more
        return _times(on, on.twice(x)), lambda _: on.constant(0.0)
    return _times(on, y), _times(on, x)


def _quotient(on: Builder, z: int, x: int, y: int) -> tuple[Map, Map]:
    inverse = on.step("inv", y)
    return _times(on, inverse), _minus(on, z, inverse)


def _root(on: Builder, z: int, x: int) -> tuple[Map]:
    zero = on.constant(0.0)
    slope = on.mul(on.constant(0.5), on.step("inv", z))
    return (_times(on, on.several("choose", zero, x, slope, zero)),)


def _angle(on: Builder, z: int, y: int, x: int) -> tuple[Map, Map]:
    inverse = on.step("inv", on.add(on.mul(y, y), on.mul(x, x)))
    return _times(on, x, inverse), _minus(on, y, inverse)


def _power(on: Builder, z: int, x: int, y: int) -> tuple[Map, Map]:
    """x^y; at x = 0 it does not change with y."""
    k, base = on.value(y), on.value(x)
    lower = x if k == 2 else on.step("pow", x, on.sub(y, on.constant(1.0)))
    if base is not None and base > 0:
        logarithm = on.constant(log(base))
    else:
        tiny = on.constant(_TINY)
        logarithm = on.step("log", on.several("choose", on.step("abs", x), tiny, tiny, x))
    return _times(on, y, lower), _times(on, z, logarithm)


def _choice(on: Builder, z: int, x: int, y: int, less: int, otherwise: int) -> tuple[Map, Map]:
    zero = on.constant(0.0)
    return (
        lambda d: on.several("choose", x, y, d, zero),
        lambda d: on.several("choose", x, y, zero, d),
    )


# By operation: from the places of the result and the operands, the maps of the operands' changes.
_RULES: Mapping[str, Callable[..., tuple[Map, ...]]] = {
    "add": lambda on, z, x, y: (_same, _same),
    "sub": lambda on, z, x, y: (_same, on.neg),
    "neg": lambda on, z, x: (on.neg,),
    "mul": _product,
    "div": _quotient,
    "inv": lambda on, z, x: (_minus(on, z, z),),
    "sqrt": _root,
    "abs": lambda on, z, x: (_times(on, on.step("sign", x)),),
    "sin": lambda on, z, x: (_times(on, on.step("cos", x)),),
    "cos": lambda on, z, x: (_minus(on, on.step("sin", x)),),
    "atan2": _angle,
    "exp": lambda on, z, x: (_times(on, z),),
    "log": lambda on, z, x: (_times(on, on.step("inv", x)),),
    "pow": _power,
    "sinh": lambda on, z, x: (_times(on, on.step("cosh", x)),),
    "cosh": lambda on, z, x: (_times(on, on.step("sinh", x)),),
    "tanh": lambda on, z, x: (_times(on, on.sub(on.constant(1.0), on.mul(z, z))),),
    "choose": _choice,
}
