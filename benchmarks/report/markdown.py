"""The results as docs/speed.md, and as the table between two marks in the README."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from benchmarks.cases import OURS, OURS_ALIKE
from benchmarks.formulations import STATES
from benchmarks.report.batches_section import HEADINGS as BATCHES
from benchmarks.report.batches_section import batches_rows
from benchmarks.report.limits_section import HEADINGS, limits_rows
from benchmarks.report.text import (
    gibibytes,
    outcome,
    quartiles,
    rate,
    seconds,
    seconds_with_quartiles,
    size,
    table,
    times,
    words,
)

Case = dict[str, Any]

_DOCUMENT = """\
# Speed

Written by `make bench` on {date}; `benchmarks/results.json` holds every round.

![States per second of the PUMA 560 on one core](images/speed.svg)

{machine}

All libraries are timed in one run. Each is in a process of its own that holds one thread on the
same core (those said to have 2 threads may use every core), and rounds go round the libraries in
turn, so that what else the machine does hits all alike. Times are per state: the median of
{rounds} rounds with its quartiles. Ratios are how many times as long as Appell a library took in
the same round: their median, with quartiles. Before it is timed, a library's result at up to a
thousand states is compared with Appell's, and it is not timed if they differ by more than 1e-9
of the result (1e-3 in float32).

## PUMA 560

{puma}

## Longer chains

Random chains of revolute joints. CasADi and JAX are compiled up to 12 joints.

{chains}

## Derivatives and regressor

Of the PUMA 560.

{derivatives}

## Limits of the machine

A kernel takes at least as long as a copy of the bytes that it reads and writes, and as its
floating-point operations at the peak rate of fused multiply-adds. Both are measured in the same
rounds, on one core. The copy is NumPy's, of as many bytes as the batch reads and writes, so it is
inside the same caches, or outside. Multiply-adds run in registers, in twelve independent chains.

Bytes and operations are per state. Operations are multiplications, additions, and both at once;
sines and cosines are made of these. *Reached* is the share of the nearer limit. Turning rows into
lanes and back takes instructions that are not counted, so wide rows with few operations stay below;
a processor that adds beside it multiplies may come above.

{limits}

## Sizes of batches

Of the PUMA 560 on an {batches_cpu}, on one thread and on all {cores} cores in turn.
Threads are used where they were found to be faster. *The call itself* is what a call from Python
costs besides its states: a line through the times of two small batches, at no states.
`python -m benchmarks --batches` measures this table alone.

{batches}

## One state

Of the PUMA 560, called from Python.

{single}

## The first call

A kernel is compiled when it is first called, and then kept on disk. In a new process, the median
time of each step; *kernel* is the part of the call that compiles the kernel or loads it.

{waits}

## Operations

Of one evaluation for the PUMA 560; subtractions are additions, squares are multiplications.

{operations}

## Formulations

Every formulation of the papers computes the same numbers. Operations are counted as recorded for
the robot at hand: numbers folded, shared values computed once. The default formulation also moves
inertial parameters across joints to where they cost nothing ([operation counts](counting.md)).
Times are per state, {formulation_states}, one thread.

{formulations}

For comparison, the explicit model of the PUMA 560 by Armstrong, Khatib and Burdick (*The explicit
dynamic model and inertial parameters of the PUMA 560 arm*, ICRA 1986), derived and simplified by
hand with terms below 1 % left out, takes 305 operations in all; nothing is left out here.

## Simulation, closed chains, control

Compiled before; one thread.

{figures}

## Rollouts and environments

Whole closed loops of the PUMA 560 under computed torque ([rollouts](rollouts.md)): the law every
millisecond, and a step by the classical method of Runge and Kutta. Times are of a plant step, on
one thread. MuJoCo (its package from PyPI) and JAX are timed only if their states at the end agree
with Appell's. Engines such as MuJoCo are made for contacts; here they have none. Of environments
for reinforcement learning it is the time of an action of one. The last row is the most memory that
a process takes.
`python -m benchmarks.rollouts 15 --write` makes this table alone.

