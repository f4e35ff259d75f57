"""What a sweep costs beside the bare rollouts that it is made of, and on workers of Dask.

    python -m benchmarks.sweeps                    # a million points, about a quarter of an hour
    python -m benchmarks.sweeps --points 50000     # less exact
    python -m benchmarks.sweeps --only dask        # a part anew
    python -m benchmarks.sweeps --page             # writes docs/sweeps.md from the last figures

Writes benchmarks/sweeps.json, and the tables of docs/sweeps.md between its marks. The row of
kills is of python -m benchmarks.unkind, and those of a GPU are of python -m benchmarks.gpu.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest.mock import patch

from appell.study import Study, read_study, sweep
from appell.study.sweeps import points as points_module
from appell.study.sweeps.comparison import compare
from appell.study.sweeps.points import Points
from benchmarks.machine import machine
from benchmarks.resumed import after_a_kill

ROOT = Path(__file__).parents[1]
ROBUST = ROOT / "examples" / "studies" / "robust_puma.toml"
FIGURES, PAGE = Path(__file__).with_suffix(".json"), ROOT / "docs" / "sweeps.md"
GPU = Path(__file__).with_name("gpu.json")
COUNTS = (10**4, 10**5, 10**6)  # points, by engine
PARTS = ("rollouts", "resumed", "dask", "growth", "engines")
BEGIN, END = "<!-- measured:begin -->", "<!-- measured:end -->"


def robust(points: int, **more: Any) -> Study:
    """The PUMA with loads and friction that its law does not know, one second each."""
    study = read_study(ROBUST)
    return study.model_copy(update={"points": points, **more})


def against_rollouts(points: int) -> dict[str, float]:
    """The sweep of so many points beside the bare rollouts of the same points; its memory.

    Half of the bare rollouts are timed before the sweep and half after it, since a machine may
    become slower or faster meanwhile. Neither compiles. What is left is drawing points, exact runs
    beside some of them, measures, and files.
    """
    study = robust(points)
    ours = Points(study)
    compare(ours, print)  # compiles rollouts and exact runs
    starts = range(0, points, ours.block)
    before, after = starts[: len(starts) // 2], starts[len(starts) // 2 :]
    bare = _bare(ours, before)
    with tempfile.TemporaryDirectory() as folder:
        begin = perf_counter()
        found = sweep(study, Path(folder) / "sweep")
        whole = perf_counter() - begin
        assert len(found) == points
    bare += _bare(ours, after)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "points": points, "bare": bare, "sweep": whole, "overhead": whole / bare - 1,
        "peak_gib": peak,
    }  # fmt: skip


def _bare(points: Points, starts: range) -> float:
    """The seconds that rollouts take of the blocks that begin at points ``starts``."""
    bare, called = 0.0, points_module.rollout

    def timed(*arguments: Any, **options: Any) -> Any:
        nonlocal bare
        begin = perf_counter()
        runs = called(*arguments, **options)
        bare += perf_counter() - begin
        return runs

    with patch.object(points_module, "rollout", timed):
        for first in starts:
            points.compute(first, min(first + points.block, points.design.count))
    return bare


def on_dask(points: int, rounds: int = 3) -> dict[str, Any]:
    """Time per task that does nothing; compute-bound points on one worker and on two."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "nothing.py").write_text("def nothing(x):\n    return x\n")
        study = {
            "function": "nothing:nothing", "vary": {"x": {"whole": [0, 499]}}, "sampling": "grid",
            "block": 1,
        }  # fmt: skip
        file = Path(folder) / "nothing.json"
        file.write_text(json.dumps(study))
        each = _child(file, TIMED, 1)
        file = Path(folder) / "robust.json"
        file.write_text(robust(points).text())
        times: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(rounds):  # in turns: the machine may become slower, or faster
            for n, x in times.items():
                x.append(_child(file, TIMED, n))
    gains = [a / b for a, b in zip(times[1], times[2], strict=True)]
    return {
        "ms_per_task": 1e3 * each / 500, "points": points,
        "one_worker": median(times[1]), "two_workers": median(times[2]), "gain": median(gains),
        "gains": sorted(gains),
    }  # fmt: skip


