"""From a model to a kernel: which equation, in which form, of which numbers."""

from __future__ import annotations

import os
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from appell.equations.quantities import QUANTITIES, REGRESSORS, Quantity
from appell.errors import InputError, ModelError
from appell.model.model import Model
from appell.model.parameters import inertial_parameters, values, with_values
from appell.model.regroup import regrouped

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel
    from appell.compile.tape import Tape

Shapes = dict[str, tuple[int, ...]]

# No thread compiles while the process forks, so a child finds this lock, and LLVM's, free.
COMPILING = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=COMPILING.acquire,
        after_in_parent=COMPILING.release,
        after_in_child=COMPILING.release,
    )


class Recipe(NamedTuple):
    """What a kernel is compiled from, besides the model."""

    quantity: str
    formulation: str
    frame: str | None
    parameters: tuple[str, ...]
    wrt: tuple[str, ...]
    regroup: bool


def quantity_named(name: str) -> Quantity:
    try:
        return QUANTITIES[name]
    except (KeyError, TypeError):
        raise InputError(f"no quantity {name!r}; there are {', '.join(QUANTITIES)}.") from None


def formulation_named(quantity: str, name: str | None, model: Model) -> str:
    """The one that is asked for, or else the fastest for the model."""
    asked = quantity_named(quantity)
    if name is None:
        return asked.default(model)
    if not isinstance(name, str) or name not in asked.formulations:
        raise InputError(
            f"{quantity} has no formulation {name!r}; it has {', '.join(asked.formulations)}."
        )
    return name


def compiled(model: Model, recipe: Recipe, dtype: str) -> Kernel:
    """The kernel, from the cache or made anew."""
    from appell.compile.kernel import Kernel

    inputs, outputs = _shapes(model, recipe)
    return Kernel(
        recipe.quantity,
        lambda: recorded(model, recipe),
        inputs,
        outputs,
        dtype=dtype,
        identity=(model, recipe),
        defaults={group: values(model, group) for group in recipe.parameters},
        origin=(compiled, (model, recipe, dtype)),
        doc=f"{recipe.quantity} of {model.name} by {recipe.formulation}",
    )


def recorded(model: Model, recipe: Recipe) -> Tape:
    """The equation's tape."""
    from appell.compile.record import record

    asked = quantity_named(recipe.quantity)
    equation = asked.formulations[recipe.formulation]
    base = regrouped(model) if recipe.regroup and recipe.formulation in asked.regroup else model
    n = len(asked.inputs)

    def of_state(*arguments: Any) -> Any:
        given = dict(zip(recipe.parameters, arguments[n:], strict=True))
        of = with_values(base, given) if given else base
        extra = (of.frame(recipe.frame),) if asked.frame else ()
        return equation(of, *arguments[:n], *extra)

    inputs, outputs = _shapes(model, recipe)
    try:
        return record(of_state, inputs, outputs, recipe.wrt)
    except ZeroDivisionError:
        raise ModelError(
            f"{recipe.quantity} of '{model.name}': joint {', '.join(_idle(model))} feels no "
            "inertia, so no acceleration follows from its force; give its link a mass, or its "
            "rotor inertia."
        ) from None


def _idle(model: Model) -> list[str]:
    """Joints that move no inertia."""
    anywhere = [0.1 * (i + 1) for i in range(model.nq)]
    M = QUANTITIES["mass_matrix"].formulations["gibbs_lean"](model, anywhere)
    return [joint.name for i, joint in enumerate(model.joints) if M[i][i] == 0]


def _shapes(model: Model, recipe: Recipe) -> tuple[Shapes, Shapes]:
    """Of the inputs and the outputs."""
    asked = quantity_named(recipe.quantity)
    sizes = {"n": model.nv, "q": model.nq, "p": len(inertial_parameters(model))}
    if recipe.quantity in REGRESSORS:
        columns = REGRESSORS[recipe.quantity]
        sizes[recipe.quantity] = len(inertial_parameters(model, **columns))
    inputs: Shapes = {x: (model.nq if x == "q" else model.nv,) for x in asked.inputs}
    inputs |= {group: values(model, group).shape for group in recipe.parameters}
    outputs = {
        name: tuple(sizes[k] if isinstance(k, str) else k for k in axes)
        for name, axes in asked.outputs.items()
    }
    return inputs, outputs
