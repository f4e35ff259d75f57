"""Run: what a simulation found, its motion at any time, and its impacts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from appell.constraints.keep import load_arrays, picture, save_arrays
from appell.errors import InputError, quoted, reading
from appell.model.units import Units, units_of
from appell.robot import Robot
from appell.simulation.impact import Impact, impact_from_json, impact_to_json
from appell.simulation.path import Piece, evaluate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.floating[Any]]

_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Run:
    """A simulated motion: N instants, at the integrator's steps. An impact has two, the one
    before it and the one after, at the same time."""

    t: Array  # (N,) s
    q: Array  # (N, nq); quaternions have length one
    v: Array  # (N, nv)
    tau: Array  # (N, nv) what the torque law gave
    kinetic: Array  # (N,) J
    potential: Array  # (N,) J
    impacts: list[Impact]
    contacts: tuple[tuple[str, str], ...]  # all that were watched: point and wall
    reactions: Array  # (N, contacts) normal forces of those that last, N
    residuals: Mapping[str, float]
    stopped: str | None = None  # why it ended before its time
    robot: Robot | None = field(default=None, repr=False)
    pieces: Sequence[Piece] = field(default=(), repr=False)
    settings: Mapping[str, Any] | None = field(default=None, repr=False)
    formulation: str | None = None  # of the equations that it ran by (at its end, if they changed)
    kinds: Any = field(default=(), repr=False)  # of the joints, where the run is from a file

    @property
    def energy(self) -> Array:
        """(N,) kinetic and potential, J."""
        return self.kinetic + self.potential

    def __call__(self, t: npt.ArrayLike) -> tuple[Array, Array]:
        """q and v at a time, or at many: (..., nq) and (..., nv). At an impact, after it."""
        try:
            times = np.asarray(t, dtype=float)
        except (TypeError, ValueError):
            raise InputError(f"run({t!r}): expected a time in s, or an array of them.") from None
        first, last = self.t[0], self.t[-1]
        if not ((times >= first) & (times <= last)).all():
            raise InputError(f"run({t!r}): the run goes from {first:g} s to {last:g} s.")
        nq = self.q.shape[1]
        if not self.pieces:
            y = np.tile(np.append(self.q[-1], self.v[-1]), (times.size, 1))
        else:
            y = evaluate(self.pieces, times.ravel()).reshape(times.size, nq + self.v.shape[1])
            y[times.ravel() == last] = np.append(self.q[-1], self.v[-1])
        q = normalised(y[:, :nq], self.v.shape[1])
        return q.reshape(*times.shape, nq), y[:, nq:].reshape(*times.shape, self.v.shape[1])

    def __repr__(self) -> str:
        name = self.robot.name if self.robot else "a robot"
        end = f", stopped: {self.stopped}" if self.stopped else ""
        return (
            f"<Run of {name}: {self.t[0]:g} s to {self.t[-1]:g} s, {len(self.t)} instants, "
            f"{len(self.impacts)} impacts{end}>"
        )

    def resume(self, until: float, **changes: Any) -> Run:
        """The run carried on to a later time, with the settings it had unless changed; the result
        holds the whole motion."""
        from appell.simulation.simulate import simulate

        if self.settings is None or self.robot is None:
            raise InputError(
                "this run was read from a file, which holds no robot and no walls; go on with "
                "appell.simulate(robot, resume=run, until=..., walls=...)."
            )
        return simulate(self.robot, resume=self, until=until, **{**self.settings, **changes})

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run to an .npz file; :func:`load_run` reads it."""
        facts = {
            "format": _FORMAT,
            "impacts": [impact_to_json(x) for x in self.impacts],
            "contacts": self.contacts,
            "residuals": dict(self.residuals),
            "stopped": self.stopped,
            "formulation": self.formulation,
            "kinds": [j.kind for j in self.robot.model.joints] if self.robot else self.kinds,
        }
        width = self.q.shape[1] + self.v.shape[1]
        arrays = {
            "t": self.t, "q": self.q, "v": self.v, "tau": self.tau, "kinetic": self.kinetic,
            "potential": self.potential, "reactions": self.reactions,
            "times": np.array([(p.start, p.full, p.end) for p in self.pieces]).reshape(-1, 3),
            "nodes": np.array([p.y for p in self.pieces]).reshape(-1, 8, width),
            "facts": np.array(json.dumps(facts)),
        }  # fmt: skip
        return save_arrays(path, arrays)

    def plot(self) -> Figure:
        """A Matplotlib figure: coordinates, speeds and energies over time, along the path between
        the instants too, with jumps at impacts, which are marked. Of a run that was read from a
        file, which holds no robot, the energies are those of the instants, as points."""
        t, q, v = self._path()
        times, T, U = self.t, self.kinetic, self.potential
        if self.robot is not None:
            times, T, U = t, self.robot.kinetic_energy(q, v), self.robot.potential_energy(q)
        energies = {"kinetic": T, "potential": U, "total": T + U}
        marks = [impact.time for impact in self.impacts[:100]]
        return picture((t, q, v), (times, energies), (self._units,) * 2, marks)

    def _path(self) -> tuple[Array, Array, Array]:
        """The instants, and enough times between them for a smooth line."""
        steps = np.diff(self.t)
        least = max(2, min(8, 40_000 // len(self.t)))
        span = self.t[-1] - self.t[0]
        parts = np.maximum(least, np.ceil(1000 * steps / span)) if span > 0 else steps
        between = [
            np.linspace(start, start + step, int(count) + 1)[1:-1]
            for start, step, count in zip(self.t, steps, parts, strict=False)
            if step > 0
        ]
        times = np.concatenate([self.t[:0], *between])
        t = np.concatenate([self.t, times])
        order = np.argsort(t, kind="stable")  # of an impact's two instants, before comes first
        q, v = (np.concatenate(x)[order] for x in zip((self.q, self.v), self(times), strict=True))
        return t[order], q, v

    @property
    def _units(self) -> tuple[Units, ...]:
        kinds = [joint.kind for joint in self.robot.model.joints] if self.robot else self.kinds
        return units_of(kinds, self.v.shape[1])


def load_run(path: str | os.PathLike[str]) -> Run:
    """A run that :meth:`Run.save` wrote. Files that are damaged, or unpack to far more than their
    size, are refused."""
    with reading(path, _EXPECTED):
        data = load_arrays(path, (*_SHAPES, "facts"), _EXPECTED)
    try:
        facts = json.loads(str(data.pop("facts").astype(str).reshape(())))
        _refuse_shapes(data, len(facts["contacts"]))
        times, nodes = data.pop("times"), data.pop("nodes")
        return Run(
            **data,
            impacts=[impact_from_json(x) for x in facts["impacts"]],
            contacts=tuple((str(point), str(wall)) for point, wall in facts["contacts"]),
            residuals={str(name): float(x) for name, x in facts["residuals"].items()},
            stopped=None if facts["stopped"] is None else str(facts["stopped"]),
            formulation=facts.get("formulation"),  # older files have none
            kinds=tuple(str(kind) for kind in facts.get("kinds", ())),
            pieces=[
                Piece(start, full, y, end)
                for (start, full, end), y in zip(times, nodes, strict=True)
            ],
        )
    except Exception as problem:  # there is no end of what may be wrong with a file
        raise InputError(
            f"{path}: not a run ({quoted(str(problem))}); expected {_EXPECTED}."
        ) from None


_EXPECTED = "a file that run.save wrote"
_SHAPES = {
    "t": "N", "q": "N nq", "v": "N nv", "tau": "N nv", "kinetic": "N", "potential": "N",
    "reactions": "N contacts", "times": "pieces 3", "nodes": "pieces 8 ny",
}  # fmt: skip


def _refuse_shapes(data: Mapping[str, Array], contacts: int) -> None:
    """Arrays that do not go together, and times that fall."""
    sizes = {"3": 3, "8": 8, "contacts": contacts}
    for name, shape in _SHAPES.items():
        x, letters = data[name], shape.split()
        if x.dtype != np.float64 or x.ndim != len(letters):
            raise ValueError(f"{name} is {x.dtype} of shape {x.shape}; expected float64, {shape}")
        for letter, size in zip(letters, x.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"{name} has {size} for {letter}, and others {sizes[letter]}")
    if sizes["ny"] != sizes["nq"] + sizes["nv"] or not sizes["N"]:
        raise ValueError(f"{sizes['N']} instants, and pieces of {sizes['ny']} coordinates")
    for name in ("q", "v", "kinetic", "potential", "reactions", "times", "nodes"):
        if not np.isfinite(data[name]).all():
            raise ValueError(f"{name} holds what is not finite")
    start, full, end = data["times"].T
    if not ((start < full) & (start <= end) & (end <= full)).all():
        raise ValueError("a piece ends before it begins")
    for name, times in (("t", data["t"]), ("times", data["times"][:, 0])):
        if not np.isfinite(data[name]).all() or (np.diff(times) < 0).any():
            raise ValueError(f"{name} falls")


def normalised(q: Array, nv: int) -> Array:
    """Coordinates with the quaternion of length one, where there is one."""
    if q.shape[-1] == nv:
        return q
    q = q.copy()
    q[..., 3:7] /= np.linalg.norm(q[..., 3:7], axis=-1, keepdims=True)
    return q
