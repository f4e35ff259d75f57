"""Identifications as documents: estimates, how sure they are, and what they predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.charts.chart import Chart, Line, Panel
from appell.charts.palette import COLOURS, INK, style
from appell.identify import Data, Excitation, Fit, Validation
from appell.model.units import Units, units_of
from appell.show.document import Document, Table, plain
from appell.show.figure import Picture
from appell.show.motion_film import LONGEST, motion_film
from appell.show.page import ANIMATION, MOVING
from appell.show.viewer.played_motion import of_samples
from appell.show.viewer.view import animation_of
from appell.simulation.run_chart import Signal

if TYPE_CHECKING:
    from appell.study.identify_puma import Example

_SOURCE = "Made by appell identify. Units are SI: N m, N, kg, m, rad, s."


# An excitation


def excitation_document(excitation: Excitation, robot: Any) -> Document:
    """The document of an excitation of a robot."""
    best = excitation.compared.best
    stopped = ["Interrupted: this is the best motion found until then."]
    return Document(
        "excitation",
        f"Excitation of {robot.name}",
        f"A motion of {excitation.duration:g} s from which the robot's parameters can be "
        f"identified. {_SOURCE}",
        [excitation_table(excitation), used_table(excitation)],
        [motion_picture(excitation, robot)],
        f"Condition number {excitation.condition:.4g}; the best of "
        f"{len(excitation.compared.conditions)} random motions has {best:.4g}",
        not excitation.interrupted,
        stopped if excitation.interrupted else (),
        [robot.model],
    )


def excitation_files(
    excitation: Excitation, robot: Any, rate: float, animation: bool = False
) -> dict[str, tuple[str, str | bytes | None]]:
    """The files beside the document, with what they hold and their content: the motion, at so many
    samples per second, and the moving robot."""
    t = np.arange(int(excitation.duration * rate) + 1) / rate
    q, v, a = excitation(t)
    names = ["t", *(f"q{j + 1}" for j in range(excitation.n))]
    rows = np.column_stack([t, q]).tolist()
    text = "\n".join([",".join(names), *(",".join(map(repr, row)) for row in rows), ""])
    files: dict[str, tuple[str, str | bytes | None]] = {
        "motion.csv": ("for appell control follow", text)
    }
    if animation:
        tau = robot.inverse_dynamics(q, v, a)
        files[ANIMATION] = (MOVING, animation_of(of_samples(robot, t, q, v, tau)))
    return files


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
        "same kind, as large as the same limits let them be. The smaller the condition number and "
        "the larger the determinant, the better; only the criterion was optimised, so that the "
        "other number may be worse than a random motion's."
    )
    return plain("How well it excites", ["condition number", "log determinant"], rows, note)


def used_table(excitation: Excitation) -> Table:
    """The parts of the limits that a motion uses."""
    rows = {what: [float(part)] for what, part in excitation.used.items() if what != "workspace"}
    return plain("What it uses of the limits", ["largest part"], rows)


def motion_picture(excitation: Excitation, robot: Any) -> Picture:
    """A picture of an excitation's positions, speeds and accelerations."""
    return Picture(
        "The motion",
        "Positions, speeds and accelerations over one period; it starts and ends at rest.",
        lambda: _motion(excitation, robot),
    )


def _motion(excitation: Excitation, robot: Any) -> Chart:
    t = np.linspace(0, excitation.duration, 400)
    own, names = joint_units(robot, excitation.n), joint_names(robot, excitation.n)
    units = [
        [u.position for u in own],
        [u.speed for u in own],
        [f"{u.speed}²" for u in own],
    ]
    signals = zip(("position", "speed", "acceleration"), excitation(t), units, strict=True)
    return Chart([p for what, x, u in signals for p in Signal(what, t, x, names, u).panels()],
                 columns=3)  # fmt: skip


# Estimates


