"""Run: what a simulation found, its motion at any time, and its impacts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from appell.constraints.keep import picture, save_arrays
from appell.errors import InputError
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
            y = evaluate(self.pieces, times.ravel())
            y[times.ravel() == last] = np.append(self.q[-1], self.v[-1])
        q = normalised(y[:, :nq], self.v.shape[1])
        return q.reshape(*times.shape, -1), y[:, nq:].reshape(*times.shape, -1)

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
        """A Matplotlib figure: coordinates, speeds and energies over time, impacts marked."""
        t = np.linspace(self.t[0], self.t[-1], 1000)
        energies = {"kinetic": self.kinetic, "potential": self.potential, "total": self.energy}
        marks = [impact.time for impact in self.impacts[:100]]
        return picture(t, *self(t), self.t, energies, marks)


def load_run(path: str | os.PathLike[str]) -> Run:
    """A run that :meth:`Run.save` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            data = {name: file[name] for name in file.files}
        facts = json.loads(str(data.pop("facts")))
        times, nodes = data.pop("times"), data.pop("nodes")
        pieces = [
            Piece(start, full, y, end) for (start, full, end), y in zip(times, nodes, strict=True)
        ]
        return Run(
            **data,
            impacts=[impact_from_json(x) for x in facts["impacts"]],
            contacts=tuple((point, wall) for point, wall in facts["contacts"]),
            residuals=facts["residuals"],
            stopped=facts["stopped"],
            formulation=facts.get("formulation"),  # older files have none
            pieces=pieces,
        )
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such file; expected one that run.save wrote."
        ) from None
    except (KeyError, TypeError, ValueError, OSError, EOFError, BadZipFile) as problem:
        raise InputError(
            f"{path}: not a run ({problem}); expected a file that run.save wrote."
        ) from None


def normalised(q: Array, nv: int) -> Array:
    """Coordinates with the quaternion of length one, where there is one."""
    if q.shape[-1] == nv:
        return q
    q = q.copy()
    q[..., 3:7] /= np.linalg.norm(q[..., 3:7], axis=-1, keepdims=True)
    return q
