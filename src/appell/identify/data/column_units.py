"""Units that columns of data may be in, and what they are worth in SI."""

from __future__ import annotations

from math import pi

from appell.errors import InputError

_DEGREE = pi / 180
UNITS = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "angle": {"rad": 1.0, "deg": _DEGREE, "turn": 2 * pi},
    "length": {"m": 1.0, "cm": 1e-2, "mm": 1e-3},
    "angular speed": {"rad/s": 1.0, "deg/s": _DEGREE, "rpm": 2 * pi / 60},
    "speed": {"m/s": 1.0, "mm/s": 1e-3},
    "torque": {"Nm": 1.0, "mNm": 1e-3, "kNm": 1e3},
    "force": {"N": 1.0, "mN": 1e-3, "kN": 1e3},
}
_OTHER_NAMES = {
    "sec": "s", "degree": "deg", "degrees": "deg", "°": "deg", "°/s": "deg/s", "µs": "us",
}  # fmt: skip

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
    if name in UNITS[wanted]:
        return UNITS[wanted][name]
    fitting = ", ".join(UNITS[wanted])
    kind = next((kind for kind, units in UNITS.items() if name in units), None)
    if kind is None:
        raise InputError(f"column '{column}': unknown unit [{text}]; expected one of {fitting}.")
    raise InputError(
        f"column '{column}': [{text}] is a unit of {kind}, and {signal} of a "
        f"{'prismatic' if slides else 'revolute'} joint is "
        f"{'an' if wanted[0] == 'a' else 'a'} {wanted}; expected one of {fitting}."
    )
