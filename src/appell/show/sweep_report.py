"""The report of a sweep: verdict, distributions, worst cases, what matters, failures. One HTML
file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from appell.charts.chart import Chart
from appell.errors import AppellError
from appell.show import sweep_tables as tables
from appell.show.figure import figure_html
from appell.show.head import Head
from appell.show.page import page
from appell.show.sweep_tables import joined, note
from appell.study.sweeps.results.statistics import between
from appell.study.sweeps.results.sweep_charts import (
    distributions,
    responses,
    responses_caption,
    shares,
    shares_caption,
    sobol_chart,
)
from appell.study.sweeps.results.sweep_statistics import WORST, Statistics, percent
from appell.study.sweeps.results.sweep_statistics import summary as summary
from appell.study.sweeps.sweep import Sweep
from appell.whole_file import disk_error, write_whole

FILES = {
    "study.json": "what was swept, and by which versions",
    "points": "the points, Parquet files",
    "inputs": "the files that the study reads",
    "sweep.log": "what happened, with the time",
}
_MARK = "<!-- the report of a sweep, by Appell -->"
_OPEN = 3  # measures whose worst points are shown at once
_PANELS = 32  # responses that are drawn
_DOTS = 24_000  # points that they show, all together
_ACROSS = 8  # measures beside each other in a table
_INDICES = 12  # measures whose Sobol indices are drawn
_HISTOGRAMS = 60
_SAMPLING = {
    "sobol": "Sobol points",
    "latin_hypercube": "a Latin hypercube",
    "random": "random points",
    "grid": "a grid",
    "list": "a list of points",
    "saltelli": "Saltelli's samples for Sobol indices",
}


def html(sweep: Sweep, files: Iterable[str] = (), rate: float | None = None) -> str:
    """The page of a sweep, verdict first.

    Args:
        sweep: The sweep, whole or not.
        files: The names of files beside the page that it is to link.
        rate: Points that were computed per second, if that is known.

    Returns:
        One HTML file that needs no other.
    """
    of = sweep.statistics
    sections = [
        _MARK,
        _head(of, files, rate).html(),
        _measures(of),
        _worst(of),
        _matters(of),
        _responses(of),
        _failures(of),
        _asked(of),
        tables.data_html(of),
        "<h2>The study</h2>\n<details><summary>As JSON</summary>"
        f"<pre>{escape(sweep.study.text())}</pre></details>",
    ]
    return page(_title(sweep), filter(None, sections))


def write_sweep(sweep: Sweep, folder: Path | None = None, rate: float | None = None) -> Path:
    """Write report.html into a sweep's folder and give its path. A report of a sweep that is there
    is replaced; another file of this name is not."""
    target = folder if folder is not None else sweep.folder
    if target is None:
        raise AppellError("this sweep has no folder; give one for its report.")
    path = target / "report.html"
    text = html(sweep, [name for name in FILES if (target / name).exists()], rate)
    cure = "The points are kept, and 'appell sweep show' writes their report."
    try:
        if path.exists() and _MARK.encode() not in path.read_bytes():
            raise AppellError(
                f"'{path}' is no report of a sweep, and is not replaced; move it away."
            )
        target.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise disk_error(path, problem, cure) from None
    write_whole(path, text, cure=cure)
    return path


def _title(sweep: Sweep) -> str:
    study = sweep.study
    if study.title:
        return study.title
    file = study.source.file
    inner = file is None or (sweep.folder is not None and file.is_relative_to(sweep.folder))
    named = sweep.folder.resolve().name if inner and sweep.folder is not None else ""
    name = file.stem if file is not None and not inner else named
    return f"Sweep: {name}" if name else "Sweep"


def _head(of: Statistics, files: Iterable[str], rate: float | None) -> Head:
    study = of.sweep.study
    what = "A scenario" if study.function is None else f"The function {study.function}"
    if of.robot is not None:
        what = f"{of.robot.name}, task {of.task}"
    count = len(of.variables)
    asked = [
        f"{what}, at points of {count} variable{'s' * (count != 1)}: "
        f"{_SAMPLING[study.sampling]}, seed {study.seed}",
        of.how,
        f"{rate:,.0f} points/s" if rate is not None and rate >= 1 else
        f"{rate:.2g} points/s" if rate is not None else "",
    ]  # fmt: skip
    return Head(
        _title(of.sweep),
        f"{'; '.join(filter(None, asked))}.",
        f"{of.verdict}.",
        of.good,
        list(of.warnings),
        {name: FILES.get(name, "data") for name in files},
        [] if of.robot is None else [of.robot.model],
    )


def _figure(chart: Chart, title: str, caption: str) -> str:
    return figure_html(chart, title, caption) if chart.panels else ""


def _measures(of: Statistics) -> str:
    never = [f"{x}: {of.never(x)}" for x in of.measures if of.numbers(x).infinite]
    constant = [
        f"{x} = {tables.shown(of.numbers(x).spread.low)}"
        for x in of.measures
        if len(of.numbers(x).finite) and not of.numbers(x).infinite and not of.varies(x)
    ]
    remarks = [
        "Of the points that did not fail; infinite values count as the largest."
        if of.failed or never else "",
        f"{'; '.join(never)}." if never else "",
        f"The same at all points: {', '.join(constant)}." if constant else "",
        "" if of.measures else "No point has given a measure.",
    ]  # fmt: skip
    listed = [x for x in of.measures if of.numbers(x).spread.finite]
    caption = "Vertical lines: the quantiles of 5 %, 50 % and 95 %."
    return joined([
        "<h2>Measures</h2>",
        note(escape(" ".join(filter(None, remarks)))) if any(remarks) else "",
        tables.measures_table(of) if of.measures else "",
        _figure(distributions(of, listed[:_HISTOGRAMS]), "Distributions of the measures", caption),
    ])  # fmt: skip


def _worst(of: Statistics) -> str:
    some = [x for x in of.measures if len(of.worst(x)) and _tells(of, x)]
    if not some:
        return ""
    parts = []
    for k, name in enumerate(some):
        title = escape(tables.worst_title(of, name))
        parts.append(_folded(title, tables.worst_table(of, name), k < _OPEN))
    first = int(of.worst(some[0])[0])
    about = f"At most {WORST} points of each measure. {tables.replay_note(of.sweep, first)}"
    return joined(["<h2>Worst cases</h2>", note(about), *parts])


def _tells(of: Statistics, measure: str) -> bool:
    """Whether points differ in a measure, so that some are worse than others."""
    numbers = of.numbers(measure)
    return of.varies(measure) or numbers.infinite > 0 or of.succeeds(measure)


def _folded(title: str, content: str, is_open: bool) -> str:
    if is_open:
        return f"<h3>{title}</h3>\n{content}"
    return f"<details><summary>{title}</summary>\n{content}</details>"


def _matters(of: Statistics) -> str:
    """Sobol indices, or rank correlations."""
    if of.sweep.study.sampling == "saltelli":
        return _sobol(of)
    known = [
        name
        for name, row in zip(of.measures, of.correlations, strict=True)
        if not np.isnan(row).all()
    ]
    if not known:
        return ""
    count = max(of.numbers(x).spread.finite + of.numbers(x).infinite for x in known)
    about = (
        "Spearman's rank correlation of each measure with each variable: 1 if it always grows with "
        "the variable, −1 if it always falls; one that grows and falls can have 0. Infinite values "
        f"are the largest. Numbers below about {2 / np.sqrt(count):.2g} may be chance."
    )
    return joined([
        "<h2>What matters: rank correlations</h2>", note(about),
        *(tables.correlations_table(of, part) for part in _parts(known, _ACROSS)),
    ])  # fmt: skip


def _sobol(of: Statistics) -> str:
    about = [f"{escape(name)}: {escape(why)}" for name, why in of.without_indices.items()]
    missing = note(" ".join(about)) if about else ""
    known = [x for x in of.sobol if of.sobol[x].total.any()]
    if not known:
        return joined(["<h2>What matters: Sobol indices</h2>", missing]) if about else ""
    caption = (
        "Shares of a measure's variance. First order: what a variable explains by itself; total: "
        "with all that it does together with others. Bars, and numbers in parentheses: bounds of "
        f"{percent(of.sobol[known[0]].confidence)} confidence. Samples of which a point failed or "
        "is infinite are left out."
    )
    return joined([
        "<h2>What matters: Sobol indices</h2>", missing,
        _figure(sobol_chart(of, known[:_INDICES]), "Sobol indices", caption),
        *(tables.sobol_table(of, part) for part in _parts(known, _ACROSS // 3 + 1)),
    ])  # fmt: skip


def _parts(names: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    for k in range(0, len(names), most):
        yield names[k : k + most]


def _responses(of: Statistics) -> str:
    """Each measure over the variables that matter most to it; where points fail, and where values
    are infinite."""
    measures = [x for x in of.measures if of.varies(x) and of.numbers(x).spread.finite > 2]
    variables = [x for x in of.variables if of.varies(x)]
    each = min(len(variables), max(2, _PANELS // max(1, len(measures))))
    if not variables or len(of.sweep) < 3:
        return ""
    drawn = measures[: max(1, _PANELS // each)]
    dots = min(1200, _DOTS // max(1, each * len(drawn)))
    parts = []
    for name in drawn:
        strength = dict(zip(of.variables, of.influence(name), strict=True))
        chosen = sorted(variables, key=lambda x: -strength[x])[:each]
        chart = responses(of, name, [x for x in variables if x in chosen], dots)
        caption = responses_caption(of, name, chart, dots)
        parts.append(f"<h3>{escape(name)}</h3>\n{_figure(chart, name, caption)}")
    where = {f"{x} is infinite": np.isinf(of.sweep[x]) for x in of.measures
             if of.numbers(x).infinite}  # fmt: skip
    if 0 < of.failed < len(of.sweep):
        where = {"a point failed": of.sweep.failed} | where
    for what, truth in [*where.items()][: max(1, _PANELS // each)]:
        if not np.all(truth):
            strong = {x: between(of.groups(x), truth) for x in variables}
            chosen = sorted(variables, key=lambda x: -strong[x])[:each]
            chart = shares(of, truth, what, [x for x in variables if x in chosen])
            parts.append(f"<h3>Where {escape(what)}</h3>\n{_figure(chart, what, shares_caption())}")
    left = len(variables) > each or len(measures) > len(drawn)
    about = note(
        f"Drawn: for {len(drawn)} of {len(measures)} measures, the {each} of {len(variables)} "
        "variables that matter most to it."
    )
    return joined(["<h2>Responses</h2>", about if left else "", *parts]) if parts else ""


def _failures(of: Statistics) -> str:
    if not of.failed:
        return ""
    first = of.failures[0].points[0]
    about = f"{of.failed:,} of {len(of.sweep):,} points. {tables.replay_note(of.sweep, first)}"
    return joined(["<h2>Failures</h2>", note(about), tables.failures_table(of)])


def _asked(of: Statistics) -> str:
    study = of.sweep.study
    varied = [x for x in of.variables if len(of.sweep) and of.varies(x)]
    how = f"{of.how[:1].upper()}{of.how[1:]}." if of.how else ""
    about = (
        f"{_SAMPLING[study.sampling][:1].upper()}{_SAMPLING[study.sampling][1:]}, seed "
        f"{study.seed}: {of.planned:,} points. {how} success and settling_time are to within "
        f"{_tolerance(study.tolerance)}."
    )
    chart = distributions(of, varied[:_HISTOGRAMS])
    return joined([
        "<h2>What was asked</h2>", note(escape(about)),
        tables.variables_table(of), tables.correlated(of),
        _figure(chart, "Distributions of the variables", "The points' values of the variables."),
        tables.compared_table(of),
    ])  # fmt: skip


def _tolerance(x: float | tuple[float, ...]) -> str:
    values = x if isinstance(x, tuple) else (x,)
    return f"{', '.join(f'{v:g}' for v in values)} rad or m"
