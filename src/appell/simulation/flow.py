"""The right-hand side of y = (q, v): motion's two results written as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.compile.kernel import Kernel
from appell.compile.tape import Tape
from appell.model.model import Model
from appell.recipe import COMPILING, Recipe, formulation_named, recorded

Array = npt.NDArray[np.floating[Any]]
Flow = Callable[[Array, Array, Array], Array]


@lru_cache(maxsize=64)
def flow(model: Model, formulation: str | None = None) -> Flow:
    """(q, v, tau) -> dy/dt, for one state at a time, with as little Python as there can be."""
    name = formulation_named("motion", formulation, model)
    recipe = Recipe("motion", name, None, (), (), True)
    outputs: dict[str, tuple[int, ...]] = {"dy": (model.nq + model.nv,)}

    def tape() -> Tape:
        motion = recorded(model, recipe)
        return replace(motion, outputs=outputs, results=(sum(motion.results, ()),))

    with COMPILING:
        inputs = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
        kernel = Kernel("flow", tape, inputs, outputs, identity=(model, recipe))
        return kernel.single(kernel.bare)
