"""Random flights against random walls: is every first impact found, and nothing passed through?

python -m benchmarks.impacts                    10,000 flights, about three quarters of an hour
python -m benchmarks.impacts --flights 300      a few

Each flight is searched for its first impact a second time, by other means: the motion without
walls, in closed form where there is one, is looked at every 0.1 ms, every lowest place of
every point above a wall is refined, and the first that is behind it is bracketed. What comes
within 1e-10 m of a wall without passing it, or passes it by less, grazes: it may count or not.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.progress import track
from scipy.optimize import brentq, minimize_scalar

import appell
from appell.errors import InputError, whole
from benchmarks.flights import SECONDS, Flyer, Level, Places, Walled, flyers, random_walls

SPACING = 1e-4  # s
GRAZE = 1e-10  # m
FINE = {"same", "none", "grazed", "no start"}  # how a flight may come out
CLOSE = 1e-9  # s, between the two searches
DEEP = 1e-8  # m, the most penetration until the end of a run
CROWD = 500  # impacts within a second that end a run: the rest of it is rattling


# The search by other means


class First(NamedTuple):
    time: float | None  # of the first impact
    grazed: float | None  # of the first graze before it


def dense_search(places: Places, level: Level) -> First:
    """The first impact of a motion without walls."""

    def height(t: float, k: int) -> float:
        return float(level(*places(np.array([t]))[0, k]))

    t = np.arange(0, SECONDS + SPACING / 2, SPACING)
    heights = level(*np.moveaxis(places(t), -1, 0))  # (times, points)
    behind = heights < 0
    lowest = np.zeros_like(behind)
    lowest[1:-1] = (heights[1:-1] <= heights[:-2]) & (heights[1:-1] <= heights[2:])
    # Between two times a height falls by less than four times what it changes beside them.
    change = np.abs(np.diff(heights, axis=0)).max(axis=0)
    lowest &= heights < 4 * change + GRAZE
    grazed = None
    for row in np.flatnonzero((behind | lowest).any(axis=1)):
        times = []
        for k in np.flatnonzero(behind[row] | lowest[row]):
            if not behind[row, k]:
                bounds = (t[row - 1], t[row + 1])
                found = minimize_scalar(
                    height, args=(k,), bounds=bounds, method="bounded", options={"xatol": 1e-12}
                )
                if abs(found.fun) <= GRAZE:
                    grazed = found.x if grazed is None else grazed
                if found.fun >= -GRAZE:
                    continue
                end = found.x
            elif row == 0:
                return First(0.0, grazed)
            else:
                end = t[row]
            before = t[max(row - 1, 0)]
            if height(before, k) > 0:
                times.append(brentq(height, before, end, args=(k,), xtol=1e-14, rtol=1e-14))
            else:
                times.append(before)
        if times:
            return First(min(times), grazed)
    return First(None, grazed)


# Flights


def started(
    draw: np.random.Generator, flyer: Flyer, walled: Walled
) -> tuple[np.ndarray, np.ndarray, Places] | None:
    """A start in front of the wall, aimed at about where it is; one in eight almost touches it."""
    for _ in range(50):
        p = draw.normal(size=3) * 1.5
        p[2] *= flyer.spatial
        aim = draw.normal(size=3) * 0.2
        v = (aim - p) / np.linalg.norm(aim - p) * 10 ** draw.uniform(-0.5, 1)
        v[2] *= flyer.spatial
        q, v = flyer.start(draw, p, v)
        places = flyer.flight(q, v)
        heights = walled.level(*np.moveaxis(places(np.zeros(1)), -1, 0))
        if heights.min() <= 1e-3:
            continue
        if draw.random() < 0.125:
            q = _almost_touching(q, flyer, walled, v)
            places = flyer.flight(q, v)
        return q, v, places
    return None


def _almost_touching(q: np.ndarray, flyer: Flyer, walled: Walled, v: np.ndarray) -> np.ndarray:
    """The same start moved towards the wall, until a hair is left."""
    if flyer.kind == "arm":
        return q
    n = 3 if flyer.spatial else 2
    p = q[:n].copy()

    def height(x: float) -> float:
        places = flyer.flight(np.append(p * x, q[n:]), v)(np.zeros(1))
        return float(walled.level(*np.moveaxis(places, -1, 0)).min()) - 1e-7

    xs = np.linspace(1, 0, 40)
    for a, b in pairwise(xs):
        if height(b) < 0:
            return np.append(p * brentq(height, b, a, xtol=1e-15), q[n:])
    return q


def fly(draw: np.random.Generator, flyer: Flyer, walled: Walled) -> tuple[str, float, float]:
    """One flight: how it came out, the times' difference and the deepest penetration."""
    begun = started(draw, flyer, walled)
    if begun is None:
        return "no start", 0.0, 0.0
    q, v, places = begun
    first = dense_search(places, walled.level)
    e = float(draw.uniform(0.2, 1.0))
    try:
        run = appell.simulate(
            flyer.robot, q, v, until=SECONDS, walls=walled.wall, restitution=e, max_impacts=CROWD
        )
    except InputError as problem:
        return f"refused: {problem}", 0.0, 0.0
    found = run.impacts[0].time if run.impacts else None
    deep = run.residuals["penetration"]
    t = np.linspace(0, run.t[-1], 4001)
    deep = max(deep, depth(walled.level, appell_places(flyer, run(t)[0])))
    if found is not None and first.time is not None and abs(found - first.time) <= CLOSE:
        return "same", abs(found - first.time), deep
    if found is None and first.time is None:
        return "none", 0.0, deep
    if first.grazed is not None and (found is None or found >= first.grazed - 1e-3):
        return "grazed", 0.0, deep
    return ("missed" if found is None or (first.time or 0) < found else "invented"), 0.0, deep


