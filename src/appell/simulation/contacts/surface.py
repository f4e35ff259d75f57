"""A wall as a recorded function of a point: its gap, and the normal there."""

from __future__ import annotations

import casadi

from appell.compile.record import FUNCTIONS, Recorded
from appell.errors import InputError
from appell.walls import DISTANCES, Implicit, Wall

_SCALE = 10.0  # m: at this distance a gap f / |grad f| is no longer taken as a distance


def surface(wall: Wall) -> casadi.Function:
    """(x, y, z) -> gap, and its gradient: on the wall the unit normal."""
    x = casadi.SX.sym("x", 3)
    if isinstance(wall, Implicit):
        gap = _distance(wall, _written(wall, x), x)
        gap = -gap if wall.inside else gap
    else:
        gap = wall.gap(*(Recorded(c) for c in casadi.vertsplit(x))).sx
        if DISTANCES.get(type(wall)) is not type(wall).gap:
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
        f = wall.function(*(Recorded(c) for c in casadi.vertsplit(x)))
    except InputError:
        raise
    except Exception as problem:
        raise InputError(
            f"{wall.label}: its function of x, y and z cannot be recorded ({problem}); use "
            "+ - * / and **, abs, hypot, arctan2 and NumPy's "
            f"{', '.join(FUNCTIONS)}, and do not branch on a value."
        ) from problem
    f = f.item() if hasattr(f, "item") else f
    if isinstance(f, Recorded):
        return f.sx
    if isinstance(f, int | float):
        return casadi.SX(f)
    raise InputError(f"{wall.label}: its function gave {f!r}; expected one number.")
