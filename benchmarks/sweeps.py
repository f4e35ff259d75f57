"""What a sweep costs beside the bare rollouts that it is made of, and on workers of Dask.

    python -m benchmarks.sweeps                    # a million points, about ten minutes
    python -m benchmarks.sweeps --points 50000     # less exact
    python -m benchmarks.sweeps --only dask        # a part anew: rollouts, dask or growth
    python -m benchmarks.sweeps --page             # writes docs/sweeps.md from the last figures

Writes benchmarks/sweeps.json, and the tables of docs/sweeps.md between its marks.
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

from appell.study import Study, read_study, sweep
from appell.study.sweeps.dataset import parts
from appell.study.sweeps.points import Points
from benchmarks.machine import machine

ROOT = Path(__file__).parents[1]
ROBUST = ROOT / "examples" / "studies" / "robust_puma.toml"
FIGURES, PAGE = Path(__file__).with_suffix(".json"), ROOT / "docs" / "sweeps.md"
BEGIN, END = "<!-- measured:begin -->", "<!-- measured:end -->"


def robust(points: int, **more: Any) -> Study:
    """The PUMA with loads and friction that its law does not know, one second each."""
    study = read_study(ROBUST)
    return study.model_copy(update={"points": points, **more})


def against_rollouts(points: int) -> dict[str, float]:
    """The sweep of so many points beside the rollouts of the same runs, in turns; and its memory,
    and how soon it goes on after it was ended."""
    study = robust(points)
    made = Points(study)
    block = made.block
    made.compute(0, min(block, points))  # compile

    def bare(first: int, last: int) -> float:
        values = made.design.values(first, last)
        prepared = made._rollout_of({})
        arguments = prepared.of(made.within, values)
        begin = perf_counter()
        made._rollout(prepared, arguments, last - first)
        return perf_counter() - begin

    alone = sum(bare(k, min(points, k + block)) for k in range(0, points, block))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "sweep"
        begin = perf_counter()
        found = sweep(study, out)
        whole = perf_counter() - begin
        assert len(found) == points
        last = parts(out)
        last[max(last)].unlink()
        begin = perf_counter()
        sweep(study, out)
        resumed = perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "points": points, "bare": alone, "sweep": whole, "overhead": whole / alone - 1,
        "resumed": resumed, "peak_gib": peak,
    }  # fmt: skip


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
        each = _rates(file, 1)
        file = Path(folder) / "robust.json"
        file.write_text(robust(points).text())
        times: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(rounds):  # in turns: the machine may become slower, or faster
            for n, x in times.items():
                x.append(_rates(file, n)["seconds"])
    gains = [a / b for a, b in zip(times[1], times[2], strict=True)]
    return {
        "ms_per_task": 1e3 * each["seconds"] / 500, "points": points,
        "one_worker": median(times[1]), "two_workers": median(times[2]), "gain": median(gains),
        "gains": sorted(gains),
    }  # fmt: skip


TIMED = """
import sys, time
from appell.study import read_study, sweep
from appell.study.sweeps import dask_engine

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


def _rates(file: Path, workers: int) -> dict[str, float]:
    script = file.with_name("timed.py")
    script.write_text(TIMED)
    done = subprocess.run(
        [sys.executable, str(script), str(file), str(workers)],
        capture_output=True, text=True, check=True, cwd=file.parent,
    )  # fmt: skip
    return {"seconds": float(done.stdout.split()[-1])}


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


def measure(points: int, only: str | None) -> dict[str, Any]:
    """All figures, or those of a part beside the last ones of the others."""
    parts: dict[str, Any] = {
        "rollouts": lambda: against_rollouts(points),
        "dask": lambda: on_dask(max(4096, points // 4)),
        "growth": growth,
    }
    kept = json.loads(FIGURES.read_text()) if only else {}
    found = {name: part() for name, part in parts.items() if only in (None, name)}
    return kept | {"machine": machine()} | found


def page(figures: dict[str, Any]) -> str:
    """The tables, as Markdown."""
    r, d = figures["rollouts"], figures["dask"]
    rows = [
        ("bare rollouts", f"{r['bare']:.1f} s"),
        ("the sweep: points, rollouts, Parquet files", f"{r['sweep']:.1f} s"),
        ("overhead", f"{100 * r['overhead']:.1f} %"),
        ("memory, at most", f"{r['peak_gib']:.2f} GiB"),
        ("one block missing: until it is whole again", f"{r['resumed']:.1f} s"),
        ("a task of Dask that does nothing", f"{d['ms_per_task']:.1f} ms"),
        (f"{d['points']:,} points on one worker of Dask", f"{d['one_worker']:.1f} s"),
        (f"{d['points']:,} points on two workers", f"{d['two_workers']:.1f} s"),
        ("two workers are faster by", f"{d['gain']:.2f}×"),
    ]
    table = "\n".join(f"| {what} | {value} |" for what, value in rows)
    grown = "\n".join(
        f"| {x['joints']} | {x['steps']:,} | {x['rollout']:,.0f} | {x['runs']:,.0f} |"
        for x in figures["growth"]
    )
    return (
        f"{r['points']:,} one-second runs of the PUMA in `examples/studies/robust_puma.toml`, on "
        f"{figures['machine']['cores']} cores of an {figures['machine']['cpu']}:\n\n"
        f"| what | measured |\n| --- | ---: |\n{table}\n\n"
        "Points per second of a falling chain, in one process:\n\n"
        "| joints | steps of 1 ms | as rollouts | one by one |\n| ---: | ---: | ---: | ---: |\n"
        f"{grown}\n"
    )


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
    options.add_argument("--only", choices=("rollouts", "dask", "growth"))
    options.add_argument("--page", action="store_true")
    given = options.parse_args()
    if not given.page:
        figures = measure(given.points, given.only)
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    figures = json.loads(FIGURES.read_text())
    write_page(figures)
    print(page(figures))


if __name__ == "__main__":
    main()
