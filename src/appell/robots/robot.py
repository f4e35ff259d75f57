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
    """A tree of bodies that answers for its dynamics: M a + C v + g = tau.

    `appell.load`, `Robot.from_dh`, `Robot.from_urdf` and `appell.Builder` make robots.

    Args:
        model: Its numbers.

    Examples:
        >>> robot = appell.load("puma560")
        >>> q, v, a = np.zeros((3, 1000, 6))
        >>> robot.inverse_dynamics(q, v, a).shape
        (1000, 6)
    """

    model: Model

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise InputError(
                f"Robot({model!r}): expected a Model; appell.load reads one by name or from a file."
            )
        super().__init__(model, Tree(model))

    @classmethod
    def from_dh(cls, **table: Any) -> Robot:
        """A chain by Denavit and Hartenberg; every argument has one entry per joint.

        Args:
            **table: ``convention``: "modified" (Craig: T = Rx(alpha) Tx(a) Rz(theta) Tz(d), frame i
                on joint i) or "standard" (Paul: T = Rz(theta) Tz(d) Tx(a) Rx(alpha), frame i at the
                end of link i). ``alpha`` (rad), ``a``, ``d`` (m), ``theta`` (rad; zeros without
                it): constants of the joint; its coordinate is added to theta, or to d of a
                prismatic one. ``mass`` (kg), ``com`` in the link's frame (m), ``inertia`` about the
                centre of mass (kg m^2): Ixx, Iyy, Izz, or six numbers Ixx, Ixy, Iyy, Ixz, Iyz, Izz,
                or 3 x 3. And perhaps ``kinds``, a string of R and P; ``name``, ``gravity``,
                ``limits``, ``speed``, ``effort``, ``viscous``, ``coulomb``, ``rotor``, ``gear``,
                ``joint_names``, ``link_names``, ``physical``.

        Returns:
            A `Robot`.

        Examples:
            >>> bar = dict(mass=[1.0], com=[(0.5, 0, 0)], inertia=[(0, 0.08, 0.08)])
            >>> zeros = dict(alpha=[0.0], a=[0.0], d=[0.0])
            >>> appell.Robot.from_dh(convention="modified", **zeros, **bar).nv
            1
        """
        return cls(from_dh(**table))

    @classmethod
    def from_urdf(cls, source: str | os.PathLike[str], **options: Any) -> Robot:
        """A tree from a URDF file or text; its coordinates stand in the order of the file's joints.

        Args:
            source: The path of the file, or its text.
            **options: ``base``: "fixed", "free" to move in space, or "planar"; ``gravity`` in the
                world's axes, m/s^2; ``root``, another link than the file's root to stand on the
                base; ``physical=True`` refuses inertias that no body has, ``False`` is silent,
                without it they are warned of; ``mimic=False`` leaves joints that mimic others
                independent.

        Returns:
            A `Robot`.

        Examples:
            >>> path = appell.load("puma560").to_urdf(tmp / "puma.urdf")
            >>> appell.Robot.from_urdf(path, gravity=(0, 0, -1.62)).nv
            6
        """
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
        """All moving mass.

        Args:
            link: A link: the mass is then that of its body and of all that this carries.

        Returns:
            The mass, kg.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.mass(), arm.mass("link2")
            (2.0, 1.0)
        """
        return float(momentum.mass(self.model, None if link is None else self.model.frame(link)))

    @property
    def parameters(self) -> Array:
        """Per moving link m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about its frame's origin."""
        return inertial_parameters(self.model)

    def parameters_of(self, *, friction: bool = False, rotors: bool = False) -> Array:
        """The inertial ``parameters``, and perhaps those of friction and rotors.

        Args:
            friction: Whether the joints' viscous and then their Coulomb coefficients follow (of a
                robot where these are others backwards, forwards and then backwards).
            rotors: Whether there are entries for rotors also of a robot that has none.

        Returns:
            The parameters, (p,), in SI units.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.parameters_of().shape, arm.parameters_of(friction=True).shape
            ((20,), (24,))
        """
        return inertial_parameters(self.model, friction=friction, rotors=rotors)

    def parameter_names(
        self, *, friction: bool = False, rotors: bool = False, short: bool = False
    ) -> tuple[str, ...]:
        """What each of the parameters is, as "link2.Izz" and "joint2.viscous".

        Args:
            friction: As for `parameters_of`.
            rotors: As for `parameters_of`.
            short: Whether names are short: "Izz2" and "fv2".

        Returns:
            A name for each, (p,).

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.parameter_names()[:2], arm.parameter_names(short=True)[:2]
            (('link1.m', 'link1.mx'), ('m1', 'mx1'))
        """
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
        """The forces tau = M a + C v + g of the joints that give accelerations a, less what
        external forces do.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            friction: Whether tau is what the motors must give, friction included.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.
            out: An array that takes the result.

        Returns:
            tau, (..., nv), N m or N.

        Examples:
            >>> puma = appell.load("puma560")
            >>> q, v, a = np.zeros((3, 6))
            >>> puma.inverse_dynamics(q, v, a)[1:3].round(3).tolist()
            [-68.691, 0.509]
            >>> puma.inverse_dynamics(np.zeros((1000, 6)), v, a).shape
            (1000, 6)
        """
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
        """The accelerations a that forces tau of the joints give, with external forces.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            tau: Forces of the joints, (..., nv), N m or N.
            qd: Another name for ``v``.
            friction: Whether tau is what the motors give, and friction is taken from it.
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
        """The forces that friction in the joints takes: viscous v + coulomb sign(v), with the
        joints' ``coulomb_backwards`` where v is negative.

        Args:
            v: Speeds, (..., nv), rad/s or m/s.
            qd: Another name for ``v``.
            out: An array that takes the result.

        Returns:
            The forces, (..., nv), N m or N.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.with_friction(viscous={"joint1": 0.5}).friction([2, 0]).tolist()
            [1.0, 0.0]
        """
        return self._evaluate("friction", (one_of("v", v, qd),), out)

    def springs(self, q: Numbers, *, out: Any = None) -> Array:
        """The forces that springs in the joints take: stiffness (q - rest). They are part of
        `gravity`, so of all dynamics, and of the potential energy.

        Args:
            q: Coordinates, (..., nq), rad or m.
            out: An array that takes the result.

        Returns:
            The forces, (..., nv), N m or N.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.with_springs({"joint2": 40}).springs([0, 0.1]).tolist()
            [0.0, 4.0]
        """
        return self._evaluate("springs", (q,), out)

    def _friction_at(self, v: Any, arguments: tuple[Any, ...]) -> Array:
        """Friction in the dtype of the result that it is part of, whatever that of v is."""
        kind = kind_of(arguments)
        return self.friction(v) if kind_of((v,)) == kind else self.kernel("friction", dtype=kind)(v)

    def hybrid_dynamics(
        self, q: Numbers, v: Numbers, a: Numbers, tau: Numbers, given: Sequence[str] | str,
        *, forces: Forces = None, axes: str = "base",
    ) -> tuple[Array, Array]:  # fmt: skip
        """Accelerations and forces of all joints, where some are known to accelerate and the others
        to be driven.

        Of M a + b = tau the rows of the other joints give their accelerations, and then those of
        the joints given their forces.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            tau: Forces of the joints, (..., nv), N m or N.
            given: The joints whose accelerations are those in ``a``; of all others the forces are
                those in ``tau``. The rest of both is not looked at.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.

        Returns:
            a, rad/s^2 or m/s^2, and tau, N m or N, each (..., nv).

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> a, tau = arm.hybrid_dynamics([0, 0], [0, 0], [0, 0], [0, 0], given=["joint1"])
            >>> a.round(3).tolist(), tau.round(2).tolist()
            ([0.0, -14.715], [7.36, 0.0])
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
        """The robot carrying a load.

        Args:
            mass: Of the load, kg.
            com: Its centre of mass in the link's axes, (3,), m.
            inertia: About its centre of mass, in the link's axes, kg m^2: Ixx, Iyy, Izz, or six
                numbers Ixx, Ixy, Iyy, Ixz, Iyz, Izz, or 3 x 3.
            link: The link that holds it; the tip without it.

        Returns:
            A robot of the same kind.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.with_payload(2.0, com=(1, 0, 0)).gravity([0, 0]).round(3).tolist()
            [58.86, 24.525]
        """
        frame = self.model.frame(link, "link")
        load = link_inertia("payload", mass, com, inertia)
        return self._with_model(attach(self.model, load, frame))

    def with_armature(self, armature: Mapping[str, float]) -> Self:
        """The robot with other inertias felt at its joints, as MuJoCo's and Pinocchio's armature:
        those of rotors without a gear.

        Args:
            armature: By joint, kg m^2, or kg at a sliding joint.

        Returns:
            A robot of the same kind.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.with_armature({"joint1": 0.5}).mass_matrix([0, 0])[0, 0].round(3).item()
            3.167
        """
        return self._with_model(edit.with_armature(self.model, armature))

    def with_springs(self, springs: Mapping[str, Any]) -> Self:
        """The robot with other springs in its joints.

        Args:
            springs: By joint: the stiffness, N m/rad or N/m, of a spring that rests at position 0,
                or a pair of it and the position of rest, rad or m. A stiffness of zero takes a
                spring away.

        Returns:
            A robot of the same kind.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.with_springs({"joint2": (40.0, 0.3)}).springs([0, 0.4]).round(3).tolist()
            [0.0, 4.0]
        """
        return self._with_model(edit.with_springs(self.model, springs))

    def with_friction(
        self,
        *,
        viscous: Mapping[str, float] | None = None,
        coulomb: Mapping[str, float] | None = None,
        coulomb_backwards: Mapping[str, float] | None = None,
    ) -> Self:
        """The robot with other friction in its joints.

        Args:
            viscous: By joint, N m s/rad or N s/m.
            coulomb: By joint, N m or N, in both directions, or forwards only where
                ``coulomb_backwards`` is given.
            coulomb_backwards: By joint, N m or N, while the speed is negative.

        Returns:
            A robot of the same kind.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.with_friction(coulomb={"joint1": 2}).friction([-1, 0]).tolist()
            [-2.0, 0.0]
        """
        return self._with_model(
            edit.with_friction(self.model, viscous or {}, coulomb or {}, coulomb_backwards or {})
        )

    def with_parameters(
        self, parameters: Numbers, *, friction: bool = False, rotors: bool = False
    ) -> Self:
        """The robot with other inertial parameters; refused if a link can have no such inertia.

        Args:
            parameters: As `parameters_of` lists them, (p,), in SI units.
            friction: Whether they contain friction's.
            rotors: Whether they contain rotors'.

        Returns:
            A robot of the same kind.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.with_parameters(2 * arm.parameters).mass()
            4.0
        """
        given = np.asarray(parameters, dtype=float)
        changed = with_parameters(self.model, given, friction=friction, rotors=rotors)
        return self._with_model(changed)

    def locked(self, positions: Mapping[str, Any]) -> Robot:
        """The robot with joints held: they are no joints any more, and the bodies they join are
        one. What mimics a locked joint is locked with it; positions beyond limits are warned of.

        Args:
            positions: By joint, rad or m; of a ball joint a quaternion, of a free base ("free") a
                position and a quaternion.

        Returns:
            A `Robot` with fewer joints.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.locked({"joint2": 0.5}).joint_names
            ('joint1',)
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
        """The robot with another one's root fixed to a link: a tool, a hand, a load with joints.
        Gravity and base are this robot's; where the other hangs on the tip, its tip is the whole's.

        Args:
            other: A robot without loops.
            link: The link that carries it; the tip without it.
            pose: Where the other's root is in the link's axes, m and rad: `appell.Frame` lists the
                ways to write it.
            prefix: Before the names of the other's links and joints.

        Returns:
            A `Robot` with the joints of both.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm.attached(arm, "link2", (1, 0, 0), prefix="hand_").joint_names
            ('joint1', 'joint2', 'hand_joint1', 'hand_joint2')
        """
        if not is_tree(other):
            raise InputError(f"attached({other!r}): expected a robot without loops.")
        model = self._tree("attached")
        return Robot(edit.attached(model, other.model, link, pose, prefix=prefix))

    def with_frame(self, name: str, link: str, pose: Pose = None) -> Robot:
        """The robot with a named frame fixed to a link. It is one of ``link_names`` then, and can
        be named wherever a link is, as ``frame`` or among the points that touch walls. Where it
        need not have a name, give ``appell.Frame(link, pose)`` for ``frame``.

        Args:
            name: Of the frame.
            link: The link that carries it.
            pose: Where it is in the link's axes, m and rad: `appell.Frame` lists the ways to write
                it.

        Returns:
            A `Robot`.

        Examples:
            >>> arm = appell.load("planar_chain", n=2)
            >>> arm = arm.with_frame("hand", "link2", (1, 0, 0))
            >>> arm.forward_kinematics([0, 0], "hand")[0, 3].item()
            2.0
        """
        return Robot(edit.with_frame(self._tree("with_frame"), name, link, pose))

    def _tree(self, method: str) -> Model:
        """The model, of a robot without loops."""
        if not is_tree(self):
            raise InputError(
                f"'{self.name}' has loops: {method} changes a tree; change it before it is closed."
            )
        return self.model

    def to_urdf(self, path: str | os.PathLike[str]) -> Path:
        """Write the robot to a .urdf file, which ``appell.load`` reads back to the same dynamics. A
        file that is there is replaced.

        Args:
            path: Of the file.

        Returns:
            The path.

        Examples:
            >>> puma = appell.load("puma560")
            >>> appell.load(puma.to_urdf(tmp / "puma.urdf")).nv
            6
        """
        from appell.model.description.urdf_writer import write_urdf

        if self.nv != self.model.nv:
            raise InputError(f"'{self.name}' has loops, which a URDF file cannot say.")
        return write_urdf(self.model, path)
