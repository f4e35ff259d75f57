"""The report of a tune: verdict, convergence, parameters, constraints, samples. One HTML file."""

from __future__ import annotations

from html import escape
from math import isfinite
from pathlib import Path

from appell.show.figure import MOST_POINTS, figure_html
from appell.show.head import Head
from appell.show.page import page, table
from appell.study.tuning.tune_charts import (
    convergence,
    convergence_caption,
    over_samples,
    samples_caption,
)
from appell.study.tuning.tuned import Tuned
from appell.whole_file import write_whole

_FILES = {
    "scenario.json": "the tuned scenario, for appell run",
    "summary.json": "the numbers of this page",
    "evaluations.jsonl": "every evaluation, a line each",
    "tune.log": "what happened, with the time",
}
_METHODS = {
    "differential_evolution": "differential evolution",
    "gradient": "gradients (SLSQP)",
}


def write_tuning(tuned: Tuned, folder: Path) -> Path:
    """Write report.html into the folder of a tune; its path."""
    path = folder / "report.html"
    write_whole(path, html(tuned, [x for x in _FILES if (folder / x).exists()]))
    return path


def html(tuned: Tuned, files: list[str] | None = None) -> str:
    """The page: verdict first."""
    head = _head(tuned, files or [])
    way = figure_html(
        convergence(tuned),
        "Convergence",
        convergence_caption(tuned, MOST_POINTS),
    )
    sections = [
        head.html(),
        f"<h2>Convergence</h2>\n{way}",
        _parameters(tuned),
        _constraints(tuned),
        _samples(tuned),
        _compared(tuned),
        _failures(tuned),
        _scenario(tuned),
    ]
    return page(head.title, [x for x in sections if x])


def _head(tuned: Tuned, files: list[str]) -> Head:
    tune = tuned.study.tune
    assert tune is not None
    many = len(tuned.history["objective"])
    over = f" over {tuned.count} samples" if tuned.count > 1 else ""
    goal = "minimise" if tuned.aims.objective.sign > 0 else "maximise"
    number = len(tuned.parameters)
    what = f"{number} parameter{'s' if number > 1 else ''}"
    verdict = tuned.verdict
    scenario = tuned.scenario
    return Head(
        tuned.study.title or (scenario.title if scenario is not None else "") or "Tune",
        f"{goal.capitalize()} {tuned.what}{over}: {what} by {_METHODS[tune.method]}, "
        f"{many} evaluations; {tuned.why}.",
        f"{verdict[:1].upper()}{verdict[1:]}.",
        tuned.ok and not tuned.interrupted,
        [f"{x[:1].upper()}{x[1:]}." for x in tuned.warnings],
        {name: _FILES[name] for name in files},
    )


def _parameters(tuned: Tuned) -> str:
    tune = tuned.study.tune
    assert tune is not None
    units = {n: "factor" if p.scales else tuned.units[n] for n, p in tune.parameters.items()}
    known = any(units.values())
    rows = []
    for name, x in tuned.parameters.items():
        p, own = tune.parameters[name], tuned.own[name]
        between = f"{p.between[0]:g} to {p.between[1]:g}{', logarithmic' * p.logarithmic}"
        own_value = "–" if own is None else _number(own)
        unit = [escape(units[name])] * known
        rows.append([f"<code>{escape(name)}</code>", own_value, _number(x), *unit, between])
    head = ["parameter", "before", "after", *["unit"] * known, "searched between"]
    return "<h2>Parameters</h2>\n" + table(head, rows)


def _constraints(tuned: Tuned) -> str:
    rows = [
        [
            escape(x.what),
            f"{'at least' if x.least else 'at most'} {x.bound:g}",
            _number(x.before),
            _number(x.after),
            _number(x.margin),
            escape(x.unit),
            "yes" if x.kept else '<span class="warn">no</span>',
        ]
        for x in tuned.constraints
    ]
    if not rows:
        return ""
    head = ["held", "bound", "before", "after", "margin", "unit", "kept"]
    return "<h2>Constraints</h2>\n" + table(head, rows)


def _samples(tuned: Tuned) -> str:
    chart = over_samples(tuned)
    if chart is None:
        return ""
    return f"<h2>The samples</h2>\n{figure_html(chart, 'Samples', samples_caption(chart))}"


def _compared(tuned: Tuned) -> str:
    compared = tuned.compared
    rows = []
    for name, pairs in compared.items():
        if name in ("point", "refused"):
            continue
        for k, (fast, exact) in zip(compared["point"], pairs, strict=True):
            rows.append([f"sample {k}", escape(name), _number(fast), _number(exact)])
    if not rows:
        return ""
    about = (
        '<p class="note">Samples are runs of rollouts, with steps of fixed length; these were also '
        "run exactly, with the tuned parameters. Friction that sticks, and steps that are long, "
        "make both differ.</p>"
    )
    head = ["", "measure", "as a rollout", "exactly"]
    return f"<h2>Beside exact runs</h2>\n{about}\n" + table(head, rows)


def _failures(tuned: Tuned) -> str:
    rows = [[str(count), escape(why)] for why, count in list(tuned.failures.items())[:20]]
    if not rows:
        return ""
    about = '<p class="note">Of each evaluation with failed samples, the first reason.</p>'
    return f"<h2>Failures</h2>\n{about}\n" + table(["evaluations", "reason"], rows)


def _scenario(tuned: Tuned) -> str:
    if tuned.scenario is None:
        return ""
    return (
        "<h2>The tuned scenario</h2>\n<details><summary>For <code>appell run scenario.json</code>"
        f"</summary><pre>{escape(tuned.scenario.text())}</pre></details>"
    )


def _number(x: float) -> str:
    return f"{x:.5g}" if isfinite(x) else "–"
