"""Identifications as documents: estimates, how sure they are, and what they predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.identify import Data, Excitation, Fit, Validation
from appell.model.units import Units, units_of
from appell.show.document import Document, Picture, Table, plain
from appell.show.figures import drawing
from appell.show.plots import over_time
from appell.show.style import INK, JOINTS

if TYPE_CHECKING:
    from appell.study.identify_puma import Example

_SOURCE = "Made by appell identify. Units are SI: N m, N, kg, m, rad, s."


# An excitation


def excitation_document(excitation: Excitation, name: str) -> Document:
    """The document of an excitation."""
    return Document(
        "excitation",
        f"Excitation of {name}",
        _SOURCE,
        [excitation_table(excitation), used_table(excitation)],
        [motion_picture(excitation)],
    )


def excitation_table(excitation: Excitation) -> Table:
    """How well a motion excites, beside random ones."""
    random = excitation.compared
    rows = {
        "optimised": [excitation.condition, excitation.log_det],
        "random motions, best": [random.best, float(random.log_dets.max())],
        "random motions, median": [random.median, float(np.median(random.log_dets))],
    }
    note = (
        f"Of the observation matrix, {excitation.kind} motion of {excitation.duration:g} s, "
        f"optimised for {excitation.criterion}; {len(random.conditions)} random motions of the "
        "same kind, as large as the same limits let them be."
    )
    return plain("How well it excites", ["condition number", "log determinant"], rows, note)


def used_table(excitation: Excitation) -> Table:
    """The parts of the limits that a motion uses."""
    rows = {what: [float(part)] for what, part in excitation.used.items() if what != "workspace"}
    return plain("What it uses of the limits", ["largest part"], rows)


def motion_picture(excitation: Excitation) -> Picture:
    """A picture of an excitation's positions, speeds and accelerations."""
    t = np.linspace(0, excitation.duration, 400)
    names = ("position, rad or m", "speed", "acceleration")
    return Picture(
        "The motion",
        "Positions, speeds and accelerations over one period; it starts and ends at rest.",
        lambda: over_time(t, dict(zip(names, excitation(t), strict=True))),
    )


# Estimates


def fit_document(fits: Mapping[str, Fit], validations: Mapping[str, Validation]) -> Document:
    """Estimates of one robot by several methods, validated on the same data."""
    name = next(iter(fits.values())).nominal.name
    first = next(iter(fits))
    return Document(
        "identification",
        f"Identification of {name}",
        _SOURCE,
        [
            methods_table(fits, validations),
            torque_table(validations),
            *(base_table(fit) for fit in fits.values()),
        ],
        [torque_picture(validations[first])],
    )


def methods_table(fits: Mapping[str, Fit], validations: Mapping[str, Validation]) -> Table:
    """The estimates of all methods beside each other."""
    rows = {
        method: [
            float(np.mean(validations[method].errors.relative)),
            float(np.median(validations[method].better)),
            fit.condition,
            float(np.median(fit.relative_std)),
            "yes" if fit.physical else f"no: {len(fit.faults)} faults",
        ]
        for method, fit in fits.items()
    }
    columns = [
        "relative error", "times better than nominal", "condition", "median relative deviation",
        "physical",
    ]  # fmt: skip
    note = (
        "Relative error: rms of the torque error on data that were not used, by the torque's own "
        "standard deviation, mean of the joints. Better: the nominal model's rms error by the "
        "estimate's, median of the joints."
    )
    return plain("Methods", columns, rows, note)


def torque_table(validations: Mapping[str, Validation]) -> Table:
    """The errors of torques predicted on held-out data."""
    some = next(iter(validations.values()))
    columns = [f"joint {j + 1}" for j in range(some.data.tau.shape[1])]
    rows = {
        "torque, standard deviation": np.std(some.data.tau, axis=0).tolist(),
        "nominal model, rms error": some.nominal.rms.tolist(),
    }
    rows |= {f"{name}, rms error": v.errors.rms.tolist() for name, v in validations.items()}
    rows |= {f"{name}, worst": v.errors.worst.tolist() for name, v in validations.items()}
    rows |= {f"{name}, R2": v.errors.r2.tolist() for name, v in validations.items()}
    return plain("Torques foretold on data that were not used", columns, rows)


def base_table(fit: Fit) -> Table:
    """The base parameters of an estimate."""
    prior = fit.basis.matrix @ fit.prior
    rows = {
        name: [float(x), float(s), float(r), float(p)]
        for name, x, s, r, p in zip(
            fit.names, fit.base, fit.std, fit.relative_std, prior, strict=True
        )
    }
    open_ = ", ".join(fit.undetermined)
    return plain(
        f"Base parameters by {fit.method}",
        ["estimate", "standard deviation", "relative", "nominal"],
        rows,
        f"The data do not determine {open_}." if open_ else "",
    )


