"""From a system to a kernel: which equation, in which form, of which numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from appell.compile.make import kernel_of
from appell.errors import InputError, ModelError
from appell.robots.system import System, formulation_of, quantity_of

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel
    from appell.compile.tape import Tape

Shapes = dict[str, tuple[int, ...]]


class Recipe(NamedTuple):
    """What a kernel is compiled from, besides the system."""

    quantity: str
    formulation: str
    frame: str | None = None
    parameters: tuple[str, ...] = ()
    wrt: tuple[str, ...] = ()
    regroup: bool = True


def recipe_for(
    system: System,
    quantity: str,
    formulation: str | None = None,
    frame: str | None = None,
    parameters: tuple[str, ...] = (),
    wrt: tuple[str, ...] = (),
    regroup: bool = True,
) -> Recipe:
    """The recipe with the defaults filled in; refused if there is none such. The derivatives of a
    quantity that has no equation for them are those by all of its inputs."""
    plain = str(quantity).removesuffix("_derivatives")
    if str(quantity) not in system.quantities and plain in system.quantities:
        inputs = system.quantities[plain].inputs
        quantity = plain
        wrt = (*(x for x, (axis, *_) in inputs.items() if system.size(str(axis))), *wrt)
    if len(set(wrt)) < len(wrt):
        raise InputError(
            f"wrt={wrt}: second derivatives are not compiled; give each input once, and difference "
            "the result, or differentiate robot.equation(...) on CasADi's symbols."
        )
    asked = quantity_of(system, quantity)
    system.refuse(quantity)
    if asked.frame:
        system.frame(frame)
    elif frame is not None:
        raise InputError(f"{quantity} is asked of no frame; leave out frame={frame!r}.")
    which = formulation_of(system, quantity, formulation)
    return Recipe(quantity, which, frame, parameters, wrt, regroup and not parameters)


def compiled(system: System, recipe: Recipe, dtype: str) -> Kernel:
    """The kernel, from the cache or made anew."""
    return kernel_of(
        recipe.quantity,
        equation_of(system, recipe),
        *shapes(system, recipe),
        wrt=recipe.wrt,
        along=_along(system, recipe),
        dtype=dtype,
        defaults={group: system.values(group) for group in recipe.parameters},
        origin=(compiled, (system, recipe, dtype)),
        doc=f"{recipe.quantity} of {system.name} by {recipe.formulation}",
    )


def recorded(system: System, recipe: Recipe) -> Tape:
    """The equation's tape."""
    from appell.compile.record import record

    along = _along(system, recipe)
    return record(equation_of(system, recipe), *shapes(system, recipe), recipe.wrt, along)


def equation_of(system: System, recipe: Recipe) -> Callable[..., Any]:
    """The equation as a function of its inputs and of the parameters among them."""
    asked = system.quantities[recipe.quantity]
    regroup = recipe.regroup and recipe.formulation in asked.regroup
    return partial(
        _evaluated, system, recipe, asked.formulations[recipe.formulation], regroup, asked.frame
    )


def _evaluated(
    system: System,
    recipe: Recipe,
    equation: Callable[..., Any],
    regroup: bool,
    frame: bool,
    *arguments: Any,
) -> Any:
    n = len(arguments) - len(recipe.parameters)
    given = dict(zip(recipe.parameters, arguments[n:], strict=True))
    subject = system.subject(given, regroup)
    extra = (subject.frame(recipe.frame),) if frame else ()
    try:
        return equation(subject, *arguments[:n], *extra)
    except ZeroDivisionError:
        raise ModelError(f"{recipe.quantity} of '{system.name}': {system.idle()}.") from None


def _along(system: System, recipe: Recipe) -> dict[str, Any] | None:
    """Along which directions derivatives by q are taken, if not along each coordinate."""
    if system.tangent is None or "q" not in recipe.wrt:
        return None
    return {"q": partial(_tangent, system, recipe)}


def _tangent(system: System, recipe: Recipe, q: Any, *others: Any) -> Any:
    n = len(others) - len(recipe.parameters)
    given = dict(zip(recipe.parameters, others[n:], strict=True))
    assert system.tangent is not None
    return system.tangent(system.subject(given, False), q)


def shapes(system: System, recipe: Recipe) -> tuple[Shapes, Shapes]:
    """The shapes of the inputs and the outputs; inputs that would be empty are left out."""
    asked = system.quantities[recipe.quantity]

    def shape(axes: tuple[int | str, ...]) -> tuple[int, ...]:
        return tuple(system.size(k) if isinstance(k, str) else k for k in axes)

    inputs = {x: shape(axes) for x, axes in asked.inputs.items()}
    inputs = {x: size for x, size in inputs.items() if 0 not in size}
    inputs |= {group: system.values(group).shape for group in recipe.parameters}
    return inputs, {name: shape(axes) for name, axes in asked.outputs.items()}
