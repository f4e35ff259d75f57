"""Contacts as inputs: dynamics, impulses and inverse dynamics of robots that touch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.errors import InputError
from appell.given import is_number
from appell.model.place import Place
from appell.robots.contact_cones import Cones, within
from appell.robots.contact_forces import repeated
from appell.robots.contact_frames import ROWS, Contact, check_friction, listed
from appell.robots.contact_rows import Touching, TouchingDynamics, joined
from appell.robots.dynamics import Array, Forces, Numbers, one_of
from appell.robots.kernels import kind_of
from appell.robots.named_joints import speeds_named
from appell.robots.system import Tree

Contacts = Sequence[str | Place | Contact]


class ContactDynamics(NamedTuple):
    """Accelerations (..., nv), and the force of each contact (..., 3), or with its moment (..., 6),
    on the robot at the contact's origin, in the base's axes."""

    acceleration: Array
    forces: tuple[Array, ...]


class ContactDerivatives(NamedTuple):
    """Derivatives of accelerations, (..., nv, nv), and of each contact's force, (..., 3 or 6, nv),
    by q (a small displacement, measured as speeds are), v and tau."""

    da_dq: Array
    da_dv: Array
    da_dtau: Array
    df_dq: tuple[Array, ...]
    df_dv: tuple[Array, ...]
    df_dtau: tuple[Array, ...]


class ContactImpulse(NamedTuple):
    """Speeds after an impact, (..., nv), and the impulse of each contact, (..., 3 or 6), N s and
    N m s, in the base's axes."""

    velocity: Array
    impulses: tuple[Array, ...]


class ContactTorques(NamedTuple):
    """Joint forces, (..., nv), zero where no motor is; the force of each contact, (..., 3 or 6);
    and the force that is missing where no motor is, (..., passive joints): zero, but for rounding,
    where contacts can do it."""

    tau: Array
    forces: tuple[Array, ...]
    residual: Array


