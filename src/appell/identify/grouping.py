"""Base parameters as text: Izz2 + Ixx3 + 0.1866 m4."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def grouping(row: npt.NDArray[np.float64], names: Sequence[str], lead: int) -> str:
    """A row of the matrix as a sum; the parameter that leads it stands first."""
    places = [lead, *(int(k) for k in np.flatnonzero(row) if k != lead)]
    return " ".join(_term(row[k], names[k], first=k == lead) for k in places)


def _term(factor: float, name: str, first: bool) -> str:
    sign = ("-" if factor < 0 else "") if first else ("- " if factor < 0 else "+ ")
    size = abs(factor)
    return sign + (name if size == 1 else f"{size:.6g} {name}")
