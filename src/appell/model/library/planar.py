"""Chains of bars in a vertical plane."""

from __future__ import annotations

from appell.errors import ModelError
from appell.given import whole
from appell.model.description.dh import from_dh
from appell.model.model import Model


def two_link() -> Model:
    """Two bars of very different length, 0.02 m and 2 m (Mata et al. 2002, section 5.1)."""
    # Both bars are 0.02 m wide. The second mass is illegible in print; 10 kg gives both bars
    # the same mass per length. Gravity acts along -y, across the bars at q = 0.
    return _bars("two_link", [0.02, 2.0], [0.1, 10.0], width=0.02)


def planar_chain(n: int = 3, length: float = 1.0, mass: float = 1.0) -> Model:
    """n equal slender bars in a vertical plane: planar_chain(n, length=1, mass=1)."""
    n = whole("planar_chain(n)", n, least=1)
    if not length > 0 or not mass > 0:
        raise ModelError(
            f"planar_chain(length={length!r}, mass={mass!r}): expected positive numbers."
        )
    return _bars(f"planar_chain({n})", [length] * n, [mass] * n)


def _bars(name: str, lengths: list[float], masses: list[float], width: float = 0.0) -> Model:
    """Homogeneous bars along x, their joints about z, the plane vertical."""
    across = [m * width**2 / 12 for m in masses]
    along = [m * length**2 / 12 for m, length in zip(masses, lengths, strict=True)]
    return from_dh(
        name=name,
        convention="modified",
        alpha=[0.0] * len(lengths),
        a=[0.0, *lengths[:-1]],
        d=[0.0] * len(lengths),
        mass=masses,
        com=[[length / 2, 0.0, 0.0] for length in lengths],
        inertia=[[w, t, t + w] for w, t in zip(across, along, strict=True)],
        gravity=(0.0, -9.81, 0.0),
    )
