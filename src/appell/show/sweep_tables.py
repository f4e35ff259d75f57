"""Tables of a sweep's report."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from appell.show.page import table
from appell.study.sweeps.results.statistics import value_text
from appell.study.sweeps.results.sweep_charts import labelled
from appell.study.sweeps.results.sweep_statistics import EARLIEST, Statistics
from appell.study.sweeps.sweep import Sweep
from appell.study.sweeps.variable import Variable

_KINDS = 40  # reasons of failures that are listed
_SOME = 10  # points of each
_ACROSS = 8  # variables beside each other
_VALUES = 8  # values of a variable that are listed
_WORDS = {
    "uniform": "from {} to {}",
    "log_uniform": "from {} to {}",
    "normal": "mean {}, deviation {}",
    "log_normal": "median {}, deviation of the logarithm {}",
    "truncated_normal": "mean {}, deviation {}, from {} to {}",
    "triangular": "from {}, most likely {}, to {}",
    "beta": "shapes {} and {}, from {} to {}",
    "whole": "from {} to {}",
    "linear": "from {} to {}, {} values",
    "logarithmic": "from {} to {}, {} values",
}


def shown(x: float) -> str:
    """Four digits of a number."""
    if np.isinf(x):
        return "∞" if x > 0 else "−∞"
    return "–" if np.isnan(x) else f"{x:.4g}"


def note(text: str) -> str:
    """A remark below or above a table; its text is HTML."""
    return f'<p class="note">{text}</p>'


def code(text: str) -> str:
    """What is typed."""
    return f"<code>{escape(text)}</code>"


def heading(name: str) -> str:
    """A name over a column, as HTML: a long one may be broken behind dots and underscores."""
    return escape(name).replace("_", "_<wbr>").replace(".", ".<wbr>")


# Commands


def study_of(sweep: Sweep) -> str:
    """The study as commands name it: the sweep's folder, which has all that it needs."""
    folder = sweep.folder
    if folder is None:
        return "STUDY"
    return folder.name if folder.is_absolute() else str(folder)


def replay(sweep: Sweep, point: int) -> str:
    """The command that runs a point by itself."""
    return f"appell sweep {shlex.quote(study_of(sweep))} --point {point}"


def replay_note(sweep: Sweep, point: int) -> str:
    """How a point is run by itself, and played."""
    if sweep.study.function is not None:
        return f"{code(replay(sweep, point))} computes a point by itself."
    there = f"{Path(study_of(sweep)).resolve().stem}-point-{point}"
    return (
        f"{code(replay(sweep, point))} runs a point by itself, with events found exactly, and "
        f"{code(f'appell view {shlex.quote(there)}')} plays it."
    )


# What was asked


def distribution(variable: Variable) -> str:
    """The distribution of a variable, in words."""
    given = getattr(variable, variable.kind)
    if variable.kind == "values":
        texts = [value_text(x) for x in given[:_VALUES]]
        more = f", ... ({len(given):,} values)" if len(given) > _VALUES else ""
        return f"one of {', '.join(texts)}{more}"
    words = _WORDS[variable.kind].format(*(f"{x:g}" for x in given))
    return f"{variable.kind.replace('_', ' ')}, {words}"


def variables_table(of: Statistics) -> str:
    """What varies: where it goes, its distribution, and its values at the points."""
    rows = []
    known = any(of.unit(name) for name in of.variables)
    for name, variable in of.sweep.study.vary.items():
        fields = [*variable.sets, *(f"{x} (as a factor)" for x in variable.scales)] or [name]
        seen = ["–"] * 3
        if of.is_number(name) and len(of.sweep):
            spread = of.numbers(name).spread
            seen = [shown(x) for x in (spread.low, spread.median, spread.high)]
        place = escape(", ".join(fields)) if fields != [name] else "the field of this name"
        unit = [escape(of.unit(name))] * known
        rows.append([escape(name), place, *unit, escape(distribution(variable)), *seen])
    if of.sweep.study.function is not None:
        rows = [[name, *rest] for name, _, *rest in rows]
        return table(["variable", "distribution", "least", "median", "largest"], rows)
    head = ["variable", "goes to", *["unit"] * known, "distribution", "least", "median", "largest"]
    return table(head, rows)


