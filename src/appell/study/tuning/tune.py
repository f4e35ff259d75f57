"""Tune: search parameters of a scenario, resumably."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from appell.errors import InputError, interrupted
from appell.given import one_of
from appell.study.own_code import imported
from appell.study.scenario_build import build
from appell.study.sweeps.bundle import Bundle, bundle_of, opened
from appell.study.sweeps.comparison import compare
from appell.study.sweeps.engine.local_cluster import worker_count
from appell.study.sweeps.results.sweep_statistics import without_numbers
from appell.study.sweeps.storage.block_table import Columns
from appell.study.sweeps.storage.results_folder import ResultsFolder
from appell.study.sweeps.study_file import Study, read_study
from appell.study.tuning.aims import Evaluation
from appell.study.tuning.descent import Descent
from appell.study.tuning.evaluator import Evaluator
from appell.study.tuning.evolution import Ended, Evolution, counted
from appell.study.tuning.slopes import Slopes
from appell.study.tuning.trial_workers import TrialWorkers
from appell.study.tuning.trials import AsItStands, Samples, Trials, scenario_with
from appell.study.tuning.tune_folder import Memory, TuneFolder
from appell.study.tuning.tune_progress import TuneProgress
from appell.study.tuning.tuned import INEXACT, Tuned, held_by, inexact


def tune(
    study: Study | str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    target: str = "auto",
    progress: TuneProgress | None = None,
) -> Tuned:
    """The parameters of a study that make its objective as small, or as large, as can be.

    The study's table ``tune`` says which parameters, between which numbers, what is minimised or
    maximised, over its points by mean, worst or quantile, what is held to bounds, and by which
    method. Every evaluation is kept in the folder: a tune that was interrupted or killed, called
    again, goes on where it stood, and comes to the same result to the last bit.

    Args:
        study: A `Study`, or the path of a .toml or .json file.
        folder: Where evaluations and results are kept; in memory without it.
        workers: Processes of Dask on this machine, for evolution; without them all is computed in
            this process, rollouts on all cores.
        target: Where rollouts run: "cpu", "cuda", or "auto", the GPU where there is one.
        progress: Is shown what happens: `appell.study.tuning.tune_progress`.

    Returns:
        A `Tuned`. Interrupted from the keyboard, it has the best so far.

    Examples:
        >>> arm = {"model": "planar_chain", "options": {"n": 1}}
        >>> task = {"kind": "hold", "at": (0.5,), "until": 1.0}
        >>> scenario = {"robot": arm, "task": task, "law": {"kp": 20.0, "kd": 1.0}}
        >>> parameters = {"law.kd": {"between": (0.5, 30.0)}}
        >>> table = {"minimise": "rms_error", "parameters": parameters, "method": "gradient"}
        >>> study = appell.study.Study(scenario=scenario, tune=table)
        >>> tuned = appell.study.tune(study)
        >>> isinstance(tuned, appell.study.Tuned), tuned.ok, tuned.summary()["converged"]
        (True, True, True)
        >>> tuned.objective < tuned.objective_before
        True
        >>> tuned.scenario.law.kd == tuned.parameters["law.kd"]
        True
    """
    study = study if isinstance(study, Study) else read_study(study)
    one_of("tune: target", target, ("auto", "cpu", "cuda"))
    if study.tune is None:
        raise InputError(
            f"{study.source.file or 'the study'}: there is no table [tune]; expected parameters, "
            "and what to minimise or maximise."
        )
    if study.function is not None:
        imported(study.function, study.source.folder)  # one that is not there is refused at once
    count = None if workers is None else worker_count("tune: workers", workers)
    by_gradient = study.tune.method == "gradient"
    stated = Trials(study, target, parts=by_gradient)  # refusals name places in the file
    if by_gradient:
        Slopes(stated)
    bundle = bundle_of(study)
    trials = Trials(opened(bundle), target, parts=by_gradient)
    shown = progress or TuneProgress()
    memory = Memory() if folder is None else TuneFolder(Path(folder), bundle)
    with closing(memory):
        shown.log = memory.log
        _announce(trials, shown, count, memory)
        pool = None
        if count is not None and not by_gradient:
            pool = TrialWorkers(bundle, count, target, shown.note)
        try:
            tuned = _tuned(study, trials, memory, shown, pool)
        finally:
            if pool is not None:
                pool.close()
        if isinstance(memory, TuneFolder):
            _write(tuned, memory.results, bundle)
    return tuned


def _announce(trials: Trials, shown: TuneProgress, workers: int | None, memory: Memory) -> None:
    """Report what a user should know before it begins."""
    tune = trials.asked.tune
    assert tune is not None
    how = trials.method_in_words(workers is None)
    parameters = counted(len(trials.space.names), "parameter")
    shown.note(f"{parameters}, {counted(trials.count, 'sample')}, computed {how}")
    if len(memory):
        shown.note(f"continues from {len(memory):,} evaluations that are kept")
    remark = None
    if isinstance(memory, TuneFolder):
        if memory.damaged:
            lines = counted(memory.damaged, "line")
            shown.note(f"{lines} of evaluations.jsonl damaged, or of another study: computed again")
        remark = memory.results.other_processor("evaluations")
    if remark is not None:
        shown.note(remark)
    for name in trials.space.moved:
        own, p = trials.space.own[name], trials.space.parameters[name]
        shown.note(
            f"'{name}' is {own:g} in the scenario, outside {p.between[0]:g} to {p.between[1]:g}: "
            "the search starts at the nearest end"
        )
    if tune.method == "gradient" and workers is not None:
        shown.note("the gradient method computes in this process; workers are not used")


def _tuned(study: Study, trials: Trials, memory: Memory, shown: TuneProgress, pool: Any) -> Tuned:
    tune = trials.asked.tune
    assert tune is not None
    evaluate = Evaluator(trials, memory, shown, pool)
    search = (Descent if tune.method == "gradient" else Evolution)(evaluate, tune)
    before: _Before | None = None
    stopped = False
    try:
        with shown.running(tune.iterations):
            before = _before(evaluate)
            ended = search.search()
    except KeyboardInterrupt:
        interrupted()
        stopped, ended = True, Ended(False, "interrupted from the keyboard")
        if evaluate.best is None:
            raise
    return _result(study, evaluate, before, ended, stopped)


class _Before(NamedTuple):
    """The scenario as it stands: what it is worth, and its samples if they were computed."""

    evaluation: Evaluation | None
    columns: Columns | None


def _before(evaluate: Evaluator) -> _Before:
    """The scenario's own parameters, evaluated: as others are if each is one number."""
    trials, memory = evaluate.trials, evaluate.memory
    own = trials.space.own_values
    if own is not None:
        inside = bool(((own >= trials.space.low) & (own <= trials.space.high)).all())
        if inside:
            evaluate.pinned = tuple(map(float, own))
            return _Before(evaluate(own)[0], None)
    elif trials.asked.function is not None:
        return _Before(None, None)
    apart = Evaluator(trials, Memory(), TuneProgress())
    if own is not None:
        columns = apart.samples_at(tuple(map(float, own)))
    else:
        columns = AsItStands(trials).columns()
    evaluation = trials.aims.evaluated((), columns, trials.count)
    memory.log(f"before: objective {evaluation.objective:.6g}, {evaluation.failed} samples failed")
    return _Before(evaluation, columns)