TIMED = """
import sys, time
from appell.study import read_study, sweep
from appell.study.sweeps.engine import dask_engine

if __name__ == "__main__":
    run, seen = dask_engine._Session.run, []

    def timed(self, waiting):
        for _ in range(2):  # workers load the study and their kernels before they are timed
            self.client.run(dask_engine.compute_block, self.engine.bundle, 0, 1, "cpu")
        begin = time.perf_counter()
        yield from run(self, waiting)
        seen.append(time.perf_counter() - begin)

    dask_engine._Session.run = timed
    sweep(read_study(sys.argv[1]), workers=int(sys.argv[2]))
    print(seen[0])
"""


def _child(file: Path, program: str, workers: int) -> float:
    """The seconds that a program in a process of its own prints."""
    script = file.with_name("timed.py")
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, str(script), str(file), str(workers)],
        capture_output=True, text=True, check=True, cwd=file.parent,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def growth() -> list[dict[str, Any]]:
    """Points per second by joints and steps, as rollouts and one by one."""
    rows = []
    for n in (2, 6, 12):
        for until in (0.1, 1.0):
            scenario = {
                "robot": {"model": "planar_chain", "options": {"n": n}},
                "task": {"kind": "fall", "until": until},
            }
            vary = {"start.v.joint1": {"uniform": (-1.0, 1.0)}}
            study = Study(scenario=scenario, vary=vary, points=4096, measures=("energy_end",))
            row: dict[str, Any] = {"joints": n, "steps": round(until * 1000)}
            for method, count in (("rollout", 4096), ("runs", 12)):
                points = Points(study.model_copy(update={"method": method}), "cpu")
                points.compute(0, 4)
                begin = perf_counter()
                points.compute(0, count)
                row[method] = count / (perf_counter() - begin)
            rows.append(row)
    return rows


WHOLE = """
import os, sys, time
from appell.study import read_study, sweep

def processor():
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system

if __name__ == "__main__":
    study, workers = read_study(sys.argv[1]), int(sys.argv[2]) or None
    sweep(study.model_copy(update={"points": 4096}))  # kernels are compiled, and loaded
    begin = processor()
    sweep(study, workers=workers)
    print(processor() - begin)
"""


