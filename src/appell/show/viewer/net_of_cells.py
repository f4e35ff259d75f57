"""The surface on which values on a grid are zero, as triangles: a net over the cells it crosses.

Gibson, S. F. F., Constrained elastic surface nets, MICCAI 1998, without the relaxation: a corner of
the net in each crossed cell, in the middle of where the cell's edges are crossed; a face of the net
for each crossed edge, from the four cells around it.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.model.shapes import Array

_CORNERS = [np.array(c) for c in product((0, 1), repeat=3)]
_EDGES = [(a, b) for a in _CORNERS for b in _CORNERS if (b >= a).all() and (b - a).sum() == 1]


def zero_surface(values: Array, low: Any, high: Any) -> tuple[Array, npt.NDArray[np.intp]]:
    """Corners (n, 3) and faces (m, 3) of the surface in the box from ``low`` to ``high`` at whose
    grid points the values are; both are empty where no value changes its sign."""
    cells = np.array(values.shape) - 1
    above = values > 0
    sums, counts = np.zeros((*cells, 3)), np.zeros(tuple(cells))
    for a, b in _EDGES:
        at_a, at_b = (values[_shifted(c, cells)] for c in (a, b))
        crossed = (at_a > 0) != (at_b > 0)
        part = np.divide(at_a, at_a - at_b, out=np.zeros(tuple(cells)), where=crossed)
        sums += np.where(crossed[..., None], a + part[..., None] * (b - a), 0)
        counts += crossed
    there = counts > 0
    number = np.full(tuple(cells), -1)
    number[there] = np.arange(there.sum())
    corners = (np.argwhere(there) + sums[there] / counts[there][:, None]) / cells
    faces = [_faces(above, number, axis) for axis in range(3)]
    return np.asarray(low) + corners * (np.asarray(high) - low), np.concatenate(faces)


def _shifted(corner: Any, cells: Any) -> tuple[slice, ...]:
    return tuple(slice(c, c + n) for c, n in zip(corner, cells, strict=True))


def _faces(above: Any, number: Any, axis: int) -> npt.NDArray[np.intp]:
    """Two triangles for each edge along an axis that is crossed, within the box."""
    signs, order = np.moveaxis(above, axis, 0), np.moveaxis(number, axis, 0)
    crossed = signs[:-1, 1:-1, 1:-1] != signs[1:, 1:-1, 1:-1]
    around = [order[:, :-1, :-1], order[:, 1:, :-1], order[:, 1:, 1:], order[:, :-1, 1:]]
    a, b, c, d = (x[crossed] for x in around)
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