def _result(
    study: Study, evaluate: Evaluator, before: _Before | None, ended: Ended, stopped: bool
) -> Tuned:
    trials, best = evaluate.trials, evaluate.best
    assert best is not None
    own = None if before is None else before.evaluation
    aims, history = trials.aims, list(evaluate.history.values())
    samples: dict[str, Columns] = {}
    compared: dict[str, Any] = {}
    if not stopped:
        if before is not None and own is not None:
            samples["before"] = before.columns or evaluate.samples_at(own.x)
        samples["after"] = evaluate.samples_at(best.x)
        trials.design = Samples(trials.asked, trials.space.named(best.x))
        if not best.failed:
            wanted = ("point", "refused", *aims.columns)
            compared = {
                name: x
                for name, x in compare(trials, evaluate.progress.note).items()
                if name in wanted
            }
    elif best.x in evaluate.columns:
        samples["after"] = evaluate.columns[best.x]
    values = np.array([e.x for e in history])
    scenario = None
    if study.function is None:
        scenario = scenario_with(study, trials.space.named(best.x))
        aims = aims.in_units_of(build(scenario).robot)
    return Tuned(
        study=study,
        parameters=trials.space.named(best.x),
        own=trials.space.own,
        units=trials.space.units,
        objective=best.objective,
        objective_before=np.nan if own is None else own.objective,
        constraints=tuple(held_by(aims, own, best, trials.count)),
        ok=aims.feasible(best) and all(x.beyond <= INEXACT for x in inexact(aims, compared)),
        converged=ended.converged,
        why=ended.why,
        interrupted=stopped,
        history={
            "iteration": np.array(evaluate.iterations),
            "objective": np.array([e.objective for e in history]),
            "feasible": np.array([aims.feasible(e) for e in history]),
            "failed": np.array([e.failed for e in history]),
            **{name: values[:, k] for k, name in enumerate(trials.space.names)},
        },
        samples=samples,
        iterations=max(evaluate.iterations, default=0)
        if ended.iterations is None
        else ended.iterations,
        failures=_failures([e.reason for e in history if e.reason is not None]),
        compared=compared,
        scenario=scenario,
        folder=evaluate.memory.results.folder if isinstance(evaluate.memory, TuneFolder) else None,
        _aims=aims,
        _failed=(best.failed, best.reason),
    )


def _failures(reasons: list[str]) -> dict[str, int]:
    """Reasons and how often they came, the most frequent first; those that differ in numbers only
    are counted with the first of them."""
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for why in reasons:
        reason = first.setdefault(without_numbers(why), why)
        counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


def _write(tuned: Tuned, folder: ResultsFolder, bundle: Bundle) -> None:
    """Write the tuned scenario with the files that it reads, and the summary."""
    if tuned.scenario is not None:
        kept = scenario_with(opened(bundle), tuned.parameters)
        for name, content in bundle.files.items():
            folder.write(name, content)
        folder.write("scenario.json", kept.text() + "\n")
    summary = json.dumps(tuned.summary(), indent=2, allow_nan=False)
    folder.write("summary.json", f"{summary}\n")
    folder.log(f"{tuned.verdict}; {tuned.why}")
