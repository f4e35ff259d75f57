"""Rollouts beside exact runs: some points of a sweep are computed both ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from appell.robots.dynamics import Array
from appell.study.sweeps.measures import MEASURES
from appell.study.sweeps.points import Points
from appell.study.sweeps.study_file import Study

DOUBTFUL = 0.02  # share of a measure by which both may differ without a warning


def compare(points: Points, note: Callable[[str], None]) -> dict[str, Any]:
    """Measures of some points as runs of a rollout, and beside them of exact runs; ``refused`` are
    the points that have no exact run, and why."""
    wanted = points.study.rollout.compare
    if points.why_one_by_one is not None or not wanted:
        return {}
    count = points.design.count
    chosen = np.unique(np.linspace(0, count - 1, min(wanted, count)).astype(int)).tolist()
    pairs: dict[str, Any] = {"point": []}
    note(f"{len(chosen)} of the points are also run exactly ([rollout] compare)")
    for k in chosen:
        columns = points.compute(k, k + 1)
        if columns["failed"][0]:
            continue
        try:
            exact = points.measured(points.values_at(k))
        except Exception as problem:
            pairs.setdefault("refused", []).append(f"point {k}: {problem}")
            continue
        pairs["point"].append(k)
        for name, x in exact.items():
            pairs.setdefault(name, []).append([float(columns[name][0]), x])
    return pairs


class Difference(NamedTuple):
    """How far a measure of rollouts is from that of exact runs, at the points that were compared:
    the largest difference, at which point, both values there, and the largest finite value of exact
    runs; infinite if there is none."""

    largest: float
    point: int
    rollout: float
    exact: float
    size: float


def differences(compared: Mapping[str, Any], measures: Iterable[str]) -> dict[str, Difference]:
    """Largest differences between rollouts and exact runs, by measure, of what `compare` found."""
    points = compared.get("point", [])
    by_measure = {}
    for name in measures:
        pairs = np.array(compared.get(name, []), dtype=float).reshape(-1, 2)
        if len(pairs) and len(pairs) == len(points):
            rolled, exact = pairs.T
            away = np.zeros(len(pairs))
            np.subtract(rolled, exact, out=away, where=rolled != exact)  # both may be infinite
            away = np.abs(away)
            k = int(np.argmax(np.nan_to_num(away, nan=np.inf)))
            finite = np.abs(exact[np.isfinite(exact)])
            size = float(finite.max()) if len(finite) else np.inf
            both = float(rolled[k]), float(exact[k])
            by_measure[name] = Difference(float(away[k]), int(points[k]), *both, size)
    return by_measure


def allowed(study: Study, name: str, x: Difference, finite: Array) -> float:
    """The difference that is of no consequence: a share of the measure, or of the range of its
    finite values in the sweep; an instant may be a sample late."""
    measure = MEASURES.get(name.partition(".")[0])
    sizes = [x.size] if np.isfinite(x.size) else []
    if len(finite):
        sizes.append(float(np.ptp(finite)))
    late = 0.0
    if measure is not None and study.scenario is not None:
        if measure.unit == "rad or m" and measure.follows:
            sizes.append(float(np.max(study.tolerance)))
        late = study.base.sampling.period if measure.unit == "s" else 0.0
    return DOUBTFUL * max(sizes, default=0.0) + late


def in_words(name: str, x: Difference, unit: str, study: Study) -> str:
    """Warning about a difference, with the cure."""
    unit = unit and f" {unit}"
    return (
        f"{name} at point {x.point} is {x.rollout:.4g}{unit} by the rollout, and "
        f"{x.exact:.4g}{unit} by an exact run. {cure(study)}."
    )


def cure(study: Study) -> str:
    """Advice that brings rollouts and exact runs closer together."""
    how = study.rollout
    text = f"Take shorter steps ([rollout] step, {how.step:g} s now)"
    if study.scenario is not None and study.base.robot.friction:
        text = (
            f"Take a smaller [rollout] slip ({how.slip:g} rad/s or m/s now: dry friction fades "
            f"below it) and shorter steps (step, {how.step:g} s now)"
        )
    if study.tune is not None and study.tune.method == "gradient":
        return f"{text}; or take tune.method = 'differential_evolution' with method = 'runs'"
    return f"{text}, or method = 'runs', which takes longer"
