"""The rows of contacts: their Jacobians, what they ask for, and how that changes."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from appell.errors import InputError
from appell.model.place import Place
from appell.robots.bounded_cache import BoundedCache
from appell.robots.contact_forces import INDEPENDENT, RANK, finite_or_zero, holding
from appell.robots.contact_frames import (
    ROWS,
    Contact,
    ContactPlace,
    HeldSet,
    held_set,
    place_of,
    rotation_vector,
    turning_rates,
)
from appell.robots.dynamics import Array, Dynamics
from appell.robots.system import System

_AT_ONCE = 24  # rows of forces that one kernel solves for; its code grows with their cube


class Touching(NamedTuple):
    """All contacts at a state: rows of forces in order."""

    contacts: tuple[Contact, ...]
    places: list[ContactPlace]
    J: Array  # (..., m, nv)
    drift: Array  # (..., m, 1): (dJ/dt) v, less what pulls contacts to their footholds
    errors: list[Array]  # from footholds, (..., 3 or 6); empty without kp

    def split(self, f: Array) -> tuple[Array, ...]:
        """Rows (..., m, k) by contact."""
        rows = [ROWS[c.kind] for c in self.contacts]
        ends = accumulate(rows)
        return tuple(f[..., e - k : e, :] for k, e in zip(rows, ends, strict=True))


class TouchingDynamics(Dynamics):
    """What methods with contacts are made of."""

    def __init__(self, model: Any, system: System) -> None:
        super().__init__(model, system)
        self._places: dict[str | Place, ContactPlace] = BoundedCache()
        self._sets: dict[tuple[tuple[str, int], ...], HeldSet] = BoundedCache()

    def _place(self, frame: str | Place) -> ContactPlace:
        place = self._places.get(frame)
        if place is None:
            place = self._places[frame] = place_of(self.model, frame)
        return place

    def _at_once(
        self, contacts: tuple[Contact, ...], q: Any, v: Any, Kx: Array, damping: float
    ) -> tuple[Array, tuple[Array, ...]] | None:
        """Accelerations and forces by one kernel for these links, if there are not too many
        contacts and they are independent at all states."""
        places = [self._place(c.frame) for c in contacts]
        on = tuple([(x.link, ROWS[c.kind]) for x, c in zip(places, contacts, strict=True)])
        held = self._sets.get(on)
        if held is None:
            if sum(rows for _, rows in on) > _AT_ONCE:
                return None
            held = self._sets[on] = held_set(self.model, on)
        points = np.concatenate([x.point for x in places])
        evaluate = held.single if Kx.ndim == 2 else held.kernel
        y = evaluate(q, v, Kx, points, np.array([damping]))
        first, last = held.parts[0].start, held.parts[-1].stop
        if not y[..., last:].min(initial=1.0) > INDEPENDENT:  # also where there is NaN
            return None
        return y[..., :first], tuple([y[..., part] for part in held.parts])

    def _touching(
        self,
        method: str,
        found: tuple[Contact, ...],
        q: Any,
        v: Any,
        kp: float = 0.0,
        kd: float = 0.0,
    ) -> Touching:
        """The contacts of a call at a state."""
        n = len(self.model.joints)
        places, J, drift, errors = [], [], [], []
        for c in found:
            place = self._place(c.frame)
            places.append(place)
            JAT = self._evaluate("contact_motion", (q, v, place.point), None, (place.link,))
            rows = ROWS[c.kind]
            J.append(JAT[..., :rows, :n])
            drift.append(JAT[..., :rows, n])
            if kd:
                drift[-1] = drift[-1] + kd * (J[-1] @ np.asarray(v)[..., None])[..., 0]
            if kp:
                errors.append(_error(method, c, place, JAT[..., :3, n + 1 :]))
                drift[-1] = drift[-1] + kp * errors[-1]
        if not found:
            return Touching((), [], np.zeros((0, self.nv)), np.zeros((0, 1)), [])
        drifts = (joined(drift, -1) if kp else np.concatenate(drift, axis=-1))[..., None]
        return Touching(found, places, np.concatenate(J, axis=-2), drifts, errors)

    def _held(
        self, touching: Touching, x: Array, K: Array, damping: float, drift: Array | None = None
    ) -> tuple[Array, Array]:
        """Accelerations K x and forces, where the robot alone would have x."""
        U = K.swapaxes(-1, -2) @ touching.J.swapaxes(-1, -2)
        f, x = holding(U, x, touching.drift if drift is None else drift, damping)
        return K @ x, f

    def _slopes(self, quantity: str, wrt: tuple[str, ...], place: ContactPlace, *at: Any) -> Any:
        """Derivatives of a contact's quantity."""
        return self.kernel(quantity, frame=place.link, wrt=wrt)(*at, place.point)

    def _changes(
        self, touching: Touching, q: Any, v: Any, a: Array, kp: float, kd: float
    ) -> tuple[Array, Array]:
        """Derivatives of the contacts' conditions by q and v, (..., m, nv), at fixed a."""
        by_q, by_v = [], []
        still = np.zeros(self.nv)
        J = touching.split(touching.J)
        for k, (c, place) in enumerate(zip(touching.contacts, touching.places, strict=True)):
            rows = ROWS[c.kind]
            asked = ("contact_acceleration", ("q", "v"), place, q)
            dq, dv = (x[..., :rows, :] for x in self._slopes(*asked, v, a))
            if kd:  # the velocity J v is the acceleration that v would be, from rest
                dq = dq + kd * self._slopes(*asked, still, v)[0][..., :rows, :]
                dv = dv + kd * J[k]
            if kp:
                pulled = [J[k][..., :3, :]]
                if rows == 6:
                    pulled.append(turning_rates(touching.errors[k][..., 3:]) @ J[k][..., 3:, :])
                dq = dq + kp * joined(pulled, -2)
            by_q.append(dq)
            by_v.append(dv)
        if not by_q:
            return touching.J, touching.J
        return joined(by_q, -2), joined(by_v, -2)

    def _loads(self, touching: Touching, q: Any, f: Array) -> Array | float:
        """The derivative of J^T f by q, (..., nv, nv), at fixed forces (..., m, 1)."""
        total: Array | float = 0.0
        for part, place in zip(touching.split(f), touching.places, strict=True):
            wrench = np.zeros((*part.shape[:-2], 6))
            wrench[..., : part.shape[-2]] = part[..., 0]
            total = total + self._slopes("contact_load", ("q",), place, q, wrench)
        return total

    def _shared_changes(
        self, touching: Touching, N: Array, K: Array, q: Any, a: Array, f: Array
    ) -> Array:
        """What derivatives of forces by q have besides, where contacts repeat each other, and N
        projects on the forces that do nothing: those of the pseudoinverse of J M^-1 J^T.

        The smallest forces stay in the range of J, f = J y, which turns by dJ y; and conditions
        that contradict each other, as those of moving contacts may, leave accelerations r, which
        other motions share as J turns."""
        y = (np.linalg.pinv(finite_or_zero(touching.J), rcond=RANK) @ f)[..., 0]
        sharing = N @ self._changes(touching, q, np.zeros(self.nv), y, 0.0, 0.0)[0]
        r = N @ (touching.J @ a + touching.drift)
        Kt = K.swapaxes(-1, -2)
        U = Kt @ touching.J.swapaxes(-1, -2)
        Y = Kt @ self._loads(touching, q, r)
        z, _ = holding(U, Y, np.zeros((U.shape[-1], 1)))
        return sharing - holding(U, np.zeros((U.shape[-2], 1)), z)[0]


