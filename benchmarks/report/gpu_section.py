"""What benchmarks/gpu.py found, as a section of docs/speed.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.gpu import ROLLOUT_STEPS, STEPS
from benchmarks.report.text import seconds, table, words

FOUND = "benchmarks/gpu.json"

_SECTION = """\
Written by `python -m benchmarks.gpu` on {date}, on an {card} (driver of {driver}).

Times are by the card's own clock, with arrays that are on the card already; the share is that of
the bandwidth, read and written, of the driver's own copy of as many bytes ({copy}).
PUMA 560, {states:,} states.

{speed}

{equal}
{libraries}

[Rollouts](rollouts.md) of the PUMA under computed torque: a million runs of a second, the law and a
step of Runge and Kutta every millisecond, the largest error watched; the whole call is timed, best
of five. JAX runs the very same tapes, its loops inside one jit, in turns with ours on the same
card. The processor beside it has {cores} cores; it does {part} of the runs, {times}, and
its time is that of all at the same rate.

{rollouts}

{same_rollouts}
{gradients}
[Sweeps](sweeps.md) of the PUMA with unknown loads and friction, a second each in float64, from the
call to the last of all measures; the first points are also computed by the processor:

{sweeps}

The first result in a new process ({processes}):

{first}
{first_rollout}
Long tapes are cut into functions; derivatives of forward dynamics in float64:

{long}"""


def gpu_section(root: Path) -> str:
    """The section, from the last results."""
    path = root / FOUND
    if not path.exists():
        return "Not measured: `python -m benchmarks.gpu` needs a machine with an NVIDIA GPU."
    found = json.loads(path.read_text())
    same = sum(x["same"] for x in found["equal"])
    robots = len({x["robot"] for x in found["equal"]})
    return _SECTION.format(
        date=found["date"],
        card=found["card"],
        driver=found["driver"],
        states=found["states"],
        copy=", ".join(f"{x / 1e12:.2f} TB/s in {dtype}" for dtype, x in found["copy"].items()),
        speed=table(
            ["", "dtype", "states/s", "TB/s", "share of a copy's"], [*map(_speed, found["speed"])]
        ),
        equal=f"{same} of {len(found['equal'])} results (10,000 states each, {robots} robots, "
        "float32 and float64) have the SHA-256 sums of the processor's.",
        cores=found["cores"],
        part=_part(found["rollouts"][0]["processor's part"]),
        times=_times(found["rollouts"][0]["processor's times"]),
        rollouts=table(
            ["", "1,048,576 runs of 1,000 steps", "steps/s", "JAX", "the processor"],
            [*map(_rollout, found["rollouts"])],
        ),
        same_rollouts=f"{sum(x['same'] for x in found['same rollouts'])} of "
        f"{len(found['same rollouts'])} rollouts (law, noise, walls, loops, a free base; float32 "
        "and float64) have the SHA-256 sums of the processor's.",
        gradients=_gradients(found),
        first_rollout=_first_rollout(found),
        sweeps=table(
            ["", "points", "seconds", "failed", "the processor's bits"],
            [*map(_sweep, found["sweeps"])],
        ),
        libraries=_libraries(found["libraries"]),
        processes=found["processes"],
        first=table(
            ["", *STEPS, "in all"],
            [[name, *map(seconds, x), seconds(sum(x))] for name, x in found["first call"].items()],
        ),
        long=table(
            ["", "steps", "compiled to PTX", "assembled by the driver", "states/s"],
            [
                [
                    x["robot"],
                    f"{x['steps']:,}",
                    seconds(x["compiled"]),
                    seconds(x["assembled"]),
                    f"{x['states per second'] / 1e6:.1f} M",
                ]
                for x in found["long"]
            ],
        ),
    )


def _gradients(found: dict[str, Any]) -> str:
    """A paragraph with the table; nothing of results from before there were gradients."""
    if "gradients" not in found:
        return ""
    same, rows = found["same gradients"], found["gradients"]
    told = f"""
[Gradients](rollouts.md#gradients) of the root-mean-square error of {rows[0]["runs"]:,} such runs
with respect to starts and gains, by a sweep back with checkpoints. The processor does
{_part(rows[0]["processor's part"])} of the runs, {_times(rows[0]["processor's times"])}.

"""
    told += table(
        ["", "rollout", "gradient", "runs/s", "along a direction", "gradient, the processor"],
        [
            [
                x["dtype"],
                seconds(x["rollout"]),
                f"{seconds(x['seconds'])} ({x['cost']:.1f}×)",
                f"{x['runs per second'] / 1e6:.2f} M",
                f"{seconds(x['tangent'])} ({x['cost of a tangent']:.1f}×)",
                f"{seconds(x['processor'])} ({x['processor'] / x['seconds']:.0f}×)",
            ]
            for x in rows
        ],
    )
    return (
        f"{told}\n\n{sum(x['same'] for x in same)} of {len(same)} gradients and tangents (law, "
        "noise, delays, friction, loads, loops; float32 and\nfloat64) have the SHA-256 sums of the "
        "processor's.\n"
    )


def _first_rollout(found: dict[str, Any]) -> str:
    if "first rollout" not in found:
        return ""
    rows = [[name, *map(seconds, x), seconds(sum(x))] for name, x in found["first rollout"].items()]
    return f"\nThe same of a rollout:\n\n{table(['', *ROLLOUT_STEPS, 'in all'], rows)}\n"


def _part(part: int) -> str:
    return f"one in {part}" if part > 1 else "all"


def _times(times: int) -> str:
    return f"the median of {times}" if times > 1 else "once"


def _libraries(found: dict[str, Any]) -> str:
    """What arrays of which libraries were given to."""
    jobs = list(dict.fromkeys(job for x in found.values() for job in x))
    named = {
        job: ", ".join(name for name, x in found.items() if x.get(job) == "same") for job in jobs
    }
    listed = "; ".join(f"{job}: {names}" for job, names in named.items())
    return f"Arrays of other libraries went in and came out with the processor's bits ({listed})."


def _rollout(x: dict[str, Any]) -> list[str]:
    return [
        x["dtype"],
        seconds(x["seconds"]),
        f"{x['steps per second'] / 1e9:.2f} G",
        f"{seconds(x['jax'])} ({x['by jax']:.1f}×)",
        f"{seconds(x['processor'])} ({x['processor'] / x['seconds']:.0f}×)",
    ]


def _sweep(x: dict[str, Any]) -> list[str]:
    return [
        f"in {x['where']}",
        f"{x['points']:,}",
        seconds(x["seconds"]),
        f"{x['failed']:,}",
        "yes" if x["same"] else "no",
    ]


def _speed(x: dict[str, Any]) -> list[str]:
    return [
        words(x["quantity"]),
        x["dtype"],
        f"{x['states per second'] / 1e9:.1f} G",
        f"{x['bytes per second'] / 1e12:.2f}",
        f"{x['share']:.0%}",
    ]
