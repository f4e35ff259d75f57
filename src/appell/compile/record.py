"""Recording: an equation is called with CasADi scalars, and what it did is a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from math import prod
from typing import Any

import casadi

from appell.compile.tape import Tape
from appell.errors import InputError

Shape = tuple[int, ...]
_binary, _unary = casadi.SX.binary, casadi.SX.unary


class Recorded:
    """A scalar that records what is done to it, as a CasADi SX.

    Numbers stay numbers, and 0 x, 1 x and x + 0 fold at once: structure costs nothing.
    (CasADi's own Python operators take ten times longer than the two calls used here.)
    """

    __slots__ = ("sx",)

    def __init__(self, sx: casadi.SX) -> None:
        self.sx = sx

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Recorded):
            return Recorded(_binary(casadi.OP_ADD, self.sx, other.sx))
        return self if other == 0 else Recorded(_binary(casadi.OP_ADD, self.sx, other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Recorded):
            return Recorded(_binary(casadi.OP_SUB, self.sx, other.sx))
        return self if other == 0 else Recorded(_binary(casadi.OP_SUB, self.sx, other))

    def __rsub__(self, other: Any) -> Any:
        return -self if other == 0 else Recorded(_binary(casadi.OP_SUB, other, self.sx))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Recorded):
            return Recorded(_binary(casadi.OP_MUL, self.sx, other.sx))
        if other == 0:
            return 0
        if other == 1:
            return self
        return -self if other == -1 else Recorded(_binary(casadi.OP_MUL, self.sx, other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Recorded):
            return Recorded(_binary(casadi.OP_DIV, self.sx, other.sx))
        return self * (1 / other)

    def __rtruediv__(self, other: Any) -> Any:
        return 0 if other == 0 else Recorded(_binary(casadi.OP_DIV, other, self.sx))

    def __neg__(self) -> Any:
        return Recorded(_unary(casadi.OP_NEG, self.sx))

    def __bool__(self) -> bool:
        raise InputError(
            "an equation asked whether a recorded value is true: it may not branch on a value; "
            "use sign, or arithmetic."
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: self.__bool__()

    def sign(self) -> Recorded:
        return Recorded(_unary(casadi.OP_SIGN, self.sx))

    def __abs__(self) -> Recorded:
        return Recorded(_unary(casadi.OP_FABS, self.sx))

    def __pos__(self) -> Recorded:
        return self

    def __pow__(self, other: Any) -> Recorded:
        return Recorded(self.sx ** as_sx(other))

    def __rpow__(self, other: Any) -> Recorded:
        return Recorded(as_sx(other) ** self.sx)

    @staticmethod
    def atan2(y: Any, x: Any) -> Recorded:
        return Recorded(_binary(casadi.OP_ATAN2, as_sx(y), as_sx(x)))

    def arctan2(self, other: Any) -> Recorded:
        return self.atan2(self, other)

    def hypot(self, other: Any) -> Recorded:
        return Recorded(casadi.sqrt(self.sx * self.sx + as_sx(other) * as_sx(other)))


# NumPy's functions find those of a scalar that it does not know by name.
FUNCTIONS = {
    "sin": casadi.OP_SIN, "cos": casadi.OP_COS, "tan": casadi.OP_TAN, "arcsin": casadi.OP_ASIN,
    "arccos": casadi.OP_ACOS, "arctan": casadi.OP_ATAN, "sinh": casadi.OP_SINH,
    "cosh": casadi.OP_COSH, "tanh": casadi.OP_TANH, "exp": casadi.OP_EXP, "log": casadi.OP_LOG,
    "sqrt": casadi.OP_SQRT,
}  # fmt: skip


def _method(op: int) -> Callable[[Recorded], Recorded]:
    return lambda x: Recorded(_unary(op, x.sx))


for _name, _op in FUNCTIONS.items():
    setattr(Recorded, _name, _method(_op))


def record(
    equation: Callable[..., Any],
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    wrt: Sequence[str] = (),
    along: Mapping[str, Callable[..., Any]] | None = None,
) -> Tape:
    """The graph of ``equation(*inputs)``; with ``wrt``, of its Jacobians by those inputs.

    The equation takes nested lists of scalars of the shapes given, and gives such lists.
    A Jacobian of an output of shape s by an input of shape t has the shape s + t. ``along``
    gives for some of these inputs, vectors, the matrix whose columns are the directions in which
    they change; the Jacobian by them is in these.
    """
    symbols = {name: casadi.SX.sym(name, prod(shape)) for name, shape in inputs.items()}
    arguments = [
        _nested([Recorded(x) for x in _elements(symbols[k])], s) for k, s in inputs.items()
    ]
    results = equation(*arguments)
    if len(outputs) == 1:
        results = (results,)
    columns = {
        name: casadi.vertcat(*(as_sx(x) for x in _flat(result, shape)))
        for (name, shape), result in zip(outputs.items(), results, strict=True)
    }
    shapes = dict(outputs)
    if wrt:
        ways = {
            x: casadi.vertcat(*(casadi.horzcat(*map(as_sx, row)) for row in way(*arguments)))
            for x, way in (along or {}).items()
        }
        columns, shapes = _jacobians(columns, symbols, inputs, outputs, wrt, ways)
    function = casadi.Function("f", list(symbols.values()), list(columns.values()))
    return Tape.from_casadi(function, dict(inputs), shapes)


def _jacobians(
    columns: Mapping[str, casadi.SX],
    symbols: Mapping[str, casadi.SX],
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    wrt: Sequence[str],
    ways: Mapping[str, casadi.SX],
) -> tuple[dict[str, casadi.SX], dict[str, Shape]]:
    unknown = [x for x in wrt if x not in symbols]
    if unknown:
        raise InputError(
            f"cannot differentiate by {unknown[0]!r}; inputs are {', '.join(symbols)}."
        )
    blocks, shapes = {}, {}
    for name, column in columns.items():
        for x in wrt:
            label = f"d{name}_d{x}"
            if x in ways:
                found = casadi.jtimes(column, symbols[x], ways[x])
                shapes[label] = (*outputs[name], ways[x].shape[1])
            else:
                found = casadi.jacobian(column, symbols[x])
                shapes[label] = outputs[name] + inputs[x]
            blocks[label] = casadi.vec(casadi.densify(found).T)
    return blocks, shapes


def _elements(x: casadi.SX) -> list[casadi.SX]:
    return casadi.vertsplit(x) if x.numel() else []


def _nested(flat: list[Any], shape: Shape) -> Any:
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return flat
    step = prod(shape[1:])
    return [_nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def _flat(result: Any, shape: Shape) -> Iterable[Any]:
    if not shape:
        return [result]
    rows: list[Any] = list(result)
    if len(rows) != shape[0]:
        raise ValueError(f"an equation gave {len(rows)} rows where {shape[0]} were declared")
    return chain.from_iterable(_flat(row, shape[1:]) for row in rows)


def as_sx(x: Any) -> casadi.SX:
    """A recorded scalar, or a number, as CasADi has it."""
    return x.sx if isinstance(x, Recorded) else casadi.SX(float(x))