def fit_document(fits: Mapping[str, Fit], validations: Mapping[str, Validation]) -> Document:
    """Estimates of one robot by several methods, validated on the same data."""
    robot = next(iter(fits.values())).nominal
    first = next(iter(fits))
    useless = {name: faults for name, x in validations.items() if (faults := x.faults)}
    error = {name: float(np.mean(x.errors.relative)) for name, x in validations.items()}
    best = min(error, key=lambda name: error[name])
    better = float(np.median(validations[best].better))
    return Document(
        "identification",
        f"Identification of {robot.name}",
        f"Its parameters estimated by {', '.join(fits)}, and tried on held-out data. {_SOURCE}",
        [
            methods_table(fits, validations),
            torque_table(validations),
            *(base_table(fit) for fit in fits.values()),
        ],
        [torque_picture(validations[first]), *data_films(robot, validations[first].data)],
        f"{best} predicts held-out torques to {100 * error[best]:.3g} % of their standard "
        f"deviation, {better:.3g} times better than the nominal model"
        if best not in useless
        else f"{best} is of no use",
        not useless,
        [f"{name} is of no use: {'; '.join(faults)}" for name, faults in useless.items()],
        [robot.model],
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
    robot, n = some.fit.nominal, some.data.tau.shape[1]
    units = joint_units(robot, n)
    # One unit stands in the rows, as R² has none; where joints turn and slide, above each column.
    kinds, names = {u.force for u in units}, joint_names(robot, n)
    unit = f", {kinds.pop()}" if len(kinds) == 1 else ""
    columns = [x if unit else f"{x}, {u.force}" for x, u in zip(names, units, strict=True)]
    rows = {
        f"torque, standard deviation{unit}": np.std(some.data.tau, axis=0).tolist(),
        f"nominal model, rms error{unit}": some.nominal.rms.tolist(),
    }
    rows |= {f"{name}, rms error{unit}": v.errors.rms.tolist() for name, v in validations.items()}
    rows |= {f"{name}, worst{unit}": v.errors.worst.tolist() for name, v in validations.items()}
    rows |= {f"{name}, R²": v.errors.r2.tolist() for name, v in validations.items()}
    return plain("Torques predicted on held-out data", columns, rows)


def base_table(fit: Fit) -> Table:
    """The base parameters of an estimate, by the names of parameters.csv."""
    prior = fit.basis.matrix @ fit.prior
    flags = {"friction": fit.basis.friction, "rotors": fit.basis.rotors}
    long = fit.nominal.parameter_names(**flags)
    short = fit.nominal.parameter_names(**flags, short=True)
    names = dict(zip(short, long, strict=True))
    kinds = {joint.name: joint.kind for joint in getattr(fit.nominal.model, "joints", ())}
    rows = {
        f"{names.get(name, name)} ({name})": [
            parameter_unit(names.get(name, name), kinds),
            *map(float, (x, s, r, p)),
            group,
        ]
        for name, x, s, r, p, group in zip(
            fit.names, fit.base, fit.std, fit.relative_std, prior, fit.basis.grouping, strict=True
        )
    }
    open_ = ", ".join(fit.undetermined)
    return plain(
        f"Base parameters by {fit.method}",
        ["unit", "estimate", "standard deviation", "relative", "nominal", "stands for"],
        rows,
        _LEGEND + (f" The data do not determine {open_}." if open_ else ""),
    )


_LEGEND = (
    "Base parameters are the sums of a robot's parameters that its forces depend on; each is named "
    "after its first term, as in parameters.csv, and by a short name with the number of its link. "
    "m: mass, kg; mx, my, mz: mass times centre of mass, kg m; Ixx ... Izz: moments of inertia "
    "about the origin of the link's frame, kg m²; Ia: inertia of a rotor, felt at its joint; fv, "
    "fc: viscous and Coulomb friction of a joint."
)
_UNITS = {
    "m": "kg", "mx": "kg m", "my": "kg m", "mz": "kg m",
    "rotor": ("kg m²", "kg"), "viscous": ("N m s/rad", "N s/m"), "coulomb": ("N m", "N"),
}  # fmt: skip


def parameter_unit(name: str, kinds: Mapping[str, str]) -> str:
    """The unit of a parameter by its name, such as "link2.Izz" or "joint2.viscous"; those of
    drives depend on the kind of the joint."""
    owner, _, symbol = name.rpartition(".")
    unit = _UNITS.get(symbol, "kg m²")
    if isinstance(unit, str):
        return unit
    return unit[units_of([kinds.get(owner, "revolute")], 1)[0].force == "N"]


def torque_picture(validation: Validation) -> Picture:
    """A picture of torques as measured, by the estimate and by the nominal model."""
    return Picture(
        "Torques",
        f"As measured, by the estimate ({validation.fit.method}) and by the nominal model, on "
        "held-out data.",
        lambda: _torques(validation),
    )


def _torques(validation: Validation) -> Chart:
    data, robot = validation.data, validation.fit.nominal
    n = data.tau.shape[1]
    looks: dict[str, tuple[Any, dict[str, Any]]] = {
        "measured": (data.tau, {"colour": INK, "width": 2.4, "opacity": 0.3}),
        "identified": (validation.predicted, {"colour": COLOURS[0], "width": 1.3}),
        "nominal": (validation.by_nominal, {"colour": COLOURS[1], "width": 1.0, "dash": "3 2"}),
    }
    panels = [
        Panel(name, f"{'force' if u.force == 'N' else 'torque'}, {u.force}", [
            Line(what, data.t, tau[:, j], **look) for what, (tau, look) in looks.items()
        ])
        for j, (name, u) in enumerate(
            zip(joint_names(robot, n), joint_units(robot, n), strict=True)
        )
    ]  # fmt: skip
    return Chart(panels, columns=min(n, 3))


def joint_units(robot: Any, n: int) -> tuple[Units, ...]:
    """The units of the n joints that a robot's forces act at."""
    kinds = {joint.name: joint.kind for joint in robot.model.joints}
    driven = getattr(robot, "actuated", tuple(kinds))
    return units_of([kinds.get(name, "revolute") for name in driven], n)  # in limbs all turn


def joint_names(robot: Any, n: int) -> Sequence[str]:
    """Their names."""
    names = robot.actuated
    return names if len(names) == n else [f"joint {j + 1}" for j in range(n)]


# Films


def excitation_film(excitation: Excitation, robot: Any) -> Picture:
    """A film of a robot that is excited."""
    t = np.linspace(0, excitation.duration, int(200 * excitation.duration) + 1)
    return motion_film(
        "The robot as it is excited",
        f"One period of the excitation, at most its first {LONGEST:g} s.",
        lambda: (robot, t, excitation(t)[0]),
    )


def data_films(robot: Any, data: Data) -> list[Picture]:
    """A film of the robot in held-out data; none where these are not its coordinates, as of a robot
    with loops whose data are of its motors."""
    if data.q.shape[1] != robot.nq or len(data) < 2:
        return []
    caption = f"As measured, at most the first {LONGEST:g} s."
    return [motion_film("The robot in the held-out data", caption, lambda: (robot, data.t, data.q))]


# The worked example


def example_document(example: Example) -> Document:
    """The PUMA identified and controlled."""
    chosen = example.validations[example.chosen]
    tracking = Picture(
        "Tracking",
        "The largest position error of any joint under computed torque.",
        lambda: _tracking(example),
    )
    totals = {x: float(np.linalg.norm(example.tracking(x))) for x in example.runs}
    first, best = next(iter(totals)), min(totals, key=lambda name: totals[name])
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
        [
            motion_picture(example.excitation, example.nominal),
            torque_picture(chosen),
            tracking,
            excitation_film(example.excitation, example.nominal),
        ],
        f"Tracking errors are {totals[first] / totals[best]:.3g} times smaller with the {best} "
        f"than with the {first}",
        totals[best] < totals[first],
        [f"{name}: {reason}" for name, reason in example.refused.items()],
        [example.nominal.model],
    )


