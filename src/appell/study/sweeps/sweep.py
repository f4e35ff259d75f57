"""Sweep: a scenario at every point of a study, nothing lost and nothing twice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.charts.chart import Chart
from appell.compile.gpu.driver import driver
from appell.errors import InputError
from appell.given import number, one_of
from appell.robots.dynamics import Array
from appell.study.run_scenario import Result
from appell.study.scenario import Scenario
from appell.study.sweeps.bundle import Bundle, bundle_of, opened
from appell.study.sweeps.comparison import compare
from appell.study.sweeps.engine.dask_engine import DaskEngine
from appell.study.sweeps.engine.local_cluster import worker_count
from appell.study.sweeps.points import Points
from appell.study.sweeps.storage.block_table import Columns, Stretch
from appell.study.sweeps.storage.dataset import (
    Dataset,
    joined,
    read_columns,
    read_compared,
    study_in,
)
from appell.study.sweeps.study_file import Study, read_study
from appell.study.sweeps.sweep_progress import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from appell.study.sweeps.results.sweep_statistics import Statistics


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """The results of a sweep.

    Attributes:
        study: What was swept.
        columns: By name, an array over the points each: "point", the variables, "failed", "reason",
            and the measures, which are NaN where a point failed.
        folder: Where they are kept, or None.
        compared: Of points that are runs of a rollout: the measures of some of them beside those of
            exact runs, {"point": [...], measure: [[rollout, exact], ...]}.
    """

    study: Study
    columns: dict[str, Array]
    folder: Path | None = None
    compared: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["point"])

    def __repr__(self) -> str:
        return (
            f"<Sweep of {len(self):,} points, {int(self.failed.sum()):,} "
            f"failed: {', '.join(self.measures)} by {', '.join(self.variables)}>"
        )

    def __getitem__(self, name: str) -> Array:
        if name not in self.columns:
            raise InputError(f"there is no column '{name}'; there are {', '.join(self.columns)}.")
        return self.columns[name]

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of what varies."""
        return tuple(self.study.vary)

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of what was kept of each point."""
        names = list(self.columns)
        return tuple(names[names.index("reason") + 1 :])

    @property
    def failed(self) -> Array:
        """Which points failed, (points,), True or False; no unit."""
        return self.columns["failed"]

    def reasons(self) -> dict[str, int]:
        """Reasons of failed points with their counts, the most frequent first."""
        counts = Counter(self.columns["reason"][self.failed].tolist())
        return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))

    def worst(self, measure: str, count: int = 10, *, smallest: bool = False) -> Array:
        """The points with the largest values of a measure; failed points are none of them.

        Args:
            measure: One of ``measures``.
            count: How many, no unit.
            smallest: Whether the smallest are asked for.

        Returns:
            The points' numbers, (count,), the most extreme first; no unit.
        """
        values = self[measure]
        good = np.flatnonzero(~np.isnan(values))
        key = values[good] if smallest else -values[good]
        if 0 < count < len(key):  # sort no more than is asked for
            few = np.flatnonzero(key <= np.partition(key, count - 1)[count - 1])
            good, key = good[few], key[few]
        return self.columns["point"][good[np.argsort(key, kind="stable")[:count]]]

    def indices(self, measure: str, **options: Any) -> Any:
        """Sobol indices of a measure: `appell.study.sweeps.results.sensitivity.sobol_indices`.

        Args:
            measure: One of ``measures``.
            **options: ``confidence``, ``resamples`` and ``seed`` of the bounds.

        Returns:
            `SobolIndices`: shares of the variance, no unit.
        """
        from appell.study.sweeps.results.sensitivity import sobol_indices

        return sobol_indices(self, measure, **options)

    @cached_property
    def statistics(self) -> Statistics:
        """Statistics of the results: spreads, worst points, sensitivities, a summary."""
        from appell.study.sweeps.results.sweep_statistics import Statistics

        return Statistics(self)

    def chart(self, measure: str | None = None) -> Chart:
        """The chart of the distributions of all measures; or of one measure, with how it responds
        to each of the variables.

        Args:
            measure: One of ``measures``; all without it.

        Returns:
            A chart.
        """
        from appell.study.sweeps.results.sweep_charts import sweep_chart

        if measure is not None and measure not in self.measures:
            raise InputError(
                f"there is no measure '{measure}'; there are {', '.join(self.measures)}."
            )
        return sweep_chart(self.statistics, measure)

    def plot(self, measure: str | None = None) -> Figure:
        """A Matplotlib figure of `chart`.

        Args:
            measure: One of ``measures``; all without it.

        Returns:
            A figure.
        """
        return self.chart(measure).figure("sweep.plot")

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write all columns to a CSV file, a row per point.

        Args:
            path: The file to write.

        Returns:
            Nothing; columns have the units of the measures.
        """
        import csv

        names, columns = list(self.columns), [x.tolist() for x in self.columns.values()]
        with Path(path).open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(names)
            rows.writerows(zip(*columns, strict=True))

    def scenario(self, point: int) -> Scenario:
        """The scenario of a point.

        Args:
            point: Number of the point.

        Returns:
            A `Scenario`.
        """
        return self._points.at(self._points.values_at(point))

    def run(self, point: int) -> Result:
        """A point by itself: the whole run, with events found exactly.

        Args:
            point: Number of the point.

        Returns:
            A `Result`.
        """
        return self._points.result(self._points.values_at(point))

    @cached_property
    def _points(self) -> Points:
        return Points(self.study)


