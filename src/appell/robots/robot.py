"""Robot: a model and its compiled equations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from appell.equations.motion import momentum
from appell.errors import InputError
from appell.model import edit
from appell.model.build import attach
from appell.model.description.dh import from_dh, link_inertia
from appell.model.model import Model
from appell.model.parameters import inertial_parameters, parameter_names, with_parameters
from appell.model.place import Pose
from appell.robots.contact_dynamics import WithContacts
from appell.robots.dynamics import Array, Forces, Numbers, one_of
from appell.robots.kernels import kind_of
from appell.robots.named_joints import speeds_named
from appell.robots.system import Tree

if TYPE_CHECKING:
    from typing_extensions import Self


__all__ = ["Array", "Numbers", "Robot", "is_tree"]


def is_tree(robot: Any) -> TypeGuard[Robot]:
    """Whether something is a robot of joints in a tree, without loops."""
    return isinstance(getattr(robot, "system", None), Tree)


class Robot(WithContacts):
    """A tree of bodies that answers for its dynamics: M a + C v + g = tau."""

    model: Model

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise InputError(
                f"Robot({model!r}): expected a Model; appell.load reads one by name or from a file."
            )
        super().__init__(model, Tree(model))

    @classmethod
    def from_dh(cls, **table: Any) -> Robot:
        """A chain by Denavit and Hartenberg: see :func:`appell.model.description.dh.from_dh`."""
        return cls(from_dh(**table))

    @classmethod
    def from_urdf(cls, source: str | os.PathLike[str], **options: Any) -> Robot:
        """A tree from a URDF file or text: see :func:`appell.model.description.urdf.read_urdf`."""
        from appell.model.description.urdf import read_urdf

        return cls(read_urdf(source, **options))

    # What it is

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The independent joints, in the order of the coordinates."""
        return tuple(joint.name for joint in self.model.joints)

    @property
    def joint_kinds(self) -> tuple[str, ...]:
        """The kind of each joint, in the same order."""
        return tuple(joint.kind for joint in self.model.joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links, those behind fixed joints too: each is a frame."""
        return tuple(frame.name for frame in self.model.frames)

    @property
    def moving_links(self) -> tuple[str, ...]:
        """The links that a joint carries, in the order of ``parameters`` and of joint_wrenches;
        links fixed to one of them are part of it."""
        return tuple(body.name for body in self.model.links.values())

    def mass(self, link: str | None = None) -> float:
        """All moving mass, in kg; with ``link``, that of the body that the link is part of and of
        all that this carries."""
        return float(momentum.mass(self.model, None if link is None else self.model.frame(link)))

    @property
    def parameters(self) -> Array:
        """Per moving link m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about its frame's origin."""
        return inertial_parameters(self.model)

    def parameters_of(self, *, friction: bool = False, rotors: bool = False) -> Array:
        """``parameters``; with ``rotors`` also a robot's that has none, and with ``friction`` the
        joints' viscous and then their Coulomb coefficients after them (of a robot where these are
        others backwards, forwards and then backwards)."""
        return inertial_parameters(self.model, friction=friction, rotors=rotors)

    def parameter_names(
        self, *, friction: bool = False, rotors: bool = False, short: bool = False
    ) -> tuple[str, ...]:
        """What each of them is, as "link2.Izz" and "joint2.viscous"; short, "Izz2" and "fv2"."""
        return parameter_names(self.model, friction=friction, rotors=rotors, short=short)

    def __repr__(self) -> str:
        return f"<Robot {self.name}: {self.nv} joints, {len(self.link_names)} links>"

    def __str__(self) -> str:
        """A table of joints with their kinds and limits, and of the links they carry."""
        from appell.model.model_table import model_table

        return model_table(self.model) if is_tree(self) else repr(self)

    # Dynamics

    def inverse_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        friction: bool = False,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> Array:
        """Joint forces tau = M a + C v + g, (..., nv); with ``friction``, what the motors must
        give: friction(v) besides; with external ``forces`` (see :meth:`bias`), less what these
        do."""
        v, a = one_of("v", v, qd), one_of("a", a, qdd)
        # Before out, which may be v, is written.
        taken = self._friction_at(v, (q, v, a)) if friction else None
        tau = self._forced("inverse_dynamics", (q, v, a), out, forces, axes)
        return tau if taken is None else np.add(tau, taken, out=out)

    def forward_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        friction: bool = False,
        forces: Forces = None,
        axes: str = "base",
        out: Any = None,
    ) -> Array:
        """Accelerations a, (..., nv), that joint forces tau give, with external ``forces`` (see
        :meth:`bias`); with ``friction``, tau is what the motors give and friction(v) is taken from
        it."""
        v = one_of("v", v, qd)
        if friction:
            kernel = self.kernel("forward_dynamics")
            try:
                taken = self._friction_at(v, (q, v, tau))
                tau = np.subtract(tau, taken)  # type: ignore[arg-type]  # None is explained
            except (TypeError, ValueError) as problem:
                raise kernel.explained([q, v, tau], out, problem) from None
        return self._forced("forward_dynamics", (q, v, tau), out, forces, axes)

    def friction(
        self, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """What the joints' friction takes, (..., nv): viscous v + coulomb sign(v), with the joints'
        ``coulomb_backwards`` where v is negative."""
        return self._evaluate("friction", (one_of("v", v, qd),), out)

    def springs(self, q: Numbers, *, out: Any = None) -> Array:
        """What the joints' springs take, (..., nv): stiffness (q - rest). They are part of
        :meth:`gravity`, so of all dynamics, and of the potential energy."""
        return self._evaluate("springs", (q,), out)

    def _friction_at(self, v: Any, arguments: tuple[Any, ...]) -> Array:
        """Friction in the dtype of the result that it is part of, whatever that of v is."""
        kind = kind_of(arguments)
        return self.friction(v) if kind_of((v,)) == kind else self.kernel("friction", dtype=kind)(v)

    def hybrid_dynamics(
        self, q: Numbers, v: Numbers, a: Numbers, tau: Numbers, given: Sequence[str] | str,
        *, forces: Forces = None, axes: str = "base",
    ) -> tuple[Array, Array]:  # fmt: skip
        """a and tau, each (..., nv), where the joints ``given`` have accelerations a and all others
        forces tau; the rest of both arguments is not looked at.

        Of M a + b = tau the rows of the other joints give their accelerations, and then those of
        the joints given their forces.
        """
        if not is_tree(self):
            raise InputError(
                f"'{self.name}' has loops: hybrid_dynamics is for trees; take forward_dynamics or "
                "inverse_dynamics, which keep the loops closed."
            )
        what = f"hybrid_dynamics of '{self.name}': given"
        known = np.zeros(self.nv, dtype=bool)
        known[speeds_named(what, self.joint_names, given)] = True
        M, b = self.mass_matrix(q), self.bias(q, v, forces=forces, axes=axes)
        moving = np.where(known, a, 0.0)
        rest = np.where(known, 0.0, tau) - b - (M @ moving[..., None])[..., 0]
        inner = M[..., ~known, :][..., ~known]
        moving = np.broadcast_to(moving, rest.shape).copy()
        moving[..., ~known] = np.linalg.solve(inner, rest[..., ~known, None])[..., 0]
        return moving, np.where(known, (M @ moving[..., None])[..., 0] + b, tau)

    # Others like it

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
        link: str | None = None,
    ) -> Self:
        """The robot carrying a load, whose centre of mass and inertia about it are given in the
        frame of the link that holds it (the tip without a name)."""
        frame = self.model.frame(link, "link")
        load = link_inertia("payload", mass, com, inertia)
        return self._with_model(attach(self.model, load, frame))

    def with_armature(self, armature: Mapping[str, float]) -> Self:
        """The robot with other inertias felt at its joints, by name, as MuJoCo's and Pinocchio's
        armature: those of rotors without a gear, in kg m^2, or kg at a sliding joint."""
        return self._with_model(edit.with_armature(self.model, armature))

    def with_springs(self, springs: Mapping[str, Any]) -> Self:
        """The robot with other springs in its joints, by name: ``{"elbow": 40.0}`` is the stiffness
        of one that rests at position 0, in N m/rad (N/m of a sliding joint), and ``{"elbow":
        (40.0, 0.3)}`` one that rests at 0.3. A stiffness of zero takes a spring away."""
        return self._with_model(edit.with_springs(self.model, springs))

    def with_friction(
        self,
        *,
        viscous: Mapping[str, float] | None = None,
        coulomb: Mapping[str, float] | None = None,
        coulomb_backwards: Mapping[str, float] | None = None,
    ) -> Self:
        """The robot with other friction in its joints, by name: ``viscous`` in N m s/rad (N s/m of
        a sliding joint), ``coulomb`` in N m (N) in both directions, or where
        ``coulomb_backwards`` is given forwards only, and that while the speed is negative."""
        return self._with_model(
            edit.with_friction(self.model, viscous or {}, coulomb or {}, coulomb_backwards or {})
        )

    def with_parameters(
        self, parameters: Numbers, *, friction: bool = False, rotors: bool = False
    ) -> Self:
        """The robot with other inertial parameters, given as :meth:`parameters_of` lists them;
        refused if a link can have no such inertia."""
        given = np.asarray(parameters, dtype=float)
        changed = with_parameters(self.model, given, friction=friction, rotors=rotors)
        return self._with_model(changed)

    def locked(self, positions: Mapping[str, Any]) -> Robot:
        """The robot with joints held at positions, ``{"elbow": 0.5}``: they are no joints any more,
        and the bodies they join are one. What mimics a locked joint is locked with it; positions
        beyond limits are warned of. A ball joint's position is a quaternion, that of a free base
        ("free") a position and a quaternion.
        """
        return Robot(edit.locked(self._tree("locked"), positions))

    def attached(
        self,
        other: Robot,
        link: str | None = None,
        pose: Pose = None,
        *,
        prefix: str = "",
    ) -> Robot:
        """The robot with another one's root fixed to a link (the tip without a name), at a pose in
        the link's axes: a tool, a hand, a load with joints. Names of the other's links and joints
        get the ``prefix``. Gravity and base are this robot's; where the other hangs on the tip, its
        tip is the whole's. :func:`~appell.model.place.pose_of` lists the ways to write a pose."""
        if not is_tree(other):
            raise InputError(f"attached({other!r}): expected a robot without loops.")
        model = self._tree("attached")
        return Robot(edit.attached(model, other.model, link, pose, prefix=prefix))

    def with_frame(self, name: str, link: str, pose: Pose = None) -> Robot:
        """The robot with a frame of that name fixed to a link, at a pose in the link's axes. It is
        one of ``link_names`` then, and can be named wherever a link is, as ``frame`` or among the
        points that touch walls. Where it need not have a name, give ``appell.Frame(link, pose)``
        for ``frame``."""
        return Robot(edit.with_frame(self._tree("with_frame"), name, link, pose))

    def _tree(self, method: str) -> Model:
        """The model, of a robot without loops."""
        if not is_tree(self):
            raise InputError(
                f"'{self.name}' has loops: {method} changes a tree; change it before it is closed."
            )
        return self.model

    def to_urdf(self, path: str | os.PathLike[str]) -> Path:
        """Write the robot to a .urdf file, which ``appell.load`` reads back to the same dynamics;
        see :mod:`appell.model.description.urdf_writer`. A file that is there is replaced."""
        from appell.model.description.urdf_writer import write_urdf

        if self.nv != self.model.nv:
            raise InputError(f"'{self.name}' has loops, which a URDF file cannot say.")
        return write_urdf(self.model, path)
