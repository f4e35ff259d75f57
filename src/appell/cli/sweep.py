"""``appell sweep``: a scenario at many points."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from appell.cli.app import INTERRUPTED, app, example
from appell.cli.completion import SETTINGS, files
from appell.cli.options import (
    Json,
    Quiet,
    keep_inputs,
    note,
    own_output,
    print_written,
    verbose_option,
)
from appell.cli.tables import print_json, print_table
from appell.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from appell.study import Sweep
    from appell.study.sweeps.points import Points


_SOME = 5  # points that failed for a reason, which are listed


class _RunsByDefault(TyperGroup):
    """``appell sweep STUDY`` is short for ``appell sweep run STUDY``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {*self.commands, "-h", "--help"}
        if args and args[0] not in known:
            self._refuse_unknown(args)
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def _refuse_unknown(self, args: list[str]) -> None:
        """A word that is neither a file nor a folder, before another, is meant as a command."""
        word, more = args[0], [x for x in args[1:2] if not x.startswith("-")]
        if more and not word.startswith("-") and not Path(word).exists():
            known = ", ".join(self.commands)
            raise InputError(
                f"appell sweep {word}: expected {known} or a study."
                f"{did_you_mean(word, self.commands)}"
            )


sweep = typer.Typer(
    cls=_RunsByDefault,
    no_args_is_help=True,
    help="Run a scenario at many points and summarise the results. appell sweep STUDY.toml is "
    "short for appell sweep run STUDY.toml.",
)
app.add_typer(sweep, name="sweep")

Study = Annotated[
    Path,
    typer.Argument(
        metavar="STUDY",
        help="A .toml or .json file, which appell sweep new writes; or the folder of a sweep, "
        "which holds its study and goes on.",
        autocompletion=files(*SETTINGS),
    ),
]
Verbose = Annotated[
    bool, verbose_option("every reason of failed points, and the path of every file")
]


