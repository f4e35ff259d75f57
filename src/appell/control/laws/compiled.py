"""Laws as compiled code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from appell.compile.make import kernel_of
from appell.control.laws.feedback import Desired, evaluated
from appell.equations.quantities import QUANTITIES
from appell.errors import InputError
from appell.given import one_of
from appell.model.model import Model
from appell.model.regroup import regrouped
from appell.robots.kernels import TARGETS, float_kind

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel
    from appell.control.laws.law import Law

Shapes = dict[str, tuple[int, ...]]

ACTUATORS = "actuator_torques"  # the quantity of robots whose actuators' forces are others
_REGROUPED = QUANTITIES["inverse_dynamics"].regroup  # formulations that take a regrouped model


def single_kernel(
    equation: Callable[..., Any],
    inputs: Shapes,
    results: int,
    model: Model | None = None,
    formulation: str | None = None,
) -> Callable[..., Any]:
    """The compiled function of an equation for one state at a time, with so many results. A model,
    where there is one, is the equation's first argument, a formulation its last."""
    of_state = equation
    if model is not None:
        of = regrouped(model) if formulation is None or formulation in _REGROUPED else model
        of_state = partial(equation, of, **({"formulation": formulation} if formulation else {}))
    return kernel_of(equation.__name__, of_state, inputs, {"results": (results,)}).single()


def law_kernel(law: Law, dtype: Any, gains: bool, target: str = "cpu") -> Kernel:
    """A law's kernel, made when it is first asked for: see `Law.kernel`."""
    kind, target = float_kind(dtype), one_of("target", target, TARGETS)
    if (kind, gains, target) not in law._kernels:
        inputs, outputs = shapes(law, gains)
        law._kernels[kind, gains, target] = kernel_of(
            type(law).__name__,
            of_state(law, gains),
            inputs,
            outputs,
            dtype=kind,
            target=target,
            defaults=law._values if gains else None,
            origin=(law_kernel, (law, kind, gains, target)),
            doc=repr(law),
        )
    return law._kernels[kind, gains, target]


def stepping_kernel(law: Law) -> Kernel:
    """The law for one state, as fast from Python as can be: with one result, forces and state, and
    one array of all other numbers, so that other gains need no other code."""
    inputs, _ = shapes(law, gains=True)
    forces, stateful = of_state(law, gains=True), bool(law.nstate)
    states = list(inputs)[: 5 + stateful]
    numbers = {"period": (1,)} | {k: x for k, x in inputs.items() if k not in states}
    taken = {k: inputs[k] for k in states} | {"numbers": (sum(map(prod, numbers.values())),)}
    joined: Shapes = {"y": (law.actuators + law.nstate,)}

    def step(*arguments: Any) -> list[Any]:
        *state, flat = arguments
        rest = iter(flat)
        period, *values = [_cut(rest, shape) for shape in numbers.values()]
        if not stateful:
            return list(forces(*state, *values))
        tau, later = forces(*state, period, *values)
        return [*tau, *later]

    return kernel_of(f"{type(law).__name__}_step", step, taken, joined)


def of_state(law: Law, gains: bool) -> Callable[..., Any]:
    """The law's equation of (q, v, qd, vd, ad[, state, period]), and of its gains if these are not
    to be numbers. Its forces on the speeds become those of the actuators, where these are others.
    """
    system = law.robot.system
    reduced = ACTUATORS in system.quantities
    model: Any = system if reduced else law.robot.model
    takes_regrouped = law.formulation is None or law.formulation in _REGROUPED
    regroup = law.regroups and takes_regrouped and not reduced
    extra = law._extra(model)
    if law.formulation is not None:
        extra = {**extra, "formulation": law.formulation}
    names, equation, stateful = list(law._values), type(law).equation, bool(law.nstate)
    law_name, joints, nstate = type(law).__name__, law.robot.nv, law.nstate
    numbers = None if gains else [x.tolist() for x in law._values.values()]

    def forces(q: Any, v: Any, qd: Any, vd: Any, ad: Any, *rest: Any) -> Any:
        own = (rest[0], rest[1][0]) if stateful else ()
        values = rest[2 * stateful :] if numbers is None else numbers
        taken = dict(zip(names, values, strict=True))
        of = regrouped(model) if regroup else model
        result = equation(of, q, v, Desired(qd, vd, ad), *own, **taken, **extra)
        _refuse_result(law_name, result, joints, nstate)
        if not reduced:
            return result
        Q, *later = result if stateful else (result,)
        tau = evaluated(system, ACTUATORS, None, q, Q)
        return (tau, *later) if stateful else tau

    return forces


def _refuse_result(law: str, result: Any, joints: int, nstate: int) -> None:
    """Raise what is wrong with what an equation returns, if anything is."""
    wanted = f"expected a list of {joints} torques, one per joint"
    parts = result if nstate else (result,)
    if nstate:
        wanted += f", and one of {nstate} numbers, the state a period later"
    sizes = [len(x) if hasattr(x, "__len__") else None for x in parts] if _many(parts) else []
    if sizes == [joints, *[nstate] * bool(nstate)]:
        return
    told = " and ".join("no list" if x is None else f"{x} number{'s' * (x != 1)}" for x in sizes)
    raise InputError(f"{law}: its equation returns {told or 'no pair of lists'}; {wanted}.")


def _many(x: Any) -> bool:
    return isinstance(x, tuple | list)


def shapes(law: Law, gains: bool) -> tuple[Shapes, Shapes]:
    """The shapes of a law's inputs, and of its outputs."""
    n, nq = law.robot.nv, law.robot.nq
    inputs: Shapes = {"q": (nq,), "v": (n,), "qd": (nq,), "vd": (n,), "ad": (n,)}
    outputs: Shapes = {"tau": (law.actuators,)}
    if law.nstate:
        inputs |= {"state": (law.nstate,), "period": (1,)}
        outputs["next_state"] = (law.nstate,)
    if gains:
        inputs |= {name: x.shape for name, x in law._values.items()}
    return inputs, outputs


def _cut(flat: Iterator[Any], shape: tuple[int, ...]) -> list[Any]:
    """The next numbers, as lists of lists."""
    if len(shape) == 1:
        return [next(flat) for _ in range(shape[0])]
    return [_cut(flat, shape[1:]) for _ in range(shape[0])]
