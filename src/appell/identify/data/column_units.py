"""Units that columns of data may be in, and what they are worth in SI."""

from __future__ import annotations

from math import pi
from typing import NamedTuple

from appell.errors import InputError


class Unit(NamedTuple):
    worth: float
    of: str  # time, angle, length, ...


_DEGREE = pi / 180
UNITS: dict[str, Unit] = {
    "s": Unit(1, "time"),
    "ms": Unit(1e-3, "time"),
    "us": Unit(1e-6, "time"),
    "ns": Unit(1e-9, "time"),
    "rad": Unit(1, "angle"),
    "deg": Unit(_DEGREE, "angle"),
    "turn": Unit(2 * pi, "angle"),
    "m": Unit(1, "length"),
    "cm": Unit(1e-2, "length"),
    "mm": Unit(1e-3, "length"),
    "rad/s": Unit(1, "angular speed"),
    "deg/s": Unit(_DEGREE, "angular speed"),
    "rpm": Unit(2 * pi / 60, "angular speed"),
    "m/s": Unit(1, "speed"),
    "mm/s": Unit(1e-3, "speed"),
    "Nm": Unit(1, "torque"),
    "mNm": Unit(1e-3, "torque"),
    "kNm": Unit(1e3, "torque"),
    "N": Unit(1, "force"),
    "mN": Unit(1e-3, "force"),
    "kN": Unit(1e3, "force"),
}
_OTHER_NAMES = {
    "sec": "s",
    "degree": "deg",
    "degrees": "deg",
    "°": "deg",
    "°/s": "deg/s",
    "µs": "us",
}

# What a signal is of a joint that turns, and of one that slides.
SIGNALS = {
    "t": ("time", "time"),
    "q": ("angle", "length"),
    "v": ("angular speed", "speed"),
    "tau": ("torque", "force"),
}


def worth(column: str, text: str, signal: str, slides: bool) -> float:
    """The factor to SI of a unit as people write it, which must fit the signal."""
    plain = "".join(x for x in text if x not in " *.·^")
    name = _OTHER_NAMES.get(plain, plain)
    wanted = SIGNALS[signal][slides]
    fitting = ", ".join(n for n, unit in UNITS.items() if unit.of == wanted)
    if name not in UNITS:
        raise InputError(f"column '{column}': unknown unit [{text}]; expected one of {fitting}.")
    if UNITS[name].of != wanted:
        kind = "prismatic" if slides else "revolute"
        raise InputError(
            f"column '{column}': [{text}] is a unit of {UNITS[name].of}, and {signal} of a {kind} "
            f"joint is {'an' if wanted[0] == 'a' else 'a'} {wanted}; expected one of {fitting}."
        )
    return UNITS[name].worth
