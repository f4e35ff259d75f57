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
        """The same robot in another field of gravity.

        Args:
            gravity: In the base's axes, (3,), m/s^2.

        Returns:
            A robot of the same kind.

        Examples:
            >>> moon = appell.load("puma560").with_gravity((0, 0, -1.62))
            >>> moon.gravity(np.zeros(6))[1:3].round(3).tolist()
            [-11.344, 0.084]
        """
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
        """The forces tau of the actuators that give accelerations a, with external forces.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.
            out: An array that takes the result.

        Returns:
            tau, (..., actuators), N m or N.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.inverse_dynamics([0, 0], [0, 0], [1, 0]).round(3).tolist()
            [22.287, 5.738]
        """
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
        """The accelerations a that forces tau of the actuators give, with external forces.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            tau: Forces of the actuators, (..., actuators), N m or N.
            qd: Another name for ``v``.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.
            out: An array that takes the result.

        Returns:
            a, (..., nv), rad/s^2 or m/s^2.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.forward_dynamics([0, 0], [0, 0], [0, 0]).round(3).tolist()
            [-12.613, 16.817]
        """
        arguments = (q, one_of("v", v, qd), tau)
        return self._forced("forward_dynamics", arguments, out, forces, axes)

    def mass_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """The inertia matrix M of the speeds, rotors included: the Hessian of the Gibbs function by
        the accelerations.

        Args:
            q: Coordinates, (..., nq), rad or m.
            out: An array that takes the result.

        Returns:
            M, (..., nv, nv), kg m^2, or kg m and kg where joints slide.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.mass_matrix([0, 0]).round(3).tolist()
            [[2.667, 0.833], [0.833, 0.333]]
        """
        return self._evaluate("mass_matrix", (q,), out)

    def inverse_mass_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """The inverse of the inertia matrix of the speeds.

        Args:
            q: Coordinates, (..., nq), rad or m.
            out: An array that takes the result.

        Returns:
            M^-1, (..., nv, nv), in the inverse units of M.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> np.allclose(arm.inverse_mass_matrix([0, 1]) @ arm.mass_matrix([0, 1]), np.eye(2))
            True
        """
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
        """The Coriolis matrix C, by Christoffel's symbols: dM/dt - 2C is skew-symmetric.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            qd: Another name for ``v``.
            formulation: Another matrix with the same C v: "body", of which this holds too, or
                "momentum", of which it does not: see `appell.equations.coriolis_factors`.
            out: An array that takes the result.

        Returns:
            C, (..., nv, nv), N m s/rad, or N s and N s/m where joints slide.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> (arm.coriolis_matrix([0, 1], [1, 1]) @ [1, 1]).round(3).tolist()
            [-1.262, 0.421]
        """
        options = () if formulation is None else (None, "base", None, (), formulation)
        return self._evaluate("coriolis_matrix", (q, one_of("v", v, qd)), out, options)

    def gravity(self, q: Numbers, *, out: Any = None) -> Array:
        """The forces g that hold the robot still, against gravity and springs in the joints.

        Args:
            q: Coordinates, (..., nq), rad or m.
            out: An array that takes the result.

        Returns:
            g, (..., nv), N m or N.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.gravity([0, 0]).round(3).tolist()
            [19.62, 4.905]
        """
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
        """The forces C v + g that the motion and gravity take, less those of external forces.

        A wrench (..., 6) is a force and a moment that the surroundings exert at the origin of a
        frame. On the speeds a wrench w is the force J^T w: M a + C v + g = tau + J^T w.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            qd: Another name for ``v``.
            forces: External wrenches by the names of frames, (..., 6), N and N m.
            axes: Of these wrenches: "base", or "local" for each frame's own.
            out: An array that takes the result.

        Returns:
            C v + g - J^T w, (..., nv), N m or N.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.bias([0, 0], [1, 0]).round(3).tolist()
            [19.62, 4.905]
            >>> arm.bias([0, 0], [1, 0], forces={"link2": (0, 10, 0, 0, 0, 0)}).round(3).tolist()
            [9.62, 4.905]
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
        """The matrix Y with tau = Y @ robot.parameters.

        Springs of joints are no parameters: where there are any, tau = Y @ robot.parameters +
        robot.springs(q).

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            friction: Whether it has columns for friction, as ``parameters_of`` has entries.
            rotors: Whether it has columns for rotors.
            out: An array that takes the result.

        Returns:
            Y, (..., nv, p), N m or N per unit of the parameter.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> Y = arm.regressor([0, 1], [1, 0], [0, 0])
            >>> Y.shape
            (2, 20)
            >>> np.allclose(Y @ arm.parameters, arm.inverse_dynamics([0, 1], [1, 0], [0, 0]))
            True
        """
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._evaluate(self._regressor(friction, rotors), arguments, out)

    def kinetic_energy(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """The kinetic energy T.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            qd: Another name for ``v``.
            out: An array that takes the result.

        Returns:
            T, (...), J.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> float(arm.kinetic_energy([0, 0], [1, 0]).round(3))
            1.333
        """
        return self._evaluate("kinetic_energy", (q, one_of("v", v, qd)), out)

    def potential_energy(self, q: Numbers, *, out: Any = None) -> Array:
        """The potential energy U: zero with all mass at the base's origin and all springs at rest.

        Args:
            q: Coordinates, (..., nq), rad or m.
            out: An array that takes the result.

        Returns:
            U, (...), J.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> float(arm.potential_energy([np.pi / 2, 0]).round(3))
            19.62
        """
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
        """The Gibbs function G, half the mass times the square of the acceleration relative to free
        fall: dG/da = M a + C v + g.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            out: An array that takes the result.

        Returns:
            G, (...), kg m^2/s^4.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> float(arm.gibbs_function([0, 0], [0, 0], [1, 0]).round(3))
            117.189
        """
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
        """The derivatives of `inverse_dynamics`; external wrenches stay as they are. A derivative
        by q is one by a small displacement, measured as speeds are.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.
            out: An array that takes the result.

        Returns:
            d tau / dq, d tau / dv and d tau / da, each (..., nv, nv), in units of tau per unit of
            q, v and a.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> by_q, by_v, by_a = arm.inverse_dynamics_derivatives([0, 1], [1, 0], [0, 0])
            >>> np.allclose(by_a, arm.mass_matrix([0, 1]))
            True
        """
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
        """The derivatives of `forward_dynamics`; external wrenches stay as they are. A derivative
        by q is one by a small displacement, measured as speeds are.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            tau: Forces of the actuators, (..., actuators), N m or N.
            qd: Another name for ``v``.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.
            out: An array that takes the result.

        Returns:
            da/dq, da/dv and da/dtau (M^-1 of a tree), each (..., nv, nv), in units of a per unit of
            q, v and tau.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> by_q, by_v, by_tau = arm.forward_dynamics_derivatives([0, 1], [1, 0], [0, 0])
            >>> np.allclose(by_tau, arm.inverse_mass_matrix([0, 1]))
            True
        """
        arguments = (q, one_of("v", v, qd), *([tau] if self.system.size("d") else []))
        return self._forced("forward_dynamics_derivatives", arguments, out, forces, axes)

    # Itself

    def view(self, q: Numbers | None = None, **options: Any) -> Any:
        """Show the robot in the browser, where sliders move it.

        Args:
            q: Where it is shown, (nq,), rad or m; the neutral configuration without it.
            **options: Those of `appell.view`, such as ``html="robot.html"``.

        Returns:
            A viewer, or the path of the page that was written: see `appell.view`.

        Examples:
            >>> page = appell.load("planar_chain").view([0.5, 0, 0], html=tmp / "robot.html")
            >>> page.name
            'robot.html'
        """
        from appell import view

        return view(self, q, **options)

    def selfcheck(self, states: int = 100, seed: int = 0) -> list[Check]:
        """Check compiled kernels against the equations on floats and against laws of physics.

        Args:
            states: How many states drawn at random.
            seed: Of these states.

        Returns:
            What was checked, each with its error and bound, no unit, and whether it passed.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> all(check.passed for check in arm.selfcheck(states=5))
            True
        """
        from appell.robots.selfcheck import selfcheck

        return selfcheck(self, states, seed)

    @property
    @abstractmethod
    def parameters(self) -> Array:
        """Per moving body m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz: tau = Y @ parameters."""

    # What its self-check asks for; robots that are no trees answer otherwise

    def states_to_check(self, count: int, draw: np.random.Generator) -> tuple[Array, Array, Array]:
        """States at which `selfcheck` tests laws.

        Args:
            count: How many.
            draw: A generator of NumPy's.

        Returns:
            q, v and a, (count, ...), rad or m, and per s and s^2.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> q, v, a = arm.states_to_check(3, np.random.default_rng(0))
            >>> q.shape
            (3, 2)
        """
        q = configuration.random(self.model, draw, (count,), limited=False)
        v, a = draw.uniform(-np.pi, np.pi, (2, count, self.nv))
        return q, v, a

    def displaced(self, q: Array, d: Array) -> Array:
        """Coordinates after a small displacement, as `selfcheck` needs them.

        Args:
            q: Coordinates, (..., nq), rad or m.
            d: The displacement, (..., nv), rad or m.

        Returns:
            Coordinates, (..., nq), rad or m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.displaced(np.zeros(2), np.array([0.1, 0])).tolist()
            [0.1, 0.0]
        """
        return configuration.integrate(self.model, q, d)

    def driven(self, q: Array, tau: Array) -> Array:
        """The forces on the speeds that forces of the actuators give.

        Args:
            q: Coordinates, (..., nq), rad or m.
            tau: Forces of the actuators, (..., actuators), N m or N.

        Returns:
            The forces, (..., nv), N m or N.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.driven(np.zeros(2), np.array([1.0, 2.0])).tolist()
            [1.0, 2.0]
        """
        return tau

    def own_laws(self, q: Array, v: Array, tau: Array, a: Array) -> list[Check]:
        """Checks of laws that only this kind of robot has, at states where forces tau give
        accelerations a.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            tau: Forces of the joints, (..., nv), N m or N.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.

        Returns:
            What was checked, as of `selfcheck`.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.own_laws(*np.zeros((4, 2)))
            []
        """
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
        if known and (single := self._singles.get((quantity, options, False))):
            self._singles[known] = single
        return result


def refuse_no_robot(what: str, robot: Any) -> None:
    """Refuse what is no robot, such as a model or None."""
    if not isinstance(robot, Dynamics):
        raise InputError(
            f"{what}: a {type(robot).__name__} is no robot; give one as appell.load gives it."
        )
