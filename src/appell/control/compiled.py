"""Laws as compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from appell.dynamics import float_kind
from appell.equations.feedback import Desired
from appell.equations.quantities import QUANTITIES
from appell.model.model import Model
from appell.model.regroup import regrouped
from appell.recipe import COMPILING

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel
    from appell.compile.tape import Tape
    from appell.control.law import Law

Shapes = dict[str, tuple[int, ...]]

_REGROUPED = QUANTITIES["inverse_dynamics"].regroup  # formulations that take a regrouped model


def single_kernel(
    equation: Callable[..., Any],
    inputs: Shapes,
    results: int,
    model: Model | None = None,
    formulation: str | None = None,
) -> Callable[..., Any]:
    """An equation of one state at a time, with so many results, compiled, as fast from Python as
    can be. With a model, that is what the equation takes first; with a formulation, by that."""
    from appell.compile.cache import covers
    from appell.compile.kernel import Kernel
    from appell.compile.record import record

    outputs: Shapes = {"results": (results,)}
    if model is None:
        of_state = equation
    elif formulation is None:
        of_state = partial(equation, regrouped(model))
    else:
        of = regrouped(model) if formulation in _REGROUPED else model
        of_state = partial(equation, of, formulation=formulation)
    with COMPILING:
        kernel = Kernel(
            equation.__name__,
            lambda: record(of_state, inputs, outputs),
            inputs,
            outputs,
            identity=(equation.__module__, model, formulation) if covers(equation) else None,
        )
        return kernel.single(kernel.bare)


def law_kernel(law: Law, dtype: Any, gains: bool) -> Kernel:
    """A law's kernel, made when it is first asked for: see :meth:`Law.kernel`."""
    from appell.compile.kernel import Kernel
    from appell.compile.record import record

    kind = float_kind(dtype)
    with COMPILING:
        if (kind, gains) not in law._kernels:
            inputs, outputs = shapes(law, gains)
            named = list(inputs)[len(inputs) - len(law._values) :]
            law._kernels[kind, gains] = Kernel(
                type(law).__name__,
                lambda: record(of_state(law, gains), inputs, outputs),
                inputs,
                outputs,
                identity=_identity(law, gains),
                dtype=kind,
                defaults=dict(zip(named, law._values, strict=True)) if gains else None,
                origin=(law_kernel, (law, kind, gains)),
                doc=repr(law),
            )
        return law._kernels[kind, gains]


def stepping_kernel(law: Law) -> Kernel:
    """The law for one state, as fast from Python as can be: with one result, forces and state, and
    one array of all other numbers, so that other gains need no other code."""
    from appell.compile.kernel import Kernel
    from appell.compile.record import record

    inputs, made = shapes(law, gains=True)
    states = list(inputs)[: 5 + bool(law.nstate)]
    numbers = {"period": (1,)} | {k: x for k, x in inputs.items() if k not in states}
    taken = {k: inputs[k] for k in states} | {"numbers": (sum(map(prod, numbers.values())),)}
    joined: Shapes = {"y": (law.robot.nv + law.nstate,)}

    def tape() -> Tape:
        equation = of_state(law, gains=True)

        def packed(*arguments: Any) -> Any:
            *given, flat = arguments
            rest = iter(flat)
            cut = [_cut(rest, shape) for shape in numbers.values()]
            return equation(*given, *(cut if law.nstate else cut[1:]))

        recorded = record(packed, taken, made)
        return replace(recorded, outputs=joined, results=(sum(recorded.results, ()),))

    name, identity = f"{type(law).__name__}_step", _identity(law, gains=True)
    with COMPILING:
        return Kernel(name, tape, taken, joined, identity=identity and (*identity, numbers))


def of_state(law: Law, gains: bool) -> Callable[..., Any]:
    """The law's equation of (q, v, qd, vd, ad[, state, period]), and of its gains if these are not
    to be numbers."""
    takes_regrouped = law.formulation is None or law.formulation in _REGROUPED
    model = regrouped(law.robot.model) if law.regroups and takes_regrouped else law.robot.model
    stateful, extra = bool(law.nstate), law._extra(model)
    if law.formulation is not None:
        extra = {**extra, "formulation": law.formulation}
    names = [name for name in law.gains if getattr(law, name) is not None]

    def equation(q: Any, v: Any, qd: Any, vd: Any, ad: Any, *rest: Any) -> Any:
        own = (rest[0], rest[1][0]) if stateful else ()
        given = rest[2 * stateful :] if gains else [x.tolist() for x in law._values]
        taken = dict(zip(names, given, strict=True))
        return type(law).equation(model, q, v, Desired(qd, vd, ad), *own, **taken, **extra)

    return equation


def shapes(law: Law, gains: bool) -> tuple[Shapes, Shapes]:
    """Of the inputs and the outputs."""
    n = law.robot.nv
    inputs: Shapes = dict.fromkeys(("q", "v", "qd", "vd", "ad"), (n,))
    outputs: Shapes = {"tau": (n,)}
    if law.nstate:
        inputs |= {"state": (law.nstate,), "period": (1,)}
        outputs["next_state"] = (law.nstate,)
    if gains:
        named = ((name, getattr(law, name)) for name in law.gains)
        inputs |= {name: x.shape for name, x in named if x is not None}
    return inputs, outputs


def _identity(law: Law, gains: bool) -> tuple[Any, ...] | None:
    """What a law's code depends on, besides the shapes of its inputs. None for a law of the
    user's, which may be another one tomorrow under the same name."""
    from appell.compile.cache import covers

    if not covers(type(law)) or not covers(type(law).equation):
        return None
    numbers = () if gains else tuple(x.tolist() for x in law._values)
    names = tuple(name for name in law.gains if getattr(law, name) is not None)
    return law.robot.model, names, numbers, law.formulation, law._extra(law.robot.model)


def _cut(flat: Iterator[Any], shape: tuple[int, ...]) -> list[Any]:
    """The next numbers, as lists of lists."""
    if len(shape) == 1:
        return [next(flat) for _ in range(shape[0])]
    return [_cut(flat, shape[1:]) for _ in range(shape[0])]
