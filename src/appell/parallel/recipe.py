"""From a wrist to a kernel: which equation, of which inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from appell.equations.quantities import Quantity
from appell.equations.wrist_quantities import QUANTITIES
from appell.errors import InputError
from appell.model.wrist import Wrist

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel
    from appell.compile.tape import Tape

Shapes = dict[str, tuple[int, ...]]


class Recipe(NamedTuple):
    """What a kernel is compiled from, besides the wrist."""

    quantity: str
    formulation: str
    frame: str | None
    wrt: tuple[str, ...]


def quantity_named(name: str) -> Quantity:
    try:
        return QUANTITIES[name]
    except (KeyError, TypeError):
        raise InputError(
            f"no quantity {name!r} of this robot; there are {', '.join(QUANTITIES)}."
        ) from None


def recipe_for(
    wrist: Wrist, quantity: str, formulation: str | None, frame: str | None, wrt: tuple[str, ...]
) -> Recipe:
    """With the defaults filled in; refused if there is none such."""
    asked = quantity_named(quantity)
    which = next(iter(asked.formulations)) if formulation is None else formulation
    if not isinstance(which, str) or which not in asked.formulations:
        raise InputError(
            f"{quantity} has no formulation {which!r}; it has {', '.join(asked.formulations)}."
        )
    if not asked.frame and frame is not None:
        raise InputError(f"{quantity} is asked of no frame; leave out frame={frame!r}.")
    return Recipe(quantity, which, wrist.frame(frame) if asked.frame else None, wrt)


def compiled(wrist: Wrist, recipe: Recipe, dtype: str) -> Kernel:
    """The kernel, from the cache or made anew."""
    from appell.compile.kernel import Kernel

    inputs, outputs = _shapes(wrist, recipe)
    return Kernel(
        recipe.quantity,
        lambda: recorded(wrist, recipe),
        inputs,
        outputs,
        dtype=dtype,
        identity=(wrist, recipe),
        origin=(compiled, (wrist, recipe, dtype)),
        doc=f"{recipe.quantity} of {wrist.name} by {recipe.formulation}",
    )


def recorded(wrist: Wrist, recipe: Recipe) -> Tape:
    """The equation's tape."""
    from appell.compile.record import record

    asked = quantity_named(recipe.quantity)
    equation = asked.formulations[recipe.formulation]
    extra = (recipe.frame,) if asked.frame else ()

    def of_state(*arguments: Any) -> Any:
        return equation(wrist, *arguments, *extra)

    inputs, outputs = _shapes(wrist, recipe)
    return record(of_state, inputs, outputs, recipe.wrt)


def _shapes(wrist: Wrist, recipe: Recipe) -> tuple[Shapes, Shapes]:
    """Of the inputs and the outputs."""
    asked = quantity_named(recipe.quantity)
    outputs = {
        name: tuple(wrist.nv if isinstance(k, str) else k for k in axes)
        for name, axes in asked.outputs.items()
    }
    return dict.fromkeys(asked.inputs, (wrist.nv,)), outputs