def depth(level: Level, at: np.ndarray) -> float:
    """How far behind the wall the deepest of many points is, m, to first order."""
    heights = level(*np.moveaxis(at, -1, 0))
    behind = at[heights < 0]
    if not len(behind):
        return 0.0
    ways = 1e-6 * np.eye(3)
    slopes = [(level(*(behind + way).T) - level(*(behind - way).T)) / 2e-6 for way in ways]
    return float((-heights[heights < 0] / np.linalg.norm(slopes, axis=0)).max())


def appell_places(flyer: Flyer, q: np.ndarray) -> np.ndarray:
    """Where the points are, by Appell's own kinematics, for the path with impacts."""
    names = flyer.robot.model.points
    return np.stack([flyer.robot.forward_kinematics(q, name)[..., :3, 3] for name in names], axis=1)


def main(
    flights: Annotated[int, typer.Option(help="How many.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of the random numbers.")] = 0,
    each: Annotated[int, typer.Option(help="Flights of one robot at one wall.")] = 50,
    first: Annotated[int, typer.Option(help="Leave out so many robots at walls.")] = 0,
) -> None:
    """Fly, search again, and tell what differs; exit with 1 if anything does."""
    robots = flyers()
    walls = {x: random_walls(np.random.default_rng([seed, x]), x) for x in (False, True)}
    outcomes: Counter[str] = Counter()
    latest = deepest = 0.0
    jobs = ((k, j) for k in range(first + -(-flights // each)) for j in range(each))
    try:
        for k, j in track(jobs, total=(first + -(-flights // each)) * each, description="flights"):
            if j == 0:
                flyer, draw = robots[k % len(robots)], np.random.default_rng([seed, 2, k])
                walled = next(walls[flyer.spatial])
            if k < first:
                continue
            with whole():  # an interrupt ends the campaign, not one run
                outcome, apart, deep = fly(draw, flyer, walled)
            outcomes[outcome] += 1
            latest, deepest = max(latest, apart), max(deepest, deep)
            if outcome not in FINE or deep > DEEP:
                print(f"{flyer.kind} at {walled.wall}, {k}.{j}: {outcome}, {deep:.3g} m deep")
    except KeyboardInterrupt:
        print(f"interrupted after {outcomes.total()} flights")
    print(", ".join(f"{count} {what}" for what, count in outcomes.most_common()))
    print(f"first impacts differ by {latest:.2g} s at most; deepest penetration {deepest:.2g} m")
    sys.exit(int(bool(set(outcomes) - FINE) or deepest > DEEP))


if __name__ == "__main__":
    typer.run(main)
