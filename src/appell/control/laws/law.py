"""Law: a law of control of a robot, as an equation and as compiled code.

A law is a pure function of what is measured, what is desired, its own state, the period at which
it is sampled, and its gains. It is written once, in the file of its class, and compiled like a
robot's equations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

import numpy as np
import numpy.typing as npt

from appell.control.laws.compiled import law_kernel, stepping_kernel
from appell.control.laws.gains import Kind, check_errors, gain, shown
from appell.errors import InputError
from appell.given import is_number
from appell.robots.dynamics import Array, Dynamics, Forces
from appell.robots.known_torques import external_torques
from appell.robots.system import formulation_of

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel

Numbers = npt.ArrayLike


@dataclass(frozen=True, eq=False, repr=False)
class Law:
    """A control law: ``tau, state = law(q, v, qd, vd, ad, state)``, forces of the actuators (N m,
    N) from the measured q and v and the desired qd, vd and ad.

    Of a closed robot q and qd are all coordinates (nq), v, vd and ad those of its independent
    joints (nv), which have the errors and the gains; of a spherical parallel robot they are its
    coordinates, and their rates. The law finds forces on these speeds, and gives those of the
    actuators (of least norm, where there are more of them). A law without a state of its own passes
    on what it is given. Arguments may be batches; their leading axes broadcast as in NumPy.

    A law of your own subclasses this one and has a static method ``equation``: see the page on
    control.

    Args:
        robot: What the law believes it moves: any robot on a fixed base that has at least as many
            actuators as degrees of freedom.
        formulation: The equations by which the law computes that robot's dynamics, one of
            ``robot.kernel("inverse_dynamics")``'s; the fastest without it.

    Examples:
        >>> law = appell.control.PDGravity(appell.load("planar_chain", n=2), kp=50, kd=10)
        >>> isinstance(law, appell.control.Law), law.nstate, law.actuators
        (True, 0, 2)
        >>> tau, state = law([0.1, 0.2], [0, 0], [0.3, 0.2], [0, 0], [0, 0])
        >>> law.kernel()([0.1, 0.2], [0, 0], [0.3, 0.2], [0, 0], [0, 0]).shape
        (2,)
    """

    robot: Dynamics
    formulation: str | None = field(default=None, kw_only=True)

    equation: ClassVar[Callable[..., Any]]  # (model, q, v, desired[, state, period], *gains), where
    # the model is a tree's Model, or else the robot's system: see appell.control.laws.feedback
    quantity: ClassVar[str] = "inverse_dynamics"  # what its equation asks of a formulation
    gains: ClassVar[Mapping[str, Kind]] = {}
    regroups: ClassVar[bool] = True  # whether it needs the robot as a whole only
    damps: ClassVar[tuple[str, ...]] = ()  # its gains in e'' + kd e' + kp e = 0, if errors obey it

    def __post_init__(self) -> None:
        name = type(self).__name__
        _refuse(name, self.robot)
        object.__setattr__(self, "formulation", self._formulation())
        usual = {f.name: f.default for f in fields(self)}
        refuse_gains(type(self))
        for what, kind in self.gains.items():
            given = getattr(self, what)
            if given is None:
                given = self._usual(what)
            if given is None and usual[what] is not None:
                raise InputError(f"{name}: {what} = None; expected a number, or one per joint.")
            if given is not None:
                array = gain(f"{name}: {what}", given, self._count(kind), kind)
                object.__setattr__(self, what, array)
        self._refuse()
        if self.damps and self.robot.nv:
            check_errors(name, {x: getattr(self, x) for x in self.damps}, self.robot.independent)

    # What it is

    @property
    def initial(self) -> Array:
        """The state it starts with, (nstate,), in the units of its equation."""
        return np.zeros(0)

    @property
    def actuators(self) -> int:
        """How many forces it gives."""
        return self.robot.system.size("d")

    @cached_property
    def nstate(self) -> int:
        """How many numbers its state has."""
        return len(self.initial)

    def __repr__(self) -> str:
        told = [f"{name}={shown(x)}" for name, x in self._values.items()]
        return f"<{type(self).__name__} of {self.robot.name}: {', '.join(told + self._chosen())}>"

    def _chosen(self) -> list[str]:
        """What is shown besides the gains: the formulation, where it is not the usual one."""
        usual = next(iter(self.robot.system.quantities[self.quantity].formulations))
        return [] if self.formulation in (None, usual) else [f"formulation={self.formulation}"]

    def _formulation(self) -> str | None:
        """The formulation, checked; None for an equation of the user's that takes none."""
        if "formulation" in signature(type(self).equation).parameters:
            try:
                return formulation_of(self.robot.system, self.quantity, self.formulation)
            except InputError as problem:
                raise InputError(f"{type(self).__name__}: {problem}") from None
        if self.formulation is not None:
            raise InputError(
                f"{type(self).__name__}: formulation={self.formulation!r}, but its equation takes "
                "no formulation; give the equation an argument of that name, or leave it out."
            )
        return None

    def __getstate__(self) -> dict[str, Any]:
        return {k: x for k, x in vars(self).items() if not self._caches(k)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for name in self.gains:
            if state[name] is not None:
                state[name].flags.writeable = False

    # What it does

    def __call__(
        self,
        q: Numbers,
        v: Numbers,
        qd: Numbers,
        vd: Numbers,
        ad: Numbers,
        state: Any = None,
        *,
        period: float = 0.01,
        forces: Forces = None,
        axes: str = "base",
    ) -> tuple[Array, Any]:
        """The forces of the actuators, from what is measured and what is desired. Measured external
        forces are compensated besides: the law gives J^T w less.

        Args:
            q: Measured positions, (..., nq), rad or m.
            v: Measured speeds, (..., nv), rad/s or m/s.
            qd: Desired positions, (..., nq), rad or m.
            vd: Desired speeds, (..., nv), rad/s or m/s.
            ad: Desired accelerations, (..., nv), rad/s^2 or m/s^2.
            state: The law's own, (..., nstate); its initial one without it.
            period: Until the next call, s.
            forces: Measured wrenches by frame, (..., 6), N and N m.
            axes: Of these wrenches: "base", or "local" for each frame's own.

        Returns:
            Forces of the actuators, (..., actuators), N m or N, and the state a period later.
        """
        if forces is not None:
            tau, later = self(q, v, qd, vd, ad, state, period=period)
            return tau + external_torques(self.robot, q, forces, axes), later
        step, numbers = self._fast
        if not self.nstate:
            return step(q, v, qd, vd, ad, numbers), state
        if state is None:
            state = self.initial
        n = self.actuators
        latest = self._latest[0]  # another thread may put its own there
        if period != latest[0]:
            latest = self._latest[0] = (period, self._numbers(period))
        both = step(q, v, qd, vd, ad, state, latest[1])
        return both[..., :n], both[..., n:]

    def kernel(
        self, *, dtype: npt.DTypeLike = "float64", gains: bool = False, target: str = "cpu"
    ) -> Kernel:
        """The compiled law.

        Args:
            dtype: "float64" or "float32".
            gains: Whether the gains are inputs after the others, whose own values are
                ``kernel.defaults``; else they are numbers in the code.
            target: "cpu", or "cuda" for an NVIDIA GPU.

        Returns:
            A `Kernel`: (q, v, qd, vd, ad) -> tau, or, with a state, (q, v, qd, vd, ad, state,
            period) -> tau, state; ``period`` is (..., 1), s.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> law = appell.control.PDGravity(arm, kp=50, kd=10)
            >>> law.kernel()([0, 0], [0, 0], [1, 0], [0, 0], [0, 0]).round(3).tolist()
            [69.62, 4.905]
        """
        return law_kernel(self, dtype, gains, target)

    # How

    @cached_property
    def _values(self) -> dict[str, Array]:
        """The gains that the law has, by their names."""
        return {name: x for name in self.gains if (x := getattr(self, name)) is not None}

    @cached_property
    def _fast(self) -> tuple[Callable[..., Any], Array]:
        """One state at a time, with as little Python as there can be, and what it takes last;
        batches go to the kernel."""

        myself = ref(self)  # the function must not keep the law alive that holds it

        def general(*arguments: Any) -> Any:
            law = myself()
            assert law is not None
            *states, numbers = arguments
            single = all(getattr(x, "dtype", None) == np.float32 for x in states)
            kernel = law.kernel(dtype="float32" if single else "float64")
            if not law.nstate:
                return kernel(*states)
            made = kernel(*states, numbers[:1])
            leading = np.broadcast_shapes(*(x.shape[:-1] for x in made))
            parts = [np.broadcast_to(x, (*leading, x.shape[-1])) for x in made]
            return np.concatenate(parts, axis=-1)

        return stepping_kernel(self).single(general), self._numbers(0.01)

    def _numbers(self, period: float) -> Array:
        """The period and all gains, one after another."""
        return np.concatenate([[seconds(period)], *(x.ravel() for x in self._values.values())])

    @cached_property
    def _latest(self) -> list[tuple[float, Array]]:
        """The period of the latest call, and the numbers that go with it. No others are kept: a
        period that is measured is another one in every call."""
        return [(0.01, self._fast[1])]

    @cached_property
    def _kernels(self) -> dict[tuple[str, bool, str], Kernel]:
        return {}

    def _caches(self, name: str) -> bool:
        return isinstance(getattr(type(self), name, None), cached_property)

    def _count(self, kind: Kind) -> int:
        return {"joint": self.robot.nv, "inertial parameter": self.robot.parameters.size}.get(
            kind.per, 6
        )

    def _usual(self, what: str) -> Any:
        """A gain that is not given; None where the law goes without it."""
        factor = self.gains[what].of_inertia
        return None if factor is None else factor * self._inertia()

    def _refuse(self) -> None:
        """Raise what keeps this kind of law from moving the robot, if anything does."""

    def _inertia(self) -> Array:
        """What each speed moves at the robot's neutral configuration: the scale of gains in N m."""
        M = self.robot.mass_matrix(self.robot.neutral())
        return np.diagonal(M)

    def _extra(self, model: Any) -> dict[str, Any]:
        """What the equation takes besides numbers."""
        return {}


def refuse_gains(law: type[Law]) -> None:
    """Raise which gain of a user's class is no field of it, if one is not."""
    known = [f.name for f in fields(law)]
    for name in law.gains:
        if name not in known:
            raise InputError(
                f"{law.__name__}: its gain '{name}' is not a field of the class; expected "
                "@dataclass(frozen=True, eq=False, repr=False) above the class, and in it the gain "
                f"with a type, '{name}: Any = 1.0'."
            )


def _refuse(name: str, robot: Any) -> None:
    """Raise why a law cannot move a robot, if anything keeps it from that."""
    if not isinstance(robot, Dynamics):
        raise InputError(f"{name}({robot!r}): expected a robot; appell.load gives one.")
    free, driven = getattr(robot.model, "free", False), len(robot.actuated) == robot.nv
    if free and driven and getattr(robot, "constraints", ()):
        raise InputError(
            f"{name}: '{robot.name}' has a body whose place is a quaternion and a point, which no "
            "law takes; its motors' forces can be given instead, as in the task torque."
        )
    if free:
        raise InputError(
            f"{name}: '{robot.name}' has a free base, which no motor holds; laws are for robots on "
            "a fixed one."
        )
    if compounds := getattr(robot.model, "compounds", ()):
        raise InputError(
            f"{name}: joint '{compounds[0].name}' of '{robot.name}' has a quaternion, which no law "
            "takes; laws are for joints that turn about one axis or slide."
        )
    for c in getattr(robot, "constraints", ()):
        if c.closures < len(c.rows):
            raise InputError(
                f"{name}: '{robot.name}' is nonholonomic: '{c.name}' forbids velocities and not "
                "positions, so no desired positions follow from those of its independent joints."
            )
    freedoms, actuators = robot.nv, robot.system.size("d")
    if actuators < freedoms:
        raise InputError(
            f"{name}: '{robot.name}' is underactuated: no forces of its {actuators} actuators give "
            f"every motion of its {freedoms} degrees of freedom."
        )


def seconds(period: Any) -> float:
    """A period, checked."""
    if not is_number(period) or not 0 < period < np.inf:
        raise InputError(f"period = {period!r}; expected a time in s, more than zero.")
    return float(period)
