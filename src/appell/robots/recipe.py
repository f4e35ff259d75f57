"""From a system to a kernel: which equation, in which form, of which numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

from appell.compile.make import kernel_of
from appell.equations.motion.external import FORCED, on_speeds
from appell.equations.motion.frame_motion import SEEN, FrameView
from appell.errors import InputError, ModelError
from appell.model.model import FrameName
from appell.robots.system import System, formulation_of, quantity_of

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel
    from appell.compile.tape import Tape

Shapes = dict[str, tuple[int, ...]]
_POSE = "forward_kinematics"


class Recipe(NamedTuple):
    """What a kernel is compiled from, besides the system."""

    quantity: str
    formulation: str
    frame: FrameName | None = None
    parameters: tuple[str, ...] = ()
    wrt: tuple[str, ...] = ()
    regroup: bool = True
    axes: str = "base"  # of the motion of a frame, or of external forces
    relative_to: FrameName | None = None  # the frame that is taken for the base
    forces: tuple[FrameName, ...] = ()  # the frames that external forces act on


def recipe_for(
    system: System,
    quantity: str,
    formulation: str | None = None,
    frame: FrameName | None = None,
    parameters: tuple[str, ...] = (),
    wrt: tuple[str, ...] = (),
    regroup: bool = True,
    axes: str = "base",
    relative_to: FrameName | None = None,
    forces: tuple[FrameName, ...] = (),
) -> Recipe:
    """The recipe with the defaults filled in; refused if there is none such. The derivatives of a
    quantity that has no equation for them, or none with external forces, are those by its state."""
    plain = str(quantity).removesuffix("_derivatives")
    if plain in system.quantities and (str(quantity) not in system.quantities or forces):
        inputs = system.quantities[plain].inputs
        by_state = tuple(x for x, (axis, *_) in inputs.items() if system.size(str(axis)))
        wrt, quantity = (wrt if plain == quantity else (*by_state, *wrt)), plain
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
    axes = _axes(quantity, axes, bool(forces))
    if relative_to is not None:
        if quantity not in SEEN:
            raise InputError(f"{quantity} is relative to no frame; leave out relative_to.")
        system.frame(relative_to)
    if forces and _unforced(quantity) not in FORCED:
        raise InputError(f"{quantity} takes no external forces; {', '.join(FORCED)} do.")
    for name in forces:
        system.frame(name)
    which = formulation_of(system, quantity, formulation)
    regroup = regroup and not parameters
    return Recipe(quantity, which, frame, parameters, wrt, regroup, axes, relative_to, forces)


def _axes(quantity: str, axes: str, forced: bool) -> str:
    """Axes by the name that recipes have for them."""
    if axes not in ("base", "mixed", "local"):
        ours = _PINOCCHIOS.get(str(axes).rpartition(".")[2].upper(), "")
        raise InputError(
            f"{quantity}: axes = {axes!r}; expected 'base' (also 'mixed') or 'local', the frame's."
            + (f" {ours}" if ours else "")
        )
    if axes == "local" and not forced and (quantity not in SEEN or quantity == _POSE):
        raise InputError(f"{quantity} has no axes to choose; leave out axes={axes!r}.")
    return "local" if axes == "local" else "base"


# What Pinocchio's reference frames are here.
_PINOCCHIOS = {
    "LOCAL": "Pinocchio's LOCAL is axes='local'.",
    "LOCAL_WORLD_ALIGNED": "Pinocchio's LOCAL_WORLD_ALIGNED is axes='base', the default.",
    "WORLD": "Pinocchio's WORLD is about the world's origin: that of a frame which stands there; "
    "axes='base' has the world's axes at the frame's own origin.",
}


def _unforced(quantity: str) -> str:
    return quantity.removesuffix("_with_friction")


def compiled(system: System, recipe: Recipe, dtype: str, target: str = "cpu") -> Kernel:
    """The kernel, from the cache or made anew."""
    return kernel_of(
        recipe.quantity,
        equation_of(system, recipe),
        *shapes(system, recipe),
        wrt=recipe.wrt,
        along=_along(system, recipe),
        dtype=dtype,
        target=target,
        defaults={group: system.values(group) for group in recipe.parameters},
        origin=(compiled, (system, recipe, dtype, target)),
        doc=f"{recipe.quantity} of {system.name} by {recipe.formulation}",
    )


def recorded(system: System, recipe: Recipe) -> Tape:
    """The equation's tape."""
    from appell.compile.record import record

    along = _along(system, recipe)
    return record(equation_of(system, recipe), *shapes(system, recipe), recipe.wrt, along)


def equation_of(system: System, recipe: Recipe) -> Callable[..., Any]:
    """The equation as a function of its inputs, of wrenches and of parameters among them."""
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
    end = len(arguments) - len(recipe.parameters)
    n = end - len(recipe.forces)
    state, wrenches = arguments[:n], arguments[n:end]
    subject = system.subject(dict(zip(recipe.parameters, arguments[end:], strict=True)), regroup)
    ask = partial(other_quantity, system, subject)
    try:
        if recipe.forces:
            Q = [
                on_speeds(ask, state[0], subject.frame(name), w, recipe.axes)
                for name, w in zip(recipe.forces, wrenches, strict=True)
            ]
            total = [sum(x[1:], start=x[0]) for x in zip(*Q, strict=True)]
            forced = FORCED[_unforced(recipe.quantity)]
            return forced(ask, system.direct, partial(equation, subject), total, *state)
        if recipe.axes != "base" or recipe.relative_to is not None:
            to = recipe.relative_to
            other = None if to is None else subject.frame(to)
            view = FrameView(subject.frame(recipe.frame), recipe.axes, other)
            return SEEN[recipe.quantity](ask, view, *state)
        return equation(subject, *state, *((subject.frame(recipe.frame),) if frame else ()))
    except ZeroDivisionError:
        why = system.idle()
        if recipe.quantity == "operational_inertia":
            why = (
                "the frame does not move in all six ways; ask for operational_mobility, its inverse"
            )
        raise ModelError(f"{recipe.quantity} of '{system.name}': {why}.") from None


def other_quantity(system: System, subject: Any, quantity: str, *arguments: Any) -> Any:
    """Another quantity of the same robot, by its fastest equation."""
    return system.quantities[quantity].formulations[system.default(quantity)](subject, *arguments)


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
    inputs |= dict.fromkeys(wrench_names(recipe.forces), (6,))
    inputs |= {group: system.values(group).shape for group in recipe.parameters}
    return inputs, {name: shape(axes) for name, axes in asked.outputs.items()}


def wrench_names(frames: Sequence[FrameName]) -> list[str]:
    """What a kernel calls the wrenches on frames: each by a name of its own."""
    labels: list[str] = []
    for name in frames:
        label = "wrench_" + re.sub(r"\W", "_", str(getattr(name, "name", name)))
        numbered = (f"{label}_{k}" for k in count(len(labels)))
        labels.append(next(x for x in chain([label], numbered) if x not in labels))
    return labels