def data_table(data: Mapping[str, Data]) -> Table:
    """The data, and what was done to them."""

    rows: dict[str, Sequence[Any]] = {
        name: [len(d), d.rate, d.cutoff, "; ".join(d.notes)] for name, d in data.items()
    }
    return plain("Data", ["samples", "samples per second", "low-pass, Hz", "what was done"], rows)


def tracking_table(example: Example) -> Table:
    """Position errors under computed torque by several models."""

    rows: dict[str, Sequence[Any]] = {}
    first = float(np.linalg.norm(example.tracking(next(iter(example.runs)))))
    for name in example.runs:
        error = example.tracking(name)
        total = float(np.linalg.norm(error))
        rows[name] = [*(1e3 * error).tolist(), 1e3 * total, first / total]
    joints = list(example.nominal.joint_names)
    return plain(
        "Computed torque: rms position errors on a motion of its own, mrad",
        [*joints, "all", "times better"],
        rows,
        "The same law and gains on the same rig; only the model differs. The last two compensate "
        "the identified friction, too. The search for the excitation amplifies rounding: on "
        "another processor the motion is another one, and the last row may differ.",
    )


def _tracking(example: Example) -> Chart:
    from appell.study.identify_puma import following

    drawn = []
    for k, (name, report) in enumerate(example.runs.items()):
        t, error = following(report)
        drawn.append(Line(name, t, np.abs(error).max(axis=1), style(k + 1)["colour"]))
    return Chart([Panel("", "largest error, rad", drawn, log="y")])