def sweep(
    study: Study | str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    security: Any = None,
    target: str = "auto",
    patience: float = 300.0,
    progress: Progress | None = None,
) -> Sweep:
    """The results of a study at all of its points.

    Points that can be are runs of rollouts, thousands at a time; others run one by one. With a
    folder, results are written to it block by block, and a sweep that was interrupted goes on where
    it stood. A point that fails keeps its reason, and stops no other.

    Args:
        study: A `Study`, or the path of a .toml or .json file.
        folder: Where results are kept; in memory without it.
        workers: Processes of Dask on this machine; without them points are computed in this one.
        scheduler: The address of a scheduler of Dask, such as "tcp://10.0.0.1:8786".
        security: A `distributed.Security`, for TLS; Dask's own configuration without it.
        target: Where rollouts run: "cpu", "cuda", or "auto", the GPU where a worker has one.
        patience: How long to wait for a scheduler that is lost, s.
        progress: Is shown what happens: `appell.study.sweeps.sweep_progress`.

    Returns:
        A `Sweep`.

    Examples:
        >>> scenario = {"robot": "planar_chain", "task": {"kind": "fall", "until": 0.2}}
        >>> vary = {"start.v.joint1": {"uniform": (0.0, 1.0)}}
        >>> study = appell.study.Study(scenario=scenario, vary=vary, points=64)
        >>> results = appell.study.sweep(study)
        >>> len(results), results.measures, results.failed.sum()
        (64, ('peak_speed', 'energy_end'), np.int64(0))
    """
    study = study if isinstance(study, Study) else read_study(study)
    shown = progress or Progress()
    one_of("sweep: target", target, ("auto", "cpu", "cuda"))
    if workers is not None and scheduler is not None:
        raise InputError("sweep: workers are of this machine, and scheduler of others; choose one.")
    Points(study)  # refuses what is wrong in the study, with its place in the file
    bundle = bundle_of(study)
    remote = workers is not None or scheduler is not None
    if target == "cuda" and not remote:
        driver().device(0)  # without a GPU it is refused here, and not at each point
    # From copies of the study's files, as on workers; those have GPUs, this machine perhaps none.
    points = Points(opened(bundle), "cpu" if remote else target)
    engine: DaskEngine | None = None
    if remote:
        count = None if workers is None else worker_count("sweep: workers", workers)
        engine = DaskEngine(
            bundle, points, workers=count,
            scheduler=scheduler, security=security, target=target,
            patience=number("sweep: patience", patience), note=shown.note,
        )  # fmt: skip
    if folder is None:
        return _in_memory(points, engine, shown)
    return _in_folder(points, bundle, engine, shown, Path(folder))


