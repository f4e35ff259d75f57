"""Dynamics: the methods that every robot answers, whatever it is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.equations.quantities import regressor_named
from appell.errors import InputError
from appell.model import configuration
from appell.model.axes import gravity_field
from appell.robots.frames_and_momentum import Array, FramesAndMomentum, Numbers, one_of

__all__ = ["AXES", "Array", "Dynamics", "Forces", "Numbers", "one_of", "refuse_no_robot"]

if TYPE_CHECKING:
    from typing_extensions import Self

    from appell.robots.selfcheck import Check

Forces = Mapping[Any, Numbers] | None  # wrenches by frame, a FrameName
AXES = ("base", "mixed", "local")  # of wrenches and motions; the first two are the same


class Dynamics(FramesAndMomentum, ABC):
    """A system and the kernels that answer for it, each compiled when it is first used.

    Arguments are arrays whose last axis counts coordinates, speeds or actuators; leading axes are
    batches and broadcast as in NumPy. Results are float64, or float32 where all arguments are.
    Units are SI and radians. ``qd`` and ``qdd`` are accepted as names for v and a. An equation is
    compiled when it is first used, and kept in the user's cache.
    """

    @property
    def joint_kinds(self) -> tuple[str, ...]:
        """The kind of each of the model's joints; coordinates that are no joints' are angles."""
        return ("revolute",) * self.nv

    @property
    @abstractmethod
    def joint_names(self) -> tuple[str, ...]:
        """The joints, or whatever else the coordinates are."""

    @property
    def link_names(self) -> tuple[str, ...]:
        """The links, each of which is a frame; none of a robot without frames."""
        return ()

    @property
    def independent(self) -> tuple[str, ...]:
        """What has the speeds v, in order."""
        return self.joint_names

    @property
    def actuated(self) -> tuple[str, ...]:
        """What has the forces tau, in order."""
        return self.joint_names

    def with_gravity(self, gravity: Sequence[float]) -> Self:
        """The same robot in another field of gravity, m/s^2 in the base's axes."""
        return self._with_model(replace(self.model, gravity=gravity_field(self.name, gravity)))

    # Dynamics

    def inverse_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> Array:
        """Forces tau of the actuators, (..., nv), that give accelerations a, with external
        ``forces``: see :meth:`bias`."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._forced("inverse_dynamics", arguments, out, forces, axes)

    def forward_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> Array:
        """Accelerations a, (..., nv), that forces tau of the actuators give, with external
        ``forces``: see :meth:`bias`."""
        arguments = (q, one_of("v", v, qd), tau)
        return self._forced("forward_dynamics", arguments, out, forces, axes)

    def mass_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """The inertia matrix M of the speeds, (..., nv, nv), rotors included: the Hessian of the
        Gibbs function by the accelerations."""
        return self._evaluate("mass_matrix", (q,), out)

    def inverse_mass_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """M^-1, (..., nv, nv)."""
        return self._evaluate("inverse_mass_matrix", (q,), out)

    def coriolis_matrix(
        self,
        q: Numbers,
        v: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        formulation: str | None = None,
        out: Any = None,
    ) -> Array:
        """C, (..., nv, nv), by Christoffel's symbols: dM/dt - 2C is skew-symmetric. Other
        ``formulation``s give other matrices with the same C v: "body", of which this holds too, and
        "momentum", of which it does not: see :mod:`appell.equations.coriolis_factors`."""
        options = () if formulation is None else (None, "base", None, (), formulation)
        return self._evaluate("coriolis_matrix", (q, one_of("v", v, qd)), out, options)

    def gravity(self, q: Numbers, *, out: Any = None) -> Array:
        """g, (..., nv): what holds the robot still, against gravity and springs in the joints."""
        return self._evaluate("gravity", (q,), out)

    def bias(
        self,
        q: Numbers,
        v: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> Array:
        """C v + g, (..., nv), less the work of external ``forces``.

        These map frames to wrenches (..., 6): a force and a moment that the surroundings exert at
        the frame's origin, in the base's axes, or with ``axes="local"`` in the frame's own. On
        the speeds a wrench w is the force J^T w: M a + C v + g = tau + J^T w.
        """
        return self._forced("bias", (q, one_of("v", v, qd)), out, forces, axes)

    def regressor(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        friction: bool = False,
        rotors: bool = False,
        out: Any = None,
    ) -> Array:
        """Y, (..., nv, p), with tau = Y @ robot.parameters; columns for ``friction`` and
        ``rotors`` as in ``parameters_of``. Springs of joints are no parameters: where there are
        any, tau = Y @ robot.parameters + robot.springs(q)."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._evaluate(self._regressor(friction, rotors), arguments, out)

    def kinetic_energy(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """T, (...), in J."""
        return self._evaluate("kinetic_energy", (q, one_of("v", v, qd)), out)

    def potential_energy(self, q: Numbers, *, out: Any = None) -> Array:
        """U, (...), in J, zero with all mass at the base's origin and all springs at rest."""
        return self._evaluate("potential_energy", (q,), out)

    def gibbs_function(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """G, (...): half the mass times the acceleration squared (relative to free fall), so that
        dG/da = M a + C v + g."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._evaluate("gibbs_function", arguments, out)

    def inverse_dynamics_derivatives(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> tuple[Array, Array, Array]:
        """d tau / dq, d tau / dv and d tau / da, each (..., nv, nv), with external ``forces``
        (see :meth:`bias`) whose wrenches stay as they are."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._forced("inverse_dynamics_derivatives", arguments, out, forces, axes)

    def forward_dynamics_derivatives(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> tuple[Array, Array, Array]:
        """da/dq, da/dv and da/dtau (M^-1 of a tree), each (..., nv, nv), with external ``forces``
        (see :meth:`bias`) whose wrenches stay as they are."""
        arguments = (q, one_of("v", v, qd), *([tau] if self.system.size("d") else []))
        return self._forced("forward_dynamics_derivatives", arguments, out, forces, axes)

    # Itself

    def view(self, q: Numbers | None = None, **options: Any) -> Any:
        """A viewer of the robot in the browser, at coordinates q (neutral without), where sliders
        move it: see :func:`appell.view` for the options, such as ``html="robot.html"``."""
        from appell import view

        return view(self, q, **options)

    def selfcheck(self, states: int = 100, seed: int = 0) -> list[Check]:
        """Check compiled kernels against the equations on floats and against laws of physics."""
        from appell.robots.selfcheck import selfcheck

        return selfcheck(self, states, seed)

    @property
    @abstractmethod
    def parameters(self) -> Array:
        """Per moving body m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz: tau = Y @ parameters."""

    # What its self-check asks for; robots that are no trees answer otherwise

    def states_to_check(self, count: int, draw: np.random.Generator) -> tuple[Array, Array, Array]:
        """States q, v and a at which laws are checked."""
        q = configuration.random(self.model, draw, (count,), limited=False)
        v, a = draw.uniform(-np.pi, np.pi, (2, count, self.nv))
        return q, v, a

    def displaced(self, q: Array, d: Array) -> Array:
        """Coordinates (..., nq) after a small displacement d (..., nv)."""
        return configuration.integrate(self.model, q, d)

    def driven(self, q: Array, tau: Array) -> Array:
        """The forces on the speeds (..., nv) that the actuators' forces tau give."""
        return tau

    def own_laws(self, q: Array, v: Array, tau: Array, a: Array) -> list[Check]:
        """Laws of this kind of robot only, at states where forces tau give accelerations a."""
        return []

    def _regressor(self, friction: bool, rotors: bool) -> str:
        """The quantity with these columns."""
        return regressor_named(friction, rotors)

    def _with_model(self, model: Any) -> Self:
        return type(self)(model)  # type: ignore[call-arg]  # a robot is made from its model

    def _forced(
        self, quantity: str, arguments: tuple[Any, ...], out: Any, forces: Forces, axes: str
    ) -> Any:
        """A quantity with external forces, if there are any."""
        if forces is None:
            return self._evaluate(quantity, arguments, out)
        known = None
        if type(forces) is dict and out is None:
            known = (quantity, axes, *forces)
            try:
                single = self._singles.get(known)  # found sooner than by all options
            except TypeError:  # a frame that is no name
                known = single = None
            if single is not None:
                return single(*arguments, *forces.values())
        if type(forces) is not dict and not isinstance(forces, Mapping):
            raise InputError(
                f"{quantity}: forces = {forces!r}; expected wrenches by frame: "
                "forces={'hand': (fx, fy, fz, mx, my, mz)}."
            )
        arguments = (*arguments, *forces.values())
        options = (None, axes, None, tuple(forces)) if forces else ()
        result = self._evaluate(quantity, arguments, out, options)
        if known and (single := self._singles.get((quantity, options))):
            self._singles[known] = single
        return result


def refuse_no_robot(what: str, robot: Any) -> None:
    """Refuse what is no robot, such as a model or None."""
    if not isinstance(robot, Dynamics):
        raise InputError(
            f"{what}: a {type(robot).__name__} is no robot; give one as appell.load gives it."
        )