def torque_picture(validation: Validation) -> Picture:
    """A picture of torques as measured, by the estimate and by the nominal model."""
    n = validation.data.tau.shape[1]
    across = min(n, 3)
    down = ceil(n / across)
    draw = drawing(7.2, 0.9 + 1.9 * down, down, across, legend=3)(_torques)
    return Picture(
        "Torques",
        f"As measured, by the estimate ({validation.fit.method}) and by the nominal model, on data "
        "that were not used.",
        lambda: draw(validation, across),
    )


def _torques(panels: Sequence[Any], validation: Validation, across: int) -> None:
    data = validation.data
    n = data.tau.shape[1]
    lines = {
        "measured": (data.tau, {"color": INK, "lw": 2.4, "alpha": 0.3}),
        "identified": (validation.predicted, {"color": JOINTS[0], "lw": 1.3}),
        "nominal": (validation.by_nominal, {"color": JOINTS[1], "lw": 1.0, "ls": (0, (3, 2))}),
    }
    units = _units(validation.fit.nominal, n)
    for j, axes in enumerate(panels[:n]):
        for name, (tau, style) in lines.items():
            axes.plot(data.t, tau[:, j], label=name, **style)
        axes.set(title=f"joint {j + 1}, {units[j].force}")
    for axes in panels[-across:]:
        axes.set_xlabel("time, s")
    for axes in panels[n:]:
        axes.set_axis_off()


def _units(robot: Any, n: int) -> tuple[Units, ...]:
    """The units of the n joints that a robot's forces act at."""
    kinds = {joint.name: joint.kind for joint in robot.model.joints}
    driven = getattr(robot, "actuated", tuple(kinds))
    return units_of([kinds.get(name, "revolute") for name in driven], n)  # in limbs all turn


# The worked example


def example_document(example: Example) -> Document:
    """The PUMA identified and controlled."""
    chosen = example.validations[example.chosen]
    tracking = Picture(
        "Tracking",
        "The largest position error of any joint, mrad, under computed torque.",
        lambda: _tracking(example),
    )
    return Document(
        "identification",
        "A PUMA identified on the simulated rig",
        "The arm's links weigh 10 to 20 % more or less than the model says, it carries a load that "
        "nobody told, and its joints rub. " + _SOURCE,
        [
            excitation_table(example.excitation),
            data_table({"excitation": example.data, "validation": example.held_out}),
            methods_table(example.fits, example.validations),
            torque_table(example.validations),
            tracking_table(example),
            base_table(example.fits[example.chosen]),
        ],
        [motion_picture(example.excitation), torque_picture(chosen), tracking],
    )


def data_table(data: Mapping[str, Data]) -> Table:
    """The data, and what was done to them."""

    rows: dict[str, Sequence[Any]] = {
        name: [len(d), d.rate, d.cutoff, "; ".join(d.notes)] for name, d in data.items()
    }
    return plain("Data", ["samples", "a second", "low-pass, Hz", "what was done"], rows)


def tracking_table(example: Example) -> Table:
    """Position errors under computed torque by several models."""

    rows: dict[str, Sequence[Any]] = {}
    first = float(np.linalg.norm(example.tracking(next(iter(example.runs)))))
    for name in example.runs:
        error = example.tracking(name)
        total = float(np.linalg.norm(error))
        rows[name] = [*(1e3 * error).tolist(), 1e3 * total, first / total]
    joints = [f"joint {j + 1}" for j in range(example.nominal.nv)]
    return plain(
        "Computed torque: rms position errors on a motion of its own, mrad",
        [*joints, "all", "times better"],
        rows,
        "The same law and gains on the same rig; only the model differs. The last two compensate "
        "the identified friction, too. The search for the excitation amplifies rounding: on "
        "another processor the motion is another one, and the last row may differ.",
    )


@drawing(7.2, 3.2, 1, 1, legend=2, below=0.5)
def _tracking(panels: Sequence[Any], example: Example) -> None:
    from appell.study.identify_puma import following

    for (name, report), colour in zip(example.runs.items(), JOINTS[1:], strict=False):
        t, error = following(report)
        panels[0].plot(t, 1e3 * np.abs(error).max(axis=1), color=colour, label=name)
    panels[0].set(xlabel="time, s", ylabel="mrad", yscale="log")
