"""Numbers as JSON has them, which knows neither NaN nor infinity: null, "inf" and "-inf"."""

from __future__ import annotations

from math import inf, isnan, nan
from typing import Any

import numpy as np


def written(x: Any) -> Any:
    """Numbers, also in lists and tables, as they are written to a file."""
    if isinstance(x, dict):
        return {name: written(y) for name, y in x.items()}
    if isinstance(x, list | tuple | np.ndarray):
        return [written(y) for y in x]
    if isinstance(x, np.generic):
        x = x.item()
    if not isinstance(x, float) or abs(x) < inf:
        return x
    return None if isnan(x) else "inf" if x > 0 else "-inf"


def read(x: Any) -> Any:
    """Numbers, also in lists, that `written` wrote."""
    if isinstance(x, list):
        return [read(y) for y in x]
    return nan if x is None else float(x)
