"""A wall as a recorded function of a point: its gap, and the normal there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi

from appell.compile.cache import covers
from appell.compile.record import Recorded
from appell.errors import InputError
from appell.walls import Implicit, Wall

_FUNCTIONS = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "exp", "log", "sqrt",
)  # fmt: skip
_SCALE = 10.0  # m: at this distance a gap f / |grad f| is no longer taken as a distance


def surface(wall: Wall) -> casadi.Function:
    """(x, y, z) -> gap, and its gradient: on the wall the unit normal."""
    x = casadi.SX.sym("x", 3)
    if isinstance(wall, Implicit):
        gap = _distance(wall, _written(wall, x), x)
        gap = -gap if wall.inside else gap
    else:
        gap = wall.gap(*(Recorded(c) for c in casadi.vertsplit(x))).sx
        if not covers(type(wall)) or not covers(type(wall).gap):
            gap = _distance(wall, gap, x)
    normal = casadi.densify(casadi.gradient(gap, x))
    return casadi.Function("wall", [x], [gap, normal])


def _distance(wall: Wall, f: casadi.SX, x: casadi.SX) -> casadi.SX:
    """f / |grad f|: to first order the distance, whatever a function's slope is."""
    gradient = casadi.gradient(f, x)
    if gradient.is_zero():
        raise InputError(
            f"{wall.label}: the function does not depend on x, y or z, so it is no surface."
        )
    # With f^2 the root does not vanish inside a closed surface; on the wall it adds nothing.
    return f / casadi.sqrt(casadi.sumsqr(gradient) + (f / _SCALE) ** 2)


def _written(wall: Implicit, x: casadi.SX) -> casadi.SX:
    """The user's function of x, y and z, recorded."""
    try:
        f = wall.function(*(_Symbol(c) for c in casadi.vertsplit(x)))
    except InputError:
        raise
    except Exception as problem:
        raise InputError(
            f"{wall.label}: its function of x, y and z cannot be recorded ({problem}); use "
            "+ - * / and **, abs, hypot, arctan2 and NumPy's "
            f"{', '.join(_FUNCTIONS)}, and do not branch on a value."
        ) from problem
    f = f.item() if hasattr(f, "item") else f
    if isinstance(f, _Symbol):
        return f.sx
    if isinstance(f, int | float):
        return casadi.SX(f)
    raise InputError(f"{wall.label}: its function gave {f!r}; expected one number.")


class _Symbol:
    """A scalar that records what a user's function does to it. NumPy's functions find theirs
    here by name."""

    __slots__ = ("sx",)

    sin: Callable[[], _Symbol]

    def __init__(self, sx: casadi.SX) -> None:
        self.sx = sx

    def __add__(self, other: Any) -> _Symbol:
        return _Symbol(self.sx + _sx(other))

    def __radd__(self, other: Any) -> _Symbol:
        return _Symbol(_sx(other) + self.sx)

    def __sub__(self, other: Any) -> _Symbol:
        return _Symbol(self.sx - _sx(other))

    def __rsub__(self, other: Any) -> _Symbol:
        return _Symbol(_sx(other) - self.sx)

    def __mul__(self, other: Any) -> _Symbol:
        return _Symbol(self.sx * _sx(other))

    def __rmul__(self, other: Any) -> _Symbol:
        return _Symbol(_sx(other) * self.sx)

    def __truediv__(self, other: Any) -> _Symbol:
        return _Symbol(self.sx / _sx(other))

    def __rtruediv__(self, other: Any) -> _Symbol:
        return _Symbol(_sx(other) / self.sx)

    def __pow__(self, other: Any) -> _Symbol:
        return _Symbol(self.sx ** _sx(other))

    def __rpow__(self, other: Any) -> _Symbol:
        return _Symbol(_sx(other) ** self.sx)

    def __neg__(self) -> _Symbol:
        return _Symbol(-self.sx)

    def __pos__(self) -> _Symbol:
        return self

    def __abs__(self) -> _Symbol:
        return _Symbol(casadi.fabs(self.sx))

    def arctan2(self, other: Any) -> _Symbol:
        return _Symbol(casadi.atan2(self.sx, _sx(other)))

    def hypot(self, other: Any) -> _Symbol:
        return _Symbol(casadi.sqrt(self.sx * self.sx + _sx(other) * _sx(other)))

    def __bool__(self) -> bool:
        raise InputError("a wall's function asked whether a value is true: it may not branch.")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: self.__bool__()


def _sx(x: Any) -> Any:
    return x.sx if isinstance(x, _Symbol) else float(x)


def _method(name: str) -> Callable[[_Symbol], _Symbol]:
    return lambda self: _Symbol(getattr(casadi, name)(self.sx))


for _name in _FUNCTIONS:
    setattr(_Symbol, _name, _method(_name))
