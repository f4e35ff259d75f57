"""How a robot's frames and its mass move: methods that every robot answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import InputError
from appell.model.model import FrameName
from appell.robots.kernels import Kernels

Array = npt.NDArray[np.floating[Any]]
Numbers = npt.ArrayLike


class FramesAndMomentum(Kernels):
    """Kinematics of frames, centre of mass, momentum, and the forces that joints transmit."""

    # Frames

    def forward_kinematics(
        self,
        q: Numbers,
        frame: FrameName | None = None,
        *,
        relative_to: FrameName | None = None,
        out: Any = None,
    ) -> Array:
        """The pose of a frame in the base.

        Args:
            q: Coordinates, (..., nq), rad or m.
            frame: A link's name, or an `appell.Frame`; the tip without it.
            relative_to: A frame to take for the base.
            out: An array that takes the result.

        Returns:
            The pose, (..., 4, 4): a rotation, no unit, and a position, m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.forward_kinematics([0, 0], "link2")[:3, 3].round(3).tolist()
            [1.0, 0.0, 0.0]
        """
        return self._evaluate("forward_kinematics", (q,), out, (frame, "base", relative_to))

    def poses(self, q: Numbers, *, out: Any = None) -> Array:
        """The poses of all links in the base, as ``link_names`` lists them.

        Args:
            q: Coordinates, (..., nq), rad or m.
            out: An array that takes the result.

        Returns:
            The poses, (..., links, 4, 4): rotations, no unit, and positions, m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.poses([0, 0]).shape, arm.link_names
            ((3, 4, 4), ('base', 'link1', 'link2'))
        """
        return self._evaluate("poses", (q,), out)

    def jacobian(
        self,
        q: Numbers,
        frame: FrameName | None = None,
        *,
        axes: str = "base",
        relative_to: FrameName | None = None,
        out: Any = None,
    ) -> Array:
        """The matrix J with velocity = J v: that of the frame's origin, then its angular velocity,
        in the base's axes.

        What moves with the frame ``relative_to`` rests, and its axes are the base's.

        Args:
            q: Coordinates, (..., nq), rad or m.
            frame: A link's name, or an `appell.Frame`; the tip without it.
            axes: Of the result: "base", or "local" for the frame's own.
            relative_to: A frame to take for the base.
            out: An array that takes the result.

        Returns:
            J, (..., 6, nv), m/rad or no unit, then no unit or rad/m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.jacobian([0, 0], "link2")[[1, 5]].round(3).tolist()
            [[1.0, 0.0], [1.0, 1.0]]
        """
        return self._evaluate("jacobian", (q,), out, (frame, axes, relative_to))

    def jacobian_rate(
        self,
        q: Numbers,
        v: Numbers | None = None,
        frame: FrameName | None = None,
        *,
        qd: Numbers | None = None,
        axes: str = "base",
        relative_to: FrameName | None = None,
        out: Any = None,
    ) -> Array:
        """The rate dJ/dt of the same `jacobian` while the speeds are v.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            frame: A link's name, or an `appell.Frame`; the tip without it.
            qd: Another name for ``v``.
            axes: Of the result: "base", or "local" for the frame's own.
            relative_to: A frame to take for the base.
            out: An array that takes the result.

        Returns:
            dJ/dt, (..., 6, nv), in the units of J per s.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> (arm.jacobian_rate([0, 1], [1, 0], "link2") @ [1, 0])[0].round(3).item()
            -1.0
        """
        arguments = (q, one_of("v", v, qd))
        return self._evaluate("jacobian_rate", arguments, out, (frame, axes, relative_to))

    def velocity(
        self,
        q: Numbers,
        v: Numbers | None = None,
        frame: FrameName | None = None,
        *,
        qd: Numbers | None = None,
        axes: str = "base",
        relative_to: FrameName | None = None,
        out: Any = None,
    ) -> Array:
        """The velocity of a frame's origin, then its angular velocity, in the base's axes.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            frame: A link's name, or an `appell.Frame`; the tip without it.
            qd: Another name for ``v``.
            axes: Of the result: "base", or "local" for the frame's own.
            relative_to: A frame to take for the base.
            out: An array that takes the result.

        Returns:
            The velocity, (..., 6), three of m/s and three of rad/s.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.velocity([0, 0], [1, 0], "link2")[[1, 5]].round(3).tolist()
            [1.0, 1.0]
        """
        arguments = (q, one_of("v", v, qd))
        return self._evaluate("velocity", arguments, out, (frame, axes, relative_to))

    def acceleration(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        frame: FrameName | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        axes: str = "base",
        relative_to: FrameName | None = None,
        spatial: bool = False,
        out: Any = None,
    ) -> Array:
        """The acceleration of a frame's origin, then its angular acceleration, in the base's axes.
        Gravity is no part of it.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            frame: A link's name, or an `appell.Frame`; the tip without it.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            axes: Of the result: "base", or "local" for the frame's own.
            relative_to: A frame to take for the base.
            spatial: Whether w x v is taken from the first: Pinocchio's and Featherstone's spatial
                acceleration.
            out: An array that takes the result.

        Returns:
            The acceleration, (..., 6), three of m/s^2 and three of rad/s^2.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.acceleration([0, 0], [1, 0], [0, 0], "link2")[0].round(3).item()
            -1.0
        """
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        name = "spatial_acceleration" if spatial else "acceleration"
        return self._evaluate(name, arguments, out, (frame, axes, relative_to))

    def operational_inertia(
        self, q: Numbers, frame: FrameName | None = None, *, inverse: bool = False, out: Any = None
    ) -> Array:
        """The inertia that a frame feels, (J M^-1 J^T)^-1, with J as `jacobian` has it.

        Args:
            q: Coordinates, (..., nq), rad or m.
            frame: A link's name, or an `appell.Frame`; the tip without it.
            inverse: Whether J M^-1 J^T itself is asked for, which is there also where the frame
                cannot move in every direction (the inertia is then infinite, and no number).
            out: An array that takes the result.

        Returns:
            The inertia, (..., 6, 6), kg, kg m and kg m^2; its inverse in the inverse units.

        Examples:
            >>> puma = appell.load("puma560")
            >>> puma.operational_inertia([0, 1, 0, 1, 1, 0]).shape
            (6, 6)
        """
        name = "operational_mobility" if inverse else "operational_inertia"
        if not inverse and (self.system.size("n") < 6 or name not in self.system.quantities):
            raise InputError(
                f"operational_inertia of '{self.system.name}': its {self.system.size('n')} speeds "
                "cannot move a frame in all six directions, so its inertia is infinite in some; "
                "ask for inverse=True, and invert the part that you need."
            )
        return self._evaluate(name, (q,), out, (frame,))

    # Mass

    def centre_of_mass(self, q: Numbers, link: str | None = None, *, out: Any = None) -> Array:
        """The centre of mass in the base's axes. A fixed base has no part in it.

        Args:
            q: Coordinates, (..., nq), rad or m.
            link: A link: the centre is then that of its body and of all that this carries.
            out: An array that takes the result.

        Returns:
            The place, (..., 3), m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.centre_of_mass([0, 0])[0].round(3).item()
            1.0
        """
        return self._of_mass("centre_of_mass", (q,), out, link)

    def centre_of_mass_jacobian(
        self, q: Numbers, link: str | None = None, *, out: Any = None
    ) -> Array:
        """The matrix J by which the velocity of the same `centre_of_mass` is J v.

        Args:
            q: Coordinates, (..., nq), rad or m.
            link: A link: the centre is then that of its body and of all that this carries.
            out: An array that takes the result.

        Returns:
            J, (..., 3, nv), m/rad or no unit.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.centre_of_mass_jacobian([0, 0])[1].round(3).tolist()
            [1.0, 0.25]
        """
        return self._of_mass("centre_of_mass_jacobian", (q,), out, link)

    def centre_of_mass_velocity(
        self,
        q: Numbers,
        v: Numbers | None = None,
        link: str | None = None,
        *,
        qd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """The velocity of the same `centre_of_mass`.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            link: A link: the centre is then that of its body and of all that this carries.
            qd: Another name for ``v``.
            out: An array that takes the result.

        Returns:
            The velocity, (..., 3), m/s.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.centre_of_mass_velocity([0, 0], [1, 0])[1].round(3).item()
            1.0
        """
        return self._of_mass("centre_of_mass_velocity", (q, one_of("v", v, qd)), out, link)

    def _of_mass(
        self, quantity: str, arguments: tuple[Any, ...], out: Any, link: str | None
    ) -> Array:
        if link is None:
            return self._evaluate(quantity, arguments, out)
        if f"subtree_{quantity}" not in self.system.quantities:
            raise InputError(
                f"{quantity} of '{self.system.name}': a link of it carries no others; leave out "
                f"link={link!r}."
            )
        return self._evaluate(f"subtree_{quantity}", arguments, out, (link,))

    # Momentum

    def momentum(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """The momentum, then the angular momentum about the centre of mass, in the base's axes: the
        centroidal momentum. Rotors have no part in it.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            qd: Another name for ``v``.
            out: An array that takes the result.

        Returns:
            The momentum, (..., 6), three of N s and three of N m s.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.momentum([0, 0], [1, 0])[[1, 5]].round(3).tolist()
            [2.0, 0.667]
        """
        return self._evaluate("momentum", (q, one_of("v", v, qd)), out)

    def momentum_rate(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """The rate of the `momentum`: the sum of all external forces, gravity among them, and of
        their moments about the centre of mass.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            out: An array that takes the result.

        Returns:
            The rate, (..., 6), three of N and three of N m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.momentum_rate([0, 0], [0, 0], [1, 0])[[1, 5]].round(3).tolist()
            [2.0, 0.667]
        """
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._evaluate("momentum_rate", arguments, out)

    def momentum_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """The matrix A with `momentum` = A v.

        Args:
            q: Coordinates, (..., nq), rad or m.
            out: An array that takes the result.

        Returns:
            A, (..., 6, nv), in units of the momentum per unit of v.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> np.allclose(arm.momentum_matrix([0, 1]) @ [1, 0], arm.momentum([0, 1], [1, 0]))
            True
        """
        return self._evaluate("momentum_matrix", (q,), out)

    def momentum_matrix_rate(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """The rate dA/dt of the `momentum_matrix` while the speeds are v.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            qd: Another name for ``v``.
            out: An array that takes the result.

        Returns:
            dA/dt, (..., 6, nv), in the units of A per s.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.momentum_matrix_rate([0, 1], [1, 0]).shape
            (6, 2)
        """
        return self._evaluate("momentum_matrix_rate", (q, one_of("v", v, qd)), out)

    # Regressors, besides that of the forces

    def momentum_regressor(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """The matrix Y with M v = Y @ robot.parameters.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            qd: Another name for ``v``.
            out: An array that takes the result.

        Returns:
            Y, (..., nv, p), N m s or N s per unit of the parameter.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.momentum_regressor([0, 1], [1, 0]).shape
            (2, 20)
        """
        return self._evaluate("momentum_regressor", (q, one_of("v", v, qd)), out)

    def kinetic_energy_regressor(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """The row Y with kinetic energy T = Y @ robot.parameters.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            qd: Another name for ``v``.
            out: An array that takes the result.

        Returns:
            Y, (..., p), J per unit of the parameter.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> Y = arm.kinetic_energy_regressor([0, 1], [1, 0])
            >>> np.allclose(Y @ arm.parameters, arm.kinetic_energy([0, 1], [1, 0]))
            True
        """
        return self._evaluate("kinetic_energy_regressor", (q, one_of("v", v, qd)), out)

    def potential_energy_regressor(self, q: Numbers, *, out: Any = None) -> Array:
        """The row Y with potential energy U = Y @ robot.parameters.

        Args:
            q: Coordinates, (..., nq), rad or m.
            out: An array that takes the result.

        Returns:
            Y, (..., p), J per unit of the parameter.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> Y = arm.potential_energy_regressor([0, 1])
            >>> np.allclose(Y @ arm.parameters, arm.potential_energy([0, 1]))
            True
        """
        return self._evaluate("potential_energy_regressor", (q,), out)

    def body_regressor(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        frame: FrameName | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """The matrix Y by which a body that is fixed to a frame, and whose ten parameters about its
        origin are p, needs the force and moment Y @ p there, in the frame's axes, to move with it.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            frame: A link's name, or an `appell.Frame`; the tip without it.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            out: An array that takes the result.

        Returns:
            Y, (..., 6, 10), N and N m per unit of the parameter.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.body_regressor([0, 1], [1, 0], [0, 0], "link2").shape
            (6, 10)
        """
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._evaluate("body_regressor", arguments, out, (frame,))

    # What is transmitted

    def joint_wrenches(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """The force and the moment on each of the ``moving_links`` through its joint, about the
        origin of the link's frame, in its axes. Rotors have no part in them.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            out: An array that takes the result.

        Returns:
            The wrenches, (..., moving links, 6), three of N and three of N m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.joint_wrenches([0, 0], [0, 0], [0, 0])[:, 1].round(3).tolist()
            [19.62, 9.81]
        """
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._transmitted("joint_wrenches", arguments, out)

    def base_wrench(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        out: Any = None,
    ) -> Array:
        """The force and the moment on the robot from its base, about the base's origin in its axes;
        what the base feels is the opposite.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            out: An array that takes the result.

        Returns:
            The wrench, (..., 6), three of N and three of N m.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.base_wrench([0, 0], [0, 0], [0, 0])[[1, 5]].round(3).tolist()
            [19.62, 19.62]
        """
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._transmitted("base_wrench", arguments, out)

    def _transmitted(self, quantity: str, arguments: tuple[Any, ...], out: Any) -> Array:
        if quantity not in self.system.quantities:
            loops = hasattr(self, "reactions")
            raise InputError(
                f"{quantity}: '{self.system.name}' has loops or wheels, which share the load; its "
                "motion alone does not tell how."
                + (" reactions(q, v, tau) are those in its loops." if loops else "")
            )
        return self._evaluate(quantity, arguments, out)


def one_of(name: str, value: Any, alias: Any) -> Any:
    """An argument that goes by two names."""
    if alias is None:
        return value
    if value is not None:
        other = {"v": "qd", "a": "qdd"}[name]
        raise InputError(f"{name} is given twice, as {name} and as {other}; leave one out.")
    return alias