def correlated(of: Statistics) -> str:
    """Variables that go together, in words."""
    pairs = [f"{' and '.join(x.between)}: {x.coefficient:g}" for x in of.sweep.study.correlated]
    return note(f"Correlated: {escape('; '.join(pairs))}.") if pairs else ""


def compared_table(of: Statistics) -> str:
    """How far rollouts are from exact runs."""
    differences, compared = of.differences, of.sweep.compared
    if not differences:
        return ""
    points = compared["point"]
    rows = [
        [escape(name), f"{shown(x.largest)} {escape(of.unit(name))}".strip(), str(x.point),
         shown(x.size), shown(x.largest / x.size) if 0 < x.size < np.inf else "–"]
        for name, x in differences.items()
    ]  # fmt: skip
    head = ["measure", "largest difference", "at point", "largest value", "relative"]
    about = (
        f"Rollouts and exact runs, at {len(points)} of the points: {', '.join(map(str, points))}."
    )
    return joined(["<h3>Rollouts beside exact runs</h3>", note(about), table(head, rows)])


# What came of it


def measures_table(of: Statistics) -> str:
    """Where each measure lies, and its worst point."""
    spreads = {name: of.numbers(name).spread for name in of.measures}
    apart = {
        "infinite": [x.infinite for x in spreads.values()],
        "not a number": [x.missing - of.failed for x in spreads.values()],
    }
    apart = {name: counts for name, counts in apart.items() if any(x > 0 for x in counts)}
    rows = []
    for k, (name, x) in enumerate(spreads.items()):
        worst = of.worst(name)
        rows.append([
            escape(name), escape(of.unit(name)), f"{x.finite:,}",
            *(shown(y) for y in (x.low, x.q05, x.median, x.q95, x.high, x.mean)),
            *(f"{counts[k]:,}" for counts in apart.values()),
            str(int(worst[0])) if len(worst) else "–",
        ])  # fmt: skip
    head = ["measure", "unit", "finite", "least", "5 %", "median", "95 %", "largest", "mean",
            *apart, "worst point"]  # fmt: skip
    return table(head, rows)


def worst_table(of: Statistics, measure: str) -> str:
    """The worst points of a measure, each with its variables and the command that replays it; a
    column for each point where there are many variables."""
    sweep, points = of.sweep, [int(x) for x in of.worst(measure)]
    rows = of.rows(points)
    columns = {labelled(of, measure): [shown(float(x)) for x in sweep[measure][rows]]}
    for name in of.variables:
        columns[labelled(of, name)] = [escape(value_text(x)) for x in sweep[name][rows]]
    if len(of.variables) > _ACROSS:
        commands = "\n".join(replay(sweep, point) for point in points)
        turned = [[escape(name), *cells] for name, cells in columns.items()]
        return table(["point", *map(str, points)], turned) + f"<pre>{escape(commands)}</pre>"
    lines = [
        [f"point {point}", *cells, code(replay(sweep, point))]
        for point, *cells in zip(points, *columns.values(), strict=True)
    ]
    return table(["", *map(heading, columns), "replayed by"], lines)


def worst_title(of: Statistics, measure: str) -> str:
    """What is the worst of a measure, in words, and how many of these points are listed."""
    listed, numbers = len(of.worst(measure)), of.numbers(measure)
    if of.succeeds(measure):
        total = int(np.count_nonzero(of.sweep[measure] == 0))
        return f"{measure}: {_some(listed, total)} points without"
    if measure in EARLIEST:
        never = f" ({of.never(measure)})" if numbers.infinite else ""
        return f"{measure}: the earliest{never}"
    more = f", {listed} of them listed" if numbers.infinite > listed else ""
    never = f" ({of.never(measure)}{more})" if numbers.infinite else ""
    return f"{measure}: the largest{never}"


def _some(listed: int, total: int) -> str:
    """So many of all: "10 of 267", or "the 3"."""
    return f"{listed} of {total:,}" if listed < total else f"the {total:,}"