class WithContacts(TouchingDynamics):
    """Methods of a tree that touches its surroundings.

    ``contacts`` are links, ``appell.Frame``s (both points) or `appell.Contact`. They may
    change from call to call: kernels know the links only, and take points on them as numbers.
    """

    def contact_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        contacts: Contacts,
        qd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
        kp: float = 0.0,
        kd: float = 0.0,
        damping: float = 0.0,
    ) -> ContactDynamics:
        """Accelerations and contact forces while contacts hold: M a + C v + g = tau + J^T f, and
        contacts do not accelerate.

        What moves stays in motion. Contacts can pull: what may only push, or slide, is for
        ``appell.simulate``. Contacts may repeat each other, as the four corners of a foot do:
        accelerations are the same, and forces the smallest that hold.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            tau: Forces of the joints, (..., nv), N m or N.
            contacts: Links or `appell.Frame`s, which hold as points, or `appell.Contact`s.
            qd: Another name for ``v``.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.
            kp: Pulls a contact to its foothold, 1/s^2: acceleration = -kd velocity - kp (pose -
                foothold), where a rotation counts as its axis times its angle.
            kd: Slows a contact's velocity, 1/s.
            damping: Lets contacts give way, in (m/s^2)/N.

        Returns:
            A `ContactDynamics`: accelerations (..., nv), rad/s^2 or m/s^2, and the force of each
            contact, N and N m.

        Examples:
            >>> legged = appell.load("free_chain", n=1)
            >>> q, still = legged.neutral(), np.zeros(legged.nv)
            >>> held = legged.contact_dynamics(q, still, still, contacts=["P0"])
            >>> np.allclose(legged.acceleration(q, still, held.acceleration, "P0")[:3], 0)
            True
        """
        given, back = _in_float64(q, one_of("v", v, qd), tau)
        found = self._listed("contact_dynamics", contacts, kp=kp, kd=kd, damping=damping)
        Kx = self._free("contact_dynamics", given, forces, axes)
        if found and not (kp or kd):
            held = self._at_once(found, given[0], given[1], Kx, damping)
            if held is not None:
                return ContactDynamics(back(held[0]), tuple(map(back, held[1])))
        touching = self._touching("contact_dynamics", found, given[0], given[1], kp, kd)
        a, f = self._held(touching, Kx[..., -1:], Kx[..., :-1], damping)
        return ContactDynamics(back(a[..., 0]), tuple(back(y[..., 0]) for y in touching.split(f)))

    def contact_dynamics_derivatives(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        contacts: Contacts,
        qd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
        kp: float = 0.0,
        kd: float = 0.0,
        damping: float = 0.0,
    ) -> ContactDerivatives:
        """The derivatives of `contact_dynamics` by q, v and tau; footholds and external wrenches
        stay as they are.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            tau: Forces of the joints, (..., nv), N m or N.
            contacts: Links or `appell.Frame`s, which hold as points, or `appell.Contact`s.
            qd: Another name for ``v``.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.
            kp: Pulls a contact to its foothold, 1/s^2: acceleration = -kd velocity - kp (pose -
                foothold), where a rotation counts as its axis times its angle.
            kd: Slows a contact's velocity, 1/s.
            damping: Lets contacts give way, in (m/s^2)/N.

        Returns:
            A `ContactDerivatives`, in units of accelerations and forces per unit of q, v and tau.

        Examples:
            >>> legged = appell.load("free_chain", n=1)
            >>> q, still = legged.neutral(), np.zeros(legged.nv)
            >>> by = legged.contact_dynamics_derivatives(q, still, still, contacts=["P0"])
            >>> by.da_dq.shape, by.df_dtau[0].shape
            ((6, 6), (3, 6))
        """
        (q, v, tau), back = _in_float64(q, one_of("v", v, qd), tau)
        method = "contact_dynamics_derivatives"
        found = self._listed(method, contacts, kp=kp, kd=kd, damping=damping)
        Kx = self._free(method, (q, v, tau), forces, axes)
        touching = self._touching(method, found, q, v, kp, kd)
        K = Kx[..., :-1]
        a, f = self._held(touching, Kx[..., -1:], K, damping)
        # M da - J^T df = -d(M a + C v + g - J^T f), J da = -d(J a + dJ v), at fixed a and f.
        by_q, by_v, _ = self._forced(
            "inverse_dynamics_derivatives", (q, v, a[..., 0]), None, forces, axes
        )
        rows_q, rows_v = self._changes(touching, q, v, a[..., 0], kp, kd)
        by_q = by_q - self._loads(touching, q, f)
        n = self.nv
        y = K.swapaxes(-1, -2) @ joined([-by_q, -by_v, np.eye(n)], -1)
        changes = joined([rows_q, rows_v, np.zeros_like(touching.J)], -1)
        da, df = self._held(touching, y, K, damping, changes)
        if not damping and (N := repeated(touching.J)) is not None:
            more = self._shared_changes(touching, N, K, q, a, f)
            df[..., :n] += more
            da[..., :n] += K @ (K.swapaxes(-1, -2) @ (touching.J.swapaxes(-1, -2) @ more))
        by = tuple(back(da[..., k : k + n]) for k in (0, n, 2 * n))
        parts = [tuple(back(y[..., k : k + n]) for y in touching.split(df)) for k in (0, n, 2 * n)]
        return ContactDerivatives(*by, *parts)

    def contact_impulse(
        self,
        q: Numbers,
        v: Numbers | None = None,
        *,
        contacts: Contacts,
        restitution: float = 0.0,
        qd: Numbers | None = None,
        damping: float = 0.0,
    ) -> ContactImpulse:
        """Speeds after an impact of contacts, and their impulses p: M (v+ - v) = J^T p and J v+ =
        -restitution J v, in every direction that a contact holds. Contacts that repeat each other
        share the smallest impulses.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            contacts: Links or `appell.Frame`s, which hold as points, or `appell.Contact`s.
            restitution: From 0 to 1, no unit.
            qd: Another name for ``v``.
            damping: Lets contacts give way, in (m/s^2)/N.

        Returns:
            A `ContactImpulse`: speeds (..., nv), rad/s or m/s, and the impulse of each contact, N s
            and N m s.

        Examples:
            >>> legged = appell.load("free_chain", n=1)
            >>> q, still = legged.neutral(), np.zeros(legged.nv)
            >>> after = legged.contact_impulse(q, still + 1, contacts=["P0"])
            >>> after.velocity.shape, after.impulses[0].shape
            ((6,), (3,))
        """
        given, back = _in_float64(q, one_of("v", v, qd))
        if not is_number(restitution) or not 0 <= restitution <= 1:
            raise InputError(f"restitution = {restitution!r}; expected a number from 0 to 1.")
        still = np.zeros(self.nv)
        found = self._listed("contact_impulse", contacts, damping=damping)
        K = self._free("contact_impulse", (*given, still))[..., :-1]
        touching = self._touching("contact_impulse", found, *given)
        before = np.asarray(given[1], dtype=float)
        x = np.linalg.solve(K, before[..., None])
        _, p = self._held(touching, x, K, damping, np.zeros_like(touching.drift))
        p = (1 + restitution) * p
        jump = K @ (K.swapaxes(-1, -2) @ (touching.J.swapaxes(-1, -2) @ p))
        impulses = tuple(back(y[..., 0]) for y in touching.split(p))
        return ContactImpulse(back(before + jump[..., 0]), impulses)

    def contact_inverse_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        contacts: Contacts,
        mu: float | None = None,
        passive: Iterable[str] | None = None,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        forces: Forces = None,
        axes: str = "base",
    ) -> ContactTorques:
        """Joint forces and contact forces that give accelerations a, where some joints have no
        motor: M a + C v + g = tau + J^T f with tau = 0 at these.

        Of all such forces f the smallest are taken. With ``mu``, or where a contact has its own,
        forces of points stay within cones of friction. (A foot that holds by its area is four
        points, at its corners.) Where no forces do it, those that miss least are given, and
        ``residual`` is what the passive joints lack: check it.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            contacts: Links or `appell.Frame`s, which hold as points, or `appell.Contact`s.
            mu: A contact's force across its normal over that along it, at most, no unit.
            passive: The joints without a motor; without it, a free or planar base and free joints.
                (A joint with several speeds may be named as a whole.)
            qd: Another name for ``v``.
            qdd: Another name for ``a``.
            forces: External wrenches by frame, (..., 6), N and N m: see `bias`.
            axes: Of these wrenches: "base", or "local" for each frame's own.

        Returns:
            A `ContactTorques`: forces (..., nv), N m or N, that of each contact, N and N m, and
            what is missing at the passive joints.

        Examples:
            >>> legged = appell.load("free_chain", n=1)
            >>> q, still = legged.neutral(), np.zeros(legged.nv)
            >>> held = legged.contact_inverse_dynamics(q, still, still, contacts=["P0"])
            >>> held.forces[0].shape, held.residual.shape
            ((3,), (6,))
        """
        given, back = _in_float64(q, one_of("v", v, qd), one_of("a", a, qdd))
        found = self._listed("contact_inverse_dynamics", contacts)
        needed = self._forced("inverse_dynamics", given, None, forces, axes)
        touching = self._touching("contact_inverse_dynamics", found, given[0], given[1])
        idle = self._passive(passive)
        Jt = touching.J.swapaxes(-1, -2)
        f = within(Jt[..., idle, :], needed[..., idle], self._cones(touching, mu))
        tau = needed - (Jt @ f[..., None])[..., 0]
        residual = tau[..., idle]
        tau[..., idle] = 0.0
        parts = touching.split(f[..., None])
        return ContactTorques(back(tau), tuple(back(y[..., 0]) for y in parts), back(residual))

    # Their arguments

    def _free(
        self, method: str, arguments: tuple[Any, ...], forces: Forces = None, axes: str = "base"
    ) -> Array:
        """K and x of the robot alone; what is refused is told in the method's name."""
        try:
            return self._forced("free_motion", arguments, None, forces, axes)
        except InputError as problem:
            idle, hint = len(self.model.passive), ""
            if idle and np.shape(arguments[-1])[-1:] == (self.nv - idle,):
                hint = f" tau has a number for every speed: give zeros for the {idle} of the base"
                hint += f" too, as np.concatenate([np.zeros({idle}), tau])."
            told = str(problem).replace("free_motion", method, 1)
            raise InputError(told + hint) from None

    def _listed(self, method: str, contacts: Any, **numbers: Any) -> tuple[Contact, ...]:
        """The contacts of a call, checked with its other numbers."""
        if not isinstance(self.system, Tree):
            raise InputError(
                f"{method}: '{self.name}' has loops or wheels, and contacts as inputs are for open "
                "robots; give appell.close its contacts as further loops."
            )
        for name, x in numbers.items():
            if not is_number(x) or not 0 <= x < np.inf:
                raise InputError(f"{method}: {name} = {x!r}; expected a number, zero or more.")
        return listed(contacts)

    def _passive(self, names: Iterable[str] | None) -> list[int]:
        """Which joints have no motor."""
        if names is None:
            return list(self.model.passive)
        return speeds_named(f"'{self.name}': passive", self.joint_names, names)

    def _cones(self, touching: Touching, mu: float | None) -> Cones:
        """Of each contact, or of the force and then of the moment of a fixed one."""
        if mu is not None:
            check_friction("contact_inverse_dynamics: mu", mu)
        normals, friction = [], []
        for c in touching.contacts:
            own = mu if c.mu is None else c.mu
            if c.kind == "fixed" and own is not None:
                raise InputError(
                    f"contact of {c.frame}: a fixed contact has no cone of friction; give the "
                    "corners of its area as points, appell.Frame(link, corner), or the mu of the "
                    "other contacts as theirs."
                )
            for _ in range(ROWS[c.kind] // 3):
                normals.append(c.normal)
                friction.append(np.inf if own is None else own)
        return Cones(np.array(normals).reshape(-1, 3), np.array(friction))


def _in_float64(*arguments: Any) -> tuple[tuple[Any, ...], Any]:
    """Arguments in float64, and what brings results back to their dtype."""
    if kind_of(arguments) == "float64":
        return arguments, lambda x: x
    return tuple(np.asarray(x, dtype=float) for x in arguments), lambda x: x.astype(np.float32)
