"""What a fit is to find: base parameters of some links and joints, and offsets of torques."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from appell.errors import InputError
from appell.identify.base.base_parameters import Base, base_parameters
from appell.identify.base.entries import Entries, Places, entries
from appell.identify.estimate.compress import Block
from appell.identify.estimate.physical import faults
from appell.identify.estimate.result import Fit
from appell.identify.estimate.solve import Solution, Triangles
from appell.robots.known_torques import known_torques
from appell.robots.robot import Array

More = Callable[[int, Array], list[Array]]  # further columns of a joint, from its speeds


@dataclass(frozen=True)
class Task:
    """Unknowns are base parameters, then an offset per joint, then the columns of ``more``.

    ``own`` is what parameters have besides the unknown: for a payload all that the robot is
    known to have, whose torques are taken off, else nothing.
    """

    robot: Any
    basis: Base
    entries: Entries
    prior: Array
    own: Array
    offset: bool
    payload: str | None = None

    @property
    def joints(self) -> int:
        """The number of joints that are driven."""
        return len(self.entries.columns)

    @property
    def count(self) -> int:
        """The number of unknowns."""
        return self.basis.count + self.offset * self.joints

    @property
    def start(self) -> Array:
        """The prior of the unknowns."""
        base = self.basis.matrix @ (self.prior - self.own)
        return np.append(base, np.zeros(self.count - self.basis.count))

    @property
    def matrix(self) -> Array:
        """Unknowns from standard parameters and offsets."""
        K, extra = self.basis.matrix, self.count - self.basis.count
        whole = np.zeros((self.count, K.shape[1] + extra))
        whole[: len(K), : K.shape[1]] = K
        whole[len(K) :, K.shape[1] :] = np.eye(extra)
        return whole

    @property
    def columns(self) -> tuple[Places, ...]:
        """The unknowns that each joint's rows have."""
        first = self.basis.count
        return tuple(
            np.append(places, first + j) if self.offset else places
            for j, places in enumerate(self.entries.columns)
        )

    def rows(self, block: Block, more: More | None = None) -> list[Array]:
        """[Y_j | tau_j] of a block, for each joint."""
        q, v, a, tau = block
        found = self.entries.of(q, v, a)
        if self.payload is not None:
            rubbing = {"friction": True} if self.basis.friction else {}
            tau = tau - self.robot.inverse_dynamics(q, v, a, **rubbing)
        else:
            tau = tau - known_torques(self.robot, q)
        made = []
        for j in range(self.joints):
            extra: list[Array] = [np.ones(len(tau))] if self.offset else []
            extra += more(j, v[:, j]) if more else []
            made.append(np.column_stack([self.entries.rows(found, j), *extra, tau[:, j]]))
        return made

    def standard(self, found: Solution) -> Array:
        """The standard parameters nearest to the prior with the base that was found."""
        base = found.x[: self.basis.count] + self.basis.matrix @ self.own
        unknown = self.basis.matrix.any(axis=0)
        K, p = self.basis.matrix[:, unknown], self.prior.copy()
        p[unknown] += np.linalg.pinv(K) @ (base - self.basis.matrix @ self.prior)
        return p

    def result(
        self,
        method: str,
        data: Triangles,
        found: Solution,
        parameters: Array,
        extra: dict[str, Array] | None = None,
        extra_std: dict[str, Array] | None = None,
    ) -> Fit:
        """The fit of a solution, with all standard parameters and what else was estimated."""
        n = self.basis.count
        deviation = np.sqrt(np.maximum(np.diag(found.covariance), 0))
        offset = {"offset": slice(n, n + self.joints)} if self.offset else {}
        names = self.robot.parameter_names(**self.basis.flags)
        return Fit(
            method=method,
            parameters=parameters,
            base=found.x[:n] + self.basis.matrix @ self.own,
            covariance=found.covariance[:n, :n],
            noise=found.noise,
            residuals=np.sqrt(data.squares(found.x) / data.samples),
            condition=found.condition,
            undetermined=undetermined(found.open, self.basis.names),
            samples=data.samples,
            basis=self.basis,
            nominal=self.robot,
            prior=self.prior,
            faults=faults(parameters, link_names(self.robot), names),
            chosen=found.chosen,
            extra={**{k: found.x[part] for k, part in offset.items()}, **(extra or {})},
            extra_std={**{k: deviation[part] for k, part in offset.items()}, **(extra_std or {})},
        )


def task_for(
    robot: Any, friction: bool, rotors: bool, offset: bool, prior: Any, payload_link: str | None
) -> Task:
    """The task of a fit: which parameters of a robot are unknown, and what is known of them."""
    own = robot.parameters_of(friction=friction, rotors=rotors)
    start = own if prior is None else np.asarray(prior, dtype=float)
    if start.shape != own.shape or not np.isfinite(start).all():
        raise InputError(
            f"fit: prior has shape {start.shape}; expected {len(own)} finite numbers, as "
            "robot.parameters_of(friction=, rotors=) lists them."
        )
    columns = None
    if payload_link is not None:
        links = link_names(robot)
        if payload_link not in links:
            raise InputError(
                f"payload_link={payload_link!r}: expected a moving link, one of {', '.join(links)}."
            )
        k = 10 * links.index(payload_link)
        columns = range(k, k + 10)
    basis, made = _known(robot, friction, rotors, columns)
    known = np.zeros_like(own) if payload_link is None else own
    return Task(robot, basis, made, start, known, offset, payload_link)


_KNOWN: WeakKeyDictionary[Any, dict[Any, tuple[Base, Entries]]] = WeakKeyDictionary()


def _known(robot: Any, friction: bool, rotors: bool, columns: range | None) -> tuple[Base, Entries]:
    """The basis and its entries, kept while the robot lives."""
    of_robot = _KNOWN.setdefault(robot, {})
    key = friction, rotors, columns
    if key not in of_robot:
        basis = base_parameters(robot, friction=friction, rotors=rotors, columns=columns)
        made = entries(robot, basis.columns, friction, rotors)
        if not made.compiled:
            return basis, made  # it holds the robot, which would then live for ever
        of_robot[key] = basis, made
    return of_robot[key]


def link_names(robot: Any) -> list[str]:
    """The links that have inertial parameters."""
    return list(
        dict.fromkeys(x.rsplit(".", 1)[0] for x in robot.parameter_names() if x[-2:] == ".m")
    )


def undetermined(null: Array, names: tuple[str, ...]) -> tuple[str, ...]:
    """The parameters that take part in directions the data leave open."""
    share = np.linalg.norm(null[: len(names)], axis=1) if null.size else np.zeros(len(names))
    return tuple(name for name, x in zip(names, share, strict=True) if x > 1e-4)