def failures_table(of: Statistics) -> str:
    """Why points failed, how many did, and which."""
    listed = of.failures[:_KINDS]
    rows = []
    for x in listed:
        differing = f" (and {x.texts - 1:,} like it with other numbers)" if x.texts > 1 else ""
        rows.append([
            f"{escape(x.reason)}{differing}", f"{x.total:,}",
            ", ".join(map(str, x.points[:_SOME])) + ", ..." * (x.total > _SOME),
            code(replay(of.sweep, x.points[0])),
        ])  # fmt: skip
    head = ["reason", "points", "which", "replayed by"]
    more = of.failures[_KINDS:]
    rest = f"{len(more):,} more reasons, of {sum(x.total for x in more):,} points, are in the data."
    return table(head, rows) + (note(rest) if more else "")


# What matters


def correlations_table(of: Statistics, measures: Sequence[str]) -> str:
    """Rank correlations of measures, a row for each variable."""
    columns = [of.correlations[of.measures.index(name)] for name in measures]
    rows = [
        [escape(name), *(_correlation(float(column[k])) for column in columns)]
        for k, name in enumerate(of.variables)
    ]
    return table(["variable", *map(heading, measures)], rows)


def _correlation(x: float) -> str:
    return "–" if np.isnan(x) else f"{round(x, 2) + 0.0:.2f}".replace("-", "−")


def sobol_table(of: Statistics, measures: Sequence[str]) -> str:
    """First- and total-order indices of measures with their bounds, a row for each variable."""
    indices = [of.sobol[name] for name in measures]
    rows = [
        [
            escape(name),
            *(text for x in indices for text in (_bounded(x.first[k], x.first_bounds[k]),
                                                 _bounded(x.total[k], x.total_bounds[k]))),
        ]
        for k, name in enumerate(of.variables)
    ]  # fmt: skip
    head = ["variable", *(["first order", "total order"] * len(measures))]
    return table(head, rows, [("", 1), *((heading(name), 2) for name in measures)])


def _bounded(x: float, bounds: Any) -> str:
    return f"{x:.3f} ({bounds[0]:.3f} to {bounds[1]:.3f})".replace("-", "−")


# The data


def data_html(of: Statistics) -> str:
    """How the points are opened in pandas, Polars and DuckDB."""
    sweep = of.sweep
    first = next(iter([x for x in of.measures if of.varies(x)] or of.measures or ["point"]))
    columns = ["point", *of.variables[:2], first]
    key = json.dumps(first, ensure_ascii=False)
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in dict.fromkeys(columns))
    quoted = '"' + first.replace('"', '""') + '"'
    query = f"SELECT {names} FROM 'points/*.parquet' WHERE NOT failed ORDER BY {quoted} DESC"
    snippets = {
        "pandas": [
            "import pandas",
            'points = pandas.read_parquet("points")',
            f'points[~points["failed"]].nlargest(10, {key})',
        ],
        "Polars": [
            "import polars",
            'points = polars.read_parquet("points/*.parquet")',
            f'points.filter(~polars.col("failed")).top_k(10, by={key})',
        ],
        "DuckDB": ["import duckdb", f"query = {_literal(query)}", "duckdb.sql(query).limit(10)"],
    }
    blocks = [
        f"<p>{name}:</p>\n<pre>{escape(chr(10).join(lines))}</pre>"
        for name, lines in snippets.items()
    ]
    folder = sweep.folder.name if sweep.folder is not None else ""
    where = (
        f"In the folder {code(folder)}, <code>points</code>" if folder else "<code>points</code>"
    )
    return "\n".join([
        "<h2>The data</h2>",
        f"<p>{where} is a dataset of Parquet files. Its columns are <code>point</code>, the "
        "variables, <code>failed</code>, <code>reason</code> and the measures, which are null "
        "where a point failed. A name with a dot is one name: it is quoted as below.</p>",
        *blocks,
    ])  # fmt: skip


def _literal(text: str) -> str:
    """A text as Python has it, without backslashes where none are needed."""
    plain = text.isprintable() and "\\" not in text and '"""' not in text
    return f'"""{text}"""' if plain else json.dumps(text, ensure_ascii=False)


def joined(parts: Iterable[str]) -> str:
    """Parts of a page, one after another."""
    return "\n".join(part for part in parts if part)