def _error(method: str, c: Contact, place: ContactPlace, T: Array) -> Array:
    """How far a contact is from its foothold, (..., 3 or 6)."""
    if c.foothold is None:
        raise InputError(
            f"{method}: kp pulls contacts to their footholds, and that of {c.frame} has none; give "
            "appell.Contact(frame, foothold=...), or kd alone."
        )
    axes = 1 if c.kind == "point" else 2
    batch, own = T.shape[:-2], c.foothold.shape[:-axes]
    try:
        np.broadcast_shapes(batch, own)
    except ValueError:
        raise InputError(
            f"{method}: the foothold of {c.frame} has leading axes {own}, and the states {batch}, "
            "which do not broadcast together; give one foothold, or one per state."
        ) from None
    if c.kind == "point":
        return T[..., :3, 3] - c.foothold
    turn = (T[..., :3, :3] @ place.turned) @ c.foothold[..., :3, :3].swapaxes(-1, -2)
    return np.concatenate([T[..., :3, 3] - c.foothold[..., :3, 3], rotation_vector(turn)], axis=-1)


def joined(parts: list[Array], axis: int) -> Array:
    """Arrays one after another along an axis from the end, their leading axes broadcast."""
    lead = np.broadcast_shapes(*(x.shape[:axis] for x in parts))
    return np.concatenate([np.broadcast_to(x, (*lead, *x.shape[axis:])) for x in parts], axis=axis)
