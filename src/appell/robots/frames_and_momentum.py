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
        """The pose of a link, (..., 4, 4), in the base, or in the frame ``relative_to``; the tip's
        or platform's without a name."""
        return self._evaluate("forward_kinematics", (q,), out, (frame, "base", relative_to))

    def poses(self, q: Numbers, *, out: Any = None) -> Array:
        """The poses of all links in the base, (..., links, 4, 4), as ``link_names`` lists them."""
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
        """J, (..., 6, nv), with velocity = J v: that of the frame's origin, then its angular
        velocity, in the base's axes.

        With ``axes="local"`` both are in the frame's own axes. ``relative_to`` names a frame that
        is taken for the base: what moves with it rests, and its axes are the base's.
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
        """dJ/dt, (..., 6, nv), of the same :meth:`jacobian`, while the speeds are v."""
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
        """The velocity of a frame's origin, then its angular velocity, (..., 6), in the base's
        axes; ``axes`` and ``relative_to`` as for :meth:`jacobian`."""
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
        """The acceleration of a frame's origin, then its angular acceleration, (..., 6), in the
        base's axes; ``axes`` and ``relative_to`` as for :meth:`jacobian`. ``spatial`` takes w x v
        from the first: Pinocchio's and Featherstone's spatial acceleration. Gravity is no part."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        name = "spatial_acceleration" if spatial else "acceleration"
        return self._evaluate(name, arguments, out, (frame, axes, relative_to))

    def operational_inertia(
        self, q: Numbers, frame: FrameName | None = None, *, inverse: bool = False, out: Any = None
    ) -> Array:
        """The inertia that a frame feels, (J M^-1 J^T)^-1, (..., 6, 6), J as :meth:`jacobian` has
        it; with ``inverse``, J M^-1 J^T itself, which is there also where the frame cannot move in
        every direction (the inertia is then infinite, and no number)."""
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
        """The centre of mass, (..., 3), in the base; with ``link``, that of the body that the link
        is part of and of all that this carries. A fixed base has no part in it."""
        return self._of_mass("centre_of_mass", (q,), out, link)

    def centre_of_mass_jacobian(
        self, q: Numbers, link: str | None = None, *, out: Any = None
    ) -> Array:
        """J, (..., 3, nv): the velocity of the same :meth:`centre_of_mass` is J v."""
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
        """The velocity of the same :meth:`centre_of_mass`, (..., 3)."""
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
        """Momentum, then angular momentum about the centre of mass, (..., 6), in the base's axes:
        the centroidal momentum. Rotors have no part in it."""
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
        """Its rate, (..., 6): the sum of all external forces, gravity among them, and of their
        moments about the centre of mass."""
        arguments = (q, one_of("v", v, qd), one_of("a", a, qdd))
        return self._evaluate("momentum_rate", arguments, out)

    def momentum_matrix(self, q: Numbers, *, out: Any = None) -> Array:
        """A, (..., 6, nv): momentum = A v."""
        return self._evaluate("momentum_matrix", (q,), out)

    def momentum_matrix_rate(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """dA/dt, (..., 6, nv), while the speeds are v."""
        return self._evaluate("momentum_matrix_rate", (q, one_of("v", v, qd)), out)

    # Regressors, besides that of the forces

    def momentum_regressor(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """Y, (..., nv, p), with M v = Y @ robot.parameters."""
        return self._evaluate("momentum_regressor", (q, one_of("v", v, qd)), out)

    def kinetic_energy_regressor(
        self, q: Numbers, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """Y, (..., p), with T = Y @ robot.parameters."""
        return self._evaluate("kinetic_energy_regressor", (q, one_of("v", v, qd)), out)

    def potential_energy_regressor(self, q: Numbers, *, out: Any = None) -> Array:
        """Y, (..., p), with U = Y @ robot.parameters."""
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
        """Y, (..., 6, 10): a body fixed to a frame, whose ten parameters about the frame's origin
        are p, needs the force and moment Y @ p there, in the frame's axes, to move with it."""
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
        """Force and moment on each moving link through its joint, (..., moving links, 6), about
        the origin of the link's frame in its axes; rotors have no part in them. The links are
        ``moving_links``."""
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
        """Force and moment on the robot from its base, (..., 6), about the base's origin in its
        axes; what the base feels is the opposite."""
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