{rollouts}

## On a GPU

{gpu}

## What is compared

- **Appell**: `robot.inverse_dynamics(q, v, a, out=tau)` and so on, arrays of (states, joints).
- **Pinocchio, batch call**: `rneaInParallel` and `abaInParallel` with one thread, into a given
  array, in the layout that Eigen takes without a copy. **Call by call**: `rnea`, `aba`, `crba`
  and the derivatives in a Python loop that stores each result. Its package from PyPI runs on
  any processor of this family; one compiled for this very machine may be faster.
- **Appell, 2 processes**: half of the states in each of two processes, as far as the machine's
  second core can help; what 2 threads lose against it is Appell's, the rest the machine's.
- **CasADi, compiled map**: the textbook's equation (Newton-Euler, composite bodies) recorded with
  CasADi's scalars, shared terms eliminated, written as C, compiled by `gcc -O3 -march=native`,
  mapped over the states in place. **CasADi, our equation**: the same with Appell's equation and
  the inertial parameters as given, so what is left is what Appell's regrouping and kernels add.
- **JAX, jit and vmap**: Appell's equation on JAX arrays in float64, the faster of two layouts.
  XLA's fusion pass is off, because with it the PUMA's inverse dynamics had not compiled after four
  minutes (jax-ml/jax issue 2777), and the batch goes through in blocks that fit the cache.
- **MuJoCo, call by call**: a Python loop over `mj_rne` and what it needs, `mj_forward` or `mj_crb`,
  constraints and contacts off. `mj_forward` computes more than the accelerations.