def _in_memory(points: Points, engine: DaskEngine | None, progress: Progress) -> Sweep:
    count = points.design.count
    compared = compare(points, progress.note)
    _announce(points, engine, progress)
    kept: dict[int, Columns] = {}
    with progress.running(count, count) as seen:
        ends = [*range(0, count, points.block), count]
        stretches = [Stretch(k, *x) for k, x in enumerate(pairwise(ends))]
        for x, columns in _computed(points, engine, stretches, seen):
            kept[x.block] = columns
    return Sweep(points.study, joined([kept[k] for k in sorted(kept)]), None, compared)


def _in_folder(
    points: Points, bundle: Bundle, engine: DaskEngine | None, progress: Progress, folder: Path
) -> Sweep:
    count = points.design.count
    data = Dataset(folder, bundle, points.study, points.block)
    try:
        progress.log = data.log
        missing = data.missing(count)
        if data.damaged:
            names = ", ".join(data.damaged[:3]) + ", ..." * (len(data.damaged) > 3)
            progress.note(f"damaged, or of another study, and computed again: {names}")
        compared = data.compared(lambda: compare(points, progress.note))
        left = sum(x.last - x.first for x in missing)
        (data.log if left in (0, count) else progress.note)(
            f"{left:,} of {count:,} points to compute"
        )
        failed = data.failed(missing)
        if left:
            _announce(points, engine, progress)
            remark = data.other_processor("points")
            if remark is not None:
                progress.note(remark)
        with progress.running(count, left, failed) as seen:
            computed: dict[int, Columns] = {}
            for x, columns in _computed(points, engine, missing, seen):
                computed[x.block] = data.put(x, columns)
        data.level()
        data.log("done")
    except BaseException as problem:
        why = f"{type(problem).__name__}: {problem}".removesuffix(": ")
        data.log(f"stopped: {why}")
        raise
    finally:
        data.close()
    return Sweep(points.study, read_columns(folder, computed), folder, compared)


def _announce(points: Points, engine: DaskEngine | None, progress: Progress) -> None:
    """Report what a user should know before points are computed."""
    progress.note(f"points run {points.method_in_words(engine is None)}")
    if points.known_loads:
        progress.note(
            f"the law knows {' and '.join(points.known_loads)}; give law.believes = "
            "{ payload = { mass = 0 } } in the scenario if it must not"
        )


def _computed(
    points: Points, engine: DaskEngine | None, stretches: list[Stretch], seen: Any
) -> Iterator[tuple[Stretch, Columns]]:
    """Whole stretches, one of a block at most, as they come."""
    if engine is None:
        for x in stretches:
            columns = points.compute(x.first, x.last, seen.advance)
            seen.failed(int(columns["failed"].sum()))
            yield x, columns
        return
    whole_of = {x.block: x for x in stretches}
    pieces: dict[int, dict[int, Columns]] = {}
    for x, columns in engine.blocks(stretches):
        seen.advance(x.last - x.first)
        seen.failed(int(columns["failed"].sum()))
        held = pieces.setdefault(x.block, {})
        held[x.first] = columns
        wanted = whole_of[x.block]
        if sum(len(c["point"]) for c in held.values()) == wanted.last - wanted.first:
            yield wanted, joined([held[k] for k in sorted(held)])
            del pieces[x.block]


def open_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """The results in a folder that `sweep` wrote, whole or not.

    Args:
        folder: The sweep's.

    Returns:
        A `Sweep`.

    Examples:
        >>> scenario = {"robot": "planar_chain", "task": {"kind": "fall", "until": 0.2}}
        >>> vary = {"start.v.joint1": {"linear": (0.0, 1.0, 5)}}
        >>> study = appell.study.Study(scenario=scenario, vary=vary, sampling="grid")
        >>> _ = appell.study.sweep(study, tmp / "fall")
        >>> len(appell.study.open_sweep(tmp / "fall"))
        5
    """
    path = Path(folder)
    return Sweep(study_in(path), read_columns(path), path, read_compared(path))