def engines(points: int) -> list[dict[str, Any]]:
    """Seconds of the processor for more and more points, in this process and on workers of Dask,
    whose start is part of it. Unlike the clock's, they hardly depend on a machine's other work."""
    rows: list[dict[str, Any]] = [{"workers": n, "seconds": {}} for n in (0, 1, 2)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robust.json"
        for n in (n for n in COUNTS if n <= points):
            file.write_text(robust(n).text())
            for row in rows:
                row["seconds"][str(n)] = _child(file, WHOLE, row["workers"])
    return rows


def measure(points: int, only: str | None) -> dict[str, Any]:
    """All figures, or those of a part, beside the last ones of the others."""
    measured = {
        "rollouts": lambda: against_rollouts(points),
        "resumed": lambda: after_a_kill(robust(points)),
        "dask": lambda: on_dask(max(4096, points // 4)),
        "growth": growth,
        "engines": lambda: engines(points),
    }
    found = {name: measured[name]() for name in PARTS if only in (None, name)}
    return kept() | {"machine": machine()} | found


def kept() -> dict[str, Any]:
    """The last figures."""
    return dict(json.loads(FIGURES.read_text()))


def page(figures: dict[str, Any]) -> str:
    """The tables, as Markdown."""
    cores, cpu = figures["machine"]["cores"], figures["machine"]["cpu"]
    return (
        f"{figures['rollouts']['points']:,} one-second runs of the PUMA in "
        f"`examples/studies/robust_puma.toml`, on {cores} cores of an {cpu}:\n\n"
        f"| what | measured |\n| --- | ---: |\n{_costs(figures)}\n\n"
        f"Processor seconds of the same runs by engine, on {cores} cores that had other work, too. "
        "The start of Dask's workers is part of them; elapsed time is at least this divided by the "
        "cores in use:\n\n"
        f"{_engines(figures['engines'])}\n\n{_gpu()}\n\n"
        "Points per second of a falling chain, in one process:\n\n"
        "| joints | steps of 1 ms | as rollouts | one by one |\n| ---: | ---: | ---: | ---: |\n"
        f"{_growth(figures['growth'])}\n"
    )


def _costs(figures: dict[str, Any]) -> str:
    r, d, again, u = (figures[name] for name in ("rollouts", "dask", "resumed", "unkind"))
    killed = ", ".join(f"{who} {n}×" for who, n in u["kills"].items())
    rows = [
        ("bare rollouts", f"{r['bare']:.1f} s"),
        ("the sweep: points, rollouts, Parquet files", f"{r['sweep']:.1f} s"),
        ("overhead", f"{100 * r['overhead']:.1f} %"),
        ("memory, at most", f"{r['peak_gib']:.2f} GiB"),
        (
            f"killed with {again['blocks_done']} of {again['blocks']} blocks written: from the "
            f"start of a new process to its first new block, at a load of {again['load']:.0f} on "
            f"{figures['machine']['cores']} cores",
            f"{again['seconds']:.1f} s ({again['cpu_seconds']:.1f} s of the processor)",
        ),
        ("a task of Dask that does nothing", f"{d['ms_per_task']:.1f} ms"),
        (f"{d['points']:,} points on one worker of Dask", f"{d['one_worker']:.1f} s"),
        (f"{d['points']:,} points on two workers", f"{d['two_workers']:.1f} s"),
        ("two workers are faster by", f"{d['gain']:.2f}×"),
        (
            f"`benchmarks.unkind`: {u['points']:,} points one by one on two workers, with kills "
            f"({killed}); {u['failed']:,} points failed with their reasons; the same bits as "
            f"undisturbed, SHA-256 `{u['sha256'][:16]}…`",
            f"{u['seconds']:.0f} s",
        ),
    ]
    return "\n".join(f"| {what} | {value} |" for what, value in rows)


def _engines(rows: list[dict[str, Any]]) -> str:
    names = ("this process", "1 worker of Dask", "2 workers of Dask")
    shown = [n for n in COUNTS if all(str(n) in x["seconds"] for x in rows)]
    head = "| engine | " + " | ".join(f"{n:,} points" for n in shown) + " |\n| --- "
    return "\n".join([
        head + "| ---: " * len(shown) + "|",
        *(
            f"| {names[x['workers']]} | "
            + " | ".join(f"{x['seconds'][str(n)]:.1f} s" for n in shown) + " |"
            for x in rows
        ),
    ])  # fmt: skip


def _gpu() -> str:
    """A sentence on the sweeps of benchmarks/gpu.json."""
    figures = json.loads(GPU.read_text())
    told = " and ".join(f"{x['seconds']:.1f} s in {x['where']}" for x in figures["sweeps"])
    points = figures["sweeps"][0]["points"]
    return f"With a GPU ({figures['card']}), {points:,} points take {told}, elapsed."


def _growth(rows: list[dict[str, Any]]) -> str:
    return "\n".join(
        f"| {x['joints']} | {x['steps']:,} | {x['rollout']:,.0f} | {x['runs']:,.0f} |" for x in rows
    )


def write(figures: dict[str, Any]) -> None:
    """Keep the figures, and put the tables between the page's marks."""
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    write_page(figures)


def write_page(figures: dict[str, Any]) -> None:
    """Put the tables between the page's marks."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{page(figures)}\n{END}{after}")


def main() -> None:
    """Run it from the command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--points", type=int, default=1_000_000)
    options.add_argument("--only", choices=PARTS)
    options.add_argument("--page", action="store_true")
    given = options.parse_args()
    figures = kept() if given.page else measure(given.points, given.only)
    write(figures)
    print(page(figures))


if __name__ == "__main__":
    main()