Versions: {versions}.
"""

_MARKED = re.compile(r"(<!-- speed:begin -->\n).*?(<!-- speed:end -->)", re.DOTALL)


def document(results: dict[str, Any], gpu: str) -> str:
    """docs/speed.md; ``gpu`` is its section about a GPU."""
    sections: dict[str, list[Case]] = {}
    for case in results["cases"]:
        sections.setdefault(case["section"], []).append(case)
    by_quantity: dict[str, list[Case]] = {}
    for case in sections.get("chains", []):
        by_quantity.setdefault(case["quantity"], []).append(case)
    chains = [
        _peers_by_cases(x, quantity=words(name), name=lambda case: case["robot"])
        for name, x in by_quantity.items()
    ]
    return _DOCUMENT.format(
        date=results["date"],
        machine=_machine(results["machine"]),
        rounds=results["rounds"],
        puma=_peers_by_cases(sections["PUMA 560"]),
        chains="\n\n".join(chains),
        derivatives=_peers_by_cases(sections["derivatives"]),
        limits=table(HEADINGS, limits_rows(results["limits"])),
        batches_cpu=results["batches"][0]["cpu"],
        cores=results["machine"]["cores"],
        batches=table(BATCHES, batches_rows(results["batches"])),
        single=_peers_by_cases(sections["one state"]),
        waits=_waits(results["first call"]),
        operations=_operations(results["operations"]),
        formulations=_formulations(results["formulations"]),
        formulation_states=size(STATES),
        figures=_figures(results["figures"]),
        rollouts=_rollouts(results["rollouts"]),
        gpu=gpu,
        versions=", ".join(f"{k} {v}" for k, v in _versions(results["versions"]).items()),
    )


def refreshed(readme: str, results: dict[str, Any]) -> str:
    """The README with a new table between its marks, if it has them."""
    block = _compact(results)
    return _MARKED.sub(lambda marks: f"{marks[1]}\n{block}\n\n{marks[2]}", readme)


def _compact(results: dict[str, Any]) -> str:
    chosen = [case for case in results["cases"] if case["section"] == "PUMA 560"]

    def cell(peer: str, entry: dict[str, Any]) -> str:
        if outcome(entry):
            return "–"
        shown = seconds(entry["seconds"]["median"])
        return f"**{shown}**" if peer == OURS else f"{shown} ({times(entry['ratio'])})"

    rows = [
        [peer, *(cell(peer, case["peers"][peer]) for case in chosen)]
        for peer in chosen[0]["peers"]
        if peer not in OURS_ALIKE
    ]
    return (
        table(["Time per state", *(words(case["quantity"]) for case in chosen)], rows)
        + f"\n\nPUMA 560, {chosen[0]['states']:,} states, float64, one core of an "
        f"{results['machine']['cpu']}, {results['date']}."
    )


def _machine(machine: dict[str, Any]) -> str:
    load = machine["load"]
    text = f"Machine: {machine['cpu']}, {machine['cores']} cores, {machine['system']}"
    return f"{text}; its load at the start was {load}." if load is not None else f"{text}."


def _peers_by_cases(
    cases: list[Case],
    quantity: str = "",
    name: Callable[[Case], str] = lambda case: words(case["quantity"]),
) -> str:
    """A row a library, a column a case, and why a library is missing from one."""
    peers = list(dict.fromkeys(peer for case in cases for peer in case["peers"]))
    rows = [[peer, *(_cell(peer, case["peers"].get(peer)) for case in cases)] for peer in peers]
    headings = [f"{name(case)}<br>{size(case['states'])}" for case in cases]
    missing = {
        f"- {peer}, {name(case)}: {reason}."
        for case in cases
        for peer, entry in case["peers"].items()
        if (reason := outcome(entry))
    }
    shown = table([quantity, *headings], rows)
    return "\n\n".join([shown, "\n".join(sorted(missing))]) if missing else shown


def _cell(peer: str, entry: dict[str, Any] | None) -> str:
    if entry is None or outcome(entry):
        return "–"
    shown = " ".join(seconds_with_quartiles(entry["seconds"]))
    ratio = f"{times(entry['ratio'])} {quartiles(entry['ratio'])}"
    return f"**{shown}**" if peer == OURS else f"{shown}<br>{ratio}"


def _waits(waits: dict[str, Any]) -> str:
    steps = list(next(iter(waits.values())))
    rows = [
        [name, *(seconds(found[step]["median"]) for step in steps)] for name, found in waits.items()
    ]
    return table(["", "`import appell`", "load the robot", "call", "kernel"], rows)


def _operations(counts: dict[str, dict[str, int]]) -> str:
    kinds = list(next(iter(counts.values())))
    rows = [
        [words(quantity), *(str(count[k]) for k in kinds)] for quantity, count in counts.items()
    ]
    return table(["", *map(words, kinds)], rows)


def _formulations(rows: list[dict[str, Any]]) -> str:
    head = ["robot", "quantity", "formulation", "multiplications", "additions", "time"]
    return table(
        head,
        [
            [
                row["robot"],
                words(row["quantity"]),
                f"`{row['formulation']}`",
                str(row["multiplications"]),
                str(row["additions"]),
                " ".join(seconds_with_quartiles(row["seconds"])),
            ]
            for row in rows
        ],
    )


def _figures(rows: list[dict[str, Any]]) -> str:
    return table(
        ["", "time", ""],
        [[x["what"], _figure(x), x["note"]] for x in rows],
    )


def _rollouts(rows: list[dict[str, Any]]) -> str:
    return table(
        ["", "time or memory", "per second", ""],
        [
            [x["what"], gibibytes(x["bytes"]), "", x["note"]]
            if "bytes" in x
            else [x["what"], _figure(x), rate(1 / x["seconds"]["median"]), x["note"]]
            for x in rows
        ],
    )


def _figure(row: dict[str, Any]) -> str:
    time = " ".join(seconds_with_quartiles(row["seconds"]))
    ratio = row.get("ratio")
    return f"{time}<br>{times(ratio)} {quartiles(ratio)}" if ratio else time


def _versions(versions: dict[str, str]) -> dict[str, str]:
    """One entry a library: the part of a peer's name before the comma."""
    return {name.partition(",")[0]: version for name, version in versions.items()}
