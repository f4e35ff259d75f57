"""What can be asked of a closed robot, and the kernels that answer it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from appell.constraints import reduce
from appell.constraints.reduce import Mechanism
from appell.constraints.rolling import Custom
from appell.equations.coordinates import Axes
from appell.equations.quantities import REGRESSORS
from appell.errors import InputError, ModelError
from appell.model.parameters import inertial_parameters

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel
    from appell.compile.tape import Tape


class Asked(NamedTuple):
    """Inputs, and the axes of the outputs: "n" counts independent speeds, "v" the tree's, "q"
    coordinates, "d" actuators, "r" forbidden rows, "c" rows of closure, "k" those and
    three margins, "y" coordinates and speeds, "p" parameters, a regressor's name its columns."""

    inputs: tuple[str, ...]
    outputs: dict[str, Axes]
    equation: Callable[..., Any]
    frame: bool = False


def _with_friction(equation: Callable[..., Any]) -> Callable[..., Any]:
    def rubbing(*arguments: Any) -> Any:
        return equation(*arguments, friction=True)

    return rubbing


def _flow(m: Mechanism, q: Any, u: Any, tau: Any = (), friction: bool = False) -> Any:
    dq, du = reduce.motion(m, q, u, tau, friction)
    return [*dq, *du]


_qva, _qvt = ("q", "v", "a"), ("q", "v", "tau")
_n, _nn = ("n",), ("n", "n")

ASKED: dict[str, Asked] = {
    "inverse_dynamics": Asked(_qva, {"tau": ("d",)}, reduce.inverse_dynamics),
    "generalised_forces": Asked(_qva, {"Q": _n}, reduce.generalised_forces),
    "forward_dynamics": Asked(_qvt, {"a": _n}, reduce.forward_dynamics),
    "motion": Asked(_qvt, {"dq": ("q",), "a": _n}, reduce.motion),
    "flow": Asked(_qvt, {"dy": ("y",)}, _flow),
    "mass_matrix": Asked(("q",), {"M": _nn}, reduce.mass_matrix),
    "coriolis_matrix": Asked(("q", "v"), {"C": _nn}, reduce.coriolis_matrix),
    "gravity": Asked(("q",), {"g": _n}, reduce.gravity),
    "bias": Asked(("q", "v"), {"b": _n}, reduce.bias),
    "friction": Asked(("q", "v"), {"f": _n}, reduce.friction),
    "kinetic_energy": Asked(("q", "v"), {"T": ()}, reduce.kinetic_energy),
    "potential_energy": Asked(("q",), {"U": ()}, reduce.potential_energy),
    "gibbs_function": Asked(_qva, {"G": ()}, reduce.gibbs_function),
    "regressor": Asked(_qva, {"Y": ("d", "p")}, reduce.regressor),
    "forward_kinematics": Asked(("q",), {"T": (4, 4)}, reduce.forward_kinematics, True),
    "jacobian": Asked(("q",), {"J": (6, "n")}, reduce.jacobian, True),
    "speeds": Asked(("q", "v"), {"s": ("v",)}, reduce.speeds),
    "accelerations": Asked(_qva, {"s": ("v",)}, reduce.accelerations),
    "gamma": Asked(("q",), {"Gamma": ("v", "n")}, reduce.gamma),
    "closure": Asked(("q",), {"phi": ("c",)}, reduce.closure),
    "closure_jacobian": Asked(
        ("q",), {"phi": ("c",), "dphi": ("c", "v")}, reduce.closure_jacobian
    ),
    "constraint_jacobian": Asked(("q",), {"J": ("r", "v")}, reduce.constraint_jacobian),
    "checks": Asked(("q",), {"checks": ("k",)}, reduce.checks),
}  # fmt: skip
ASKED |= {
    name: Asked(_qva, {"Y": ("d", name)}, partial(reduce.regressor, of_tree=name))
    for name in REGRESSORS
}
_RUBBING = ("inverse_dynamics", "generalised_forces", "forward_dynamics", "motion", "flow")
ASKED |= {
    f"{name}_with_friction": ASKED[name]._replace(equation=_with_friction(ASKED[name].equation))
    for name in _RUBBING
}


def asked_for(name: str) -> Asked:
    try:
        return ASKED[name]
    except (KeyError, TypeError):
        derived = " Derivatives are those of trees." if "derivatives" in str(name) else ""
        raise InputError(
            f"no quantity {name!r} of a closed robot; there are {', '.join(ASKED)}.{derived}"
        ) from None


def compiled(mechanism: Mechanism, quantity: str, frame: str | None, dtype: str) -> Kernel:
    """The kernel, from the cache or made anew."""
    from appell.compile.cache import covers
    from appell.compile.kernel import Kernel

    inputs, outputs = _shapes(mechanism, quantity)
    # A function's name, or a class's, does not tell what it computes.
    own = all(covers(type(c)) and not isinstance(c, Custom) for c in mechanism.constraints)
    return Kernel(
        quantity, lambda: recorded(mechanism, quantity, frame), inputs, outputs,
        dtype=dtype,
        identity=("closed", mechanism, frame) if own else None,
        origin=(compiled, (mechanism, quantity, frame, dtype)) if own else None,
        doc=f"{quantity} of {mechanism.model.name}, closed",
    )  # fmt: skip


def recorded(mechanism: Mechanism, quantity: str, frame: str | None) -> Tape:
    """The equation's tape."""
    from appell.compile.record import record

    asked = asked_for(quantity)
    extra = (mechanism.model.frame(frame),) if asked.frame else ()

    def of_state(*state: Any) -> Any:
        return asked.equation(mechanism, *state, *extra)

    try:
        return record(of_state, *_shapes(mechanism, quantity))
    except ZeroDivisionError:
        raise ModelError(
            f"{quantity} of '{mechanism.model.name}': the independent speeds do not move all of "
            "its joints, or an independent speed moves no inertia; choose others, or give its "
            "links a mass."
        ) from None


Shapes = dict[str, tuple[int, ...]]


def _shapes(m: Mechanism, quantity: str) -> tuple[Shapes, Shapes]:
    n, nq = len(m.independent), m.model.nq
    sizes = {"n": n, "q": nq, "v": m.model.nv, "d": len(m.actuated), "y": nq + n}
    asked = asked_for(quantity)
    axes = {k for shape in asked.outputs.values() for k in shape}
    if "p" in axes:
        sizes["p"] = len(inertial_parameters(m.model))
    if quantity in REGRESSORS:
        sizes[quantity] = len(inertial_parameters(m.model, **REGRESSORS[quantity]))
    if "r" in axes:
        sizes["r"] = sum(len(c.rows) for c in m.constraints)
    if axes & {"c", "k"}:
        sizes["c"] = sum(c.closures for c in m.constraints)
        sizes["k"] = sizes["c"] + 3
    of = {"q": nq, "v": n, "a": n, "tau": len(m.actuated)}
    return (
        {x: (of[x],) for x in asked.inputs if of[x]},  # without actuators there is no tau
        {
            name: tuple(sizes[k] if isinstance(k, str) else k for k in shape)
            for name, shape in asked.outputs.items()
        },
    )