@sweep.command(
    "run",
    epilog=example("appell sweep run study.toml", "appell sweep run study.toml --point 3"),
)
def run_sweep(
    study: Study,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder of results; an earlier one goes on."),
    ] = None,
    points: Annotated[
        int | None,
        typer.Option(min=1, help="Number of points, in place of the study's own."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of Dask worker processes on this machine.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="A scheduler of Dask, such as tcp://10.0.0.1:8786.")
    ] = None,
    tls_ca: Annotated[
        Path | None, typer.Option(help="CA certificate file of a tls:// scheduler.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Client certificate file.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Client private key file.")] = None,
    target: Annotated[
        str, typer.Option(help="Of rollouts: auto (a GPU where there is one), cpu or cuda.")
    ] = "auto",
    patience: Annotated[
        float, typer.Option(help="How long to wait for a lost scheduler, in seconds.")
    ] = 300.0,
    point: Annotated[
        int | None, typer.Option(min=0, help="Run this point alone, exactly, with a report.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Run a study: a scenario at many points, in this process or on workers of Dask.

    Takes about a second for some thousand rollouts, and up to a second per point that is run by
    itself. Results are a Parquet dataset in FOLDER/points (.npz files without pyarrow). A sweep
    that was interrupted goes on when the same command is given again. Status 0 if all points are
    there, also failed ones; 1 if all of them failed; 130 if it was interrupted.
    """
    from appell import study as studies
    from appell.show.sweep_report import summary, write_sweep
    from appell.study.sweeps.require import has_parquet
    from appell.study.sweeps.storage.dataset import study_in
    from appell.study.sweeps.study_file import with_points

    within = study.is_dir()
    chosen = study_in(study) if within else studies.read_study(study)
    if points is not None:
        chosen = with_points(chosen, points)
    if point is not None:
        _one_point(chosen, study, point, output, quiet, as_json)
        return
    folder = output or (study if within else Path(f"{study.stem}-sweep"))
    shown = not quiet and not as_json
    progress = _progress(shown)
    if not has_parquet():
        note(
            "without pyarrow, results are .npz files of NumPy; pip install 'appell[cluster]' "
            "writes Parquet files."
        )
    try:
        with own_output(as_json or quiet):
            results = studies.sweep(
                chosen, folder, workers=workers, scheduler=scheduler, target=target,
                patience=patience, security=_security(tls_ca, tls_cert, tls_key),
                progress=progress,
            )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo(
            f"Interrupted: what was done is in {folder}; the same command goes on from there.",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    report = write_sweep(results, folder, progress.rate)
    if as_json:
        print_json(summary(results) | {"folder": str(folder), "report": str(report)})
        _refuse_failed(results)
        return
    if shown:
        _print_sweep(results, verbose)
        if verbose:
            print_written(folder)
    typer.echo(report if quiet else f"Report: {report}")
    _refuse_failed(results)


@sweep.command("show", epilog=example("appell sweep show study-sweep"))
def show_sweep(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What appell sweep left.")],
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Show the results of a sweep, also of one that is still running: a table, and a report."""
    from appell.show.sweep_report import summary, write_sweep
    from appell.study import open_sweep

    results = open_sweep(folder)
    report = write_sweep(results, folder)
    if as_json:
        print_json(summary(results) | {"folder": str(folder), "report": str(report)})
        return
    if not quiet:
        _print_sweep(results, verbose)
        if verbose:
            print_written(folder)
    typer.echo(report if quiet else f"Report: {report}")


@sweep.command("new", epilog=example("appell sweep new ur5.toml"))
def new_sweep(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO", help="What appell run takes.", autocompletion=files(*SETTINGS)
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write, SCENARIO_study.toml.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file that is there.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write a commented study of a scenario, which runs as it stands.

    Its JSON Schema is written beside it.
    """
    from appell.study import read_scenario
    from appell.study.sweeps.study_starter import SCHEMA, new_study, study_schema
    from appell.whole_file import write_whole

    file = output or Path(f"{scenario.stem}_study.toml")
    keep_inputs(file, scenario)
    if file.exists() and not force:
        raise InputError(f"{file} is there already; give another name with --output, or --force.")
    if file.suffix != ".toml":
        raise InputError(f"{file}: studies are written as .toml files; give such a name.")
    text = new_study(read_scenario(scenario), scenario, file)
    write_whole(file, text)
    schema = file.with_name(SCHEMA)
    if force or not schema.exists():
        write_whole(schema, study_schema())
    if as_json:
        print_json({"study": str(file), "schema": str(schema)})
        return
    if quiet:
        typer.echo(f"{file}\n{schema}")
        return
    typer.echo(f"Written: {file}; appell sweep {file} runs it.")
    typer.echo(f"{schema} lets editors complete it.")


def _refuse_failed(results: Sweep) -> None:
    """Status 1 if no point has succeeded."""
    if results.failed.all():
        raise typer.Exit(1)


# One point


def _one_point(
    study: Any, file: Path, point: int, output: Path | None, quiet: bool, as_json: bool
) -> None:
    """Print what a point is and gives, and leave the report of its run."""
    from appell.study.sweeps.fields import plain
    from appell.study.sweeps.points import Points

    points = Points(study)
    values = points.values_at(point)
    with own_output(as_json or quiet):
        columns = points.compute(point, point + 1)
    variables = {name: plain(x) for name, x in values.items()}
    lost = columns["reason"][0]
    names = list(columns)
    swept = {name: float(columns[name][0]) for name in names[names.index("reason") + 1 :]}
    summary: dict[str, Any] = {
        "point": point, "variables": variables, "failed": lost, "measures": swept,
    }  # fmt: skip
    report = None
    if study.function is None:
        summary["exact"], report = _exact(
            points, values, output or Path(f"{file.resolve().stem}-point-{point}")
        )
    if as_json:
        print_json(summary | {"report": None if report is None else str(report)})
    else:
        if not quiet:
            _print_point(summary)
        if report is not None:
            typer.echo(report if quiet else f"Report: {report}")
    if lost:
        if study.function is not None and not as_json:
            typer.echo(_where(points, values), err=True, nl=False)
        raise typer.Exit(1)


def _where(points: Points, values: Mapping[str, Any]) -> str:
    """The lines of the user's function that raise at a point, if they do so again."""
    import traceback

    import appell

    own = str(Path(appell.__file__).parent)
    try:
        with own_output(True):
            points.measured(values)
    except (Exception, SystemExit) as problem:
        trace = traceback.TracebackException.from_exception(problem)
        trace.stack = traceback.StackSummary.from_list(
            [x for x in trace.stack if not x.filename.startswith(own)]
        )
        return "".join(trace.format()) if trace.stack else ""
    return ""


def _exact(points: Points, values: Mapping[str, Any], folder: Path) -> tuple[Any, Path | None]:
    """The measures of a point that runs by itself, or why it cannot, and the report of its run."""
    from appell.errors import AppellError
    from appell.show.scenario_report import write_scenario

    try:
        result = points.result(values)
    except AppellError as problem:
        return str(problem), None
    report = write_scenario(result, folder)
    if result.run.stopped is not None:
        return result.run.stopped, report
    return points.measures_of(result), report


def _print_point(summary: Mapping[str, Any]) -> None:
    rows = [[name, _shown(x)] for name, x in summary["variables"].items()]
    print_table([f"point {summary['point']}", ""], rows)
    if summary["failed"]:
        typer.secho("failed: ", fg="red", bold=True, nl=False)
        typer.echo(summary["failed"])
    exact = summary.get("exact")
    if isinstance(exact, str) and exact != summary["failed"]:
        typer.echo(f"run by itself: {exact}")
    measures = summary["measures"] if exact is None or isinstance(exact, str) else exact
    beside = isinstance(exact, dict) and exact != summary["measures"]
    rows = [
        [name, _shown(summary["measures"].get(name)), *([_shown(x)] if beside else [])]
        for name, x in measures.items()
    ]
    if not summary["failed"]:
        head = ["as a rollout", "run by itself"] if beside else ["value"]
        print_table(["measure", *head], rows)


# Tables


def _print_sweep(results: Sweep, verbose: bool) -> None:
    import numpy as np

    failed = int(results.failed.sum())
    planned = results.statistics.planned
    of = f" of {planned:,}" if len(results) < planned else ""
    typer.echo(
        f"{results.study.title or 'Sweep'}: {len(results):,}{of} points, {failed:,} failed"
        + (f", in {results.folder}" if results.folder else "")
    )
    rows = []
    for name in results.measures:
        x, worst = results.statistics.numbers(name).spread, results.statistics.worst(name)
        numbers = ["–"] * 5
        if x.finite or x.infinite:
            numbers = [_shown(y) for y in (x.low, x.q05, x.median, x.q95, x.high)]
        rows.append([
            name, results.statistics.unit(name), *numbers, str(worst[0]) if len(worst) else "–",
        ])  # fmt: skip
    heads = ["measure", "unit", "least", "5 %", "median", "95 %", "largest", "worst point"]
    if rows:
        print_table(heads, rows)
    for name in results.measures:
        if np.isinf(results[name]).any():
            typer.echo(f"{name}: {results.statistics.never(name)}")
        missing = int(np.isnan(results[name]).sum() - results.failed.sum())
        if missing:
            succeeded = len(results) - failed
            typer.echo(f"{name}: {missing:,} of the {succeeded:,} that did not fail have no number")
    for why in results.statistics.failures[: None if verbose else 5]:
        some = why.points if verbose else why.points[:_SOME]
        listed = ", ".join(map(str, some)) + ", ..." * (len(some) < len(why.points))
        where = f"point{'s' * (why.total > 1)} {listed}"
        alike = " (and similar, with other numbers)" if why.texts > 1 else ""
        typer.echo(f"{why.total:,} failed ({where}): {why.reason}{alike}")
    _print_indices(results)
    _print_compared(results)


def _print_indices(results: Sweep) -> None:
    """Sobol indices with the bounds of their confidence intervals, a table for each measure."""
    for measure, x in results.statistics.sobol.items():
        first, total = (
            [f"{share:.2f} ({low:.2f} to {high:.2f})" for share, (low, high) in pairs]
            for pairs in (
                zip(x.first, x.first_bounds, strict=True),
                zip(x.total, x.total_bounds, strict=True),
            )
        )
        rows = [list(row) for row in zip(x.variables, first, total, strict=True)]
        print_table([f"share of {measure}", "first order", "total order"], rows)
    for x in [*results.statistics.sobol.values()][:1]:
        typer.echo(f"In parentheses: bounds at {100 * x.confidence:g} %, of {x.samples} samples.")


def _print_compared(results: Sweep) -> None:
    """How far runs of rollouts and exact runs differ."""
    parts = [
        f"{name} by {_brief(x.largest)} (of {_brief(x.size)})"
        for name, x in results.statistics.differences.items()
    ]
    if parts:
        count = len(results.compared["point"])
        typer.echo(f"Rollouts and exact runs of {count} points differ at most: {', '.join(parts)}.")
    for text in results.statistics.warnings:
        typer.secho("warning: ", fg="yellow", bold=True, nl=False, err=True)
        typer.echo(text, err=True)


def _brief(x: float) -> str:
    return "∞" if x == float("inf") else f"{x:.2g}"


def _shown(x: Any) -> str:
    if isinstance(x, float) and x == float("inf"):
        return "∞"  # as in the report
    return f"{x:.4g}" if isinstance(x, float) else str(x)


# Options


def _progress(shown: bool) -> Any:
    from appell.study.sweeps.sweep_progress import Bar, Lines, Progress

    if not shown:
        return Progress()
    return Bar() if sys.stderr.isatty() else Lines()


def _security(ca: Path | None, cert: Path | None, key: Path | None) -> Any:
    """TLS as Dask has it, if any of its files is given."""
    if ca is None and cert is None and key is None:
        return None
    from appell.study.sweeps.require import distributed

    for file in (ca, cert, key):
        if file is not None and not file.is_file():
            raise InputError(f"'{file}' is no file; expected a certificate or a key.")
    return distributed().Security(
        tls_ca_file=None if ca is None else str(ca),
        tls_client_cert=None if cert is None else str(cert),
        tls_client_key=None if key is None else str(key),
        require_encryption=True,
    )
