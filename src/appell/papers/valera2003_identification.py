"""The identification of section 4: QR, SVD, pseudo-inverse and ridge regression on the same data.

The paper says that all four were implemented, and prints neither data nor results. Here they get
the same data of a simulated arm, that of tables 5 to 7: tau = K(q, v, a) Phi, with and without
noise. What they begin with is a model whose links weigh up to 20 % more or less.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from appell.charts.chart import Chart, Line, Panel
from appell.charts.palette import COLOURS
from appell.identify import Excitation, Fit, excite, fit
from appell.identify.estimate.fitting import Method
from appell.papers.valera2003_line import PAPER
from appell.robots.registry import load
from appell.robots.robot import Array, Robot
from appell.show.document import Row, Table, plain
from appell.show.figure import picture
from appell.show.rules import AtLeast, AtMost, Rule

METHODS: dict[Method, str] = {
    "qr": "QR", "svd": "SVD", "pinv": "pseudo-inverse", "ridge": "ridge regression",
}  # fmt: skip
OFF = (1.15, 0.85, 1.12, 0.88, 1.2, 0.82)  # each link's mass and inertia by the true ones
NOISE = 0.02  # of each joint's torque, by its standard deviation
SAMPLES, SEED = 500, 2003
COLUMNS = (
    "base parameters, largest error without noise",
    "with noise, rms error by that of the model before",
    "largest difference from QR",
    "torque on held-out motion, rms error by its size",
)
SAME = 1e-9  # kg, kg m or kg m^2: least squares of a well conditioned problem, solved otherwise


@cache
def robots() -> tuple[Robot, Robot]:
    """The arm, and what is believed of it at first."""
    true = load("puma560")
    links = true.parameters.reshape(-1, 10) * np.array(OFF)[:, None]
    return true, true.with_parameters(links.ravel())


@cache
def motion(seed: int) -> Excitation:
    """Ten seconds within what a PUMA can do; a short search will do here, and none for the motion
    that the estimates have to predict."""
    random, iterations = (10, 15) if seed == SEED else (1, 1)
    return excite(
        robots()[1], duration=10, position=2.5, speed=2.0, starts=1, iterations=iterations,
        random=random, seed=seed,
    )  # fmt: skip


@cache
def data(noise: float, seed: int = SEED) -> tuple[Array, Array, Array, Array]:
    """q, v, a and tau of the arm."""
    q, v, a = motion(seed)(np.linspace(0, 10, SAMPLES))
    tau = robots()[0].kernel("inverse_dynamics", formulation=PAPER)(q, v, a)
    draw = np.random.default_rng(seed)
    return q, v, a, tau + noise * tau.std(axis=0) * draw.normal(size=tau.shape)


@cache
def estimate(method: Method, noise: float) -> Fit:
    """The fit by a method on data with noise."""
    return fit(robots()[1], *data(noise), method=method)


def errors(found: Fit) -> Array:
    """Errors of the base parameters, in kg, kg m and kg m^2."""
    return found.base - found.basis.matrix @ robots()[0].parameters


def predicted(found: Fit) -> float:
    """The rms error of torques on a motion of its own, by their standard deviation."""
    q, v, a, tau = data(0.0, SEED + 1)
    return float(np.mean(np.std(tau - found.predict(q, v, a), axis=0) / tau.std(axis=0)))


def tables() -> list[Table]:
    """The four methods beside each other, and what else is known of their estimates."""
    title = "Section 4: identification by the paper's four methods"
    rows = [_row(method, name) for method, name in METHODS.items()]
    others = {
        name: [(found := estimate(method, NOISE)).condition, "yes" if found.physical else "no"]
        for method, name in METHODS.items()
    }
    return [
        Table(title, COLUMNS, rows, _note()),
        plain(f"{title}, the estimates with noise", ("condition number", "physical"), others),
    ]


def _row(method: Method, name: str) -> Row:
    exact, noisy, least = estimate(method, 0.0), estimate(method, NOISE), estimate("qr", NOISE)
    true, believed = robots()
    before = noisy.basis.matrix @ (believed.parameters - true.parameters)
    ours = [
        float(np.abs(errors(exact)).max()),
        float(np.sqrt(np.mean(errors(noisy) ** 2) / np.mean(before**2))),
        float(np.abs(noisy.base - least.base).max()),
        predicted(noisy),
    ]
    # Ridge regression is another estimate; noise of 2 % leaves little of errors of 20 %.
    apart: Rule = AtLeast(SAME) if method == "ridge" else AtMost(SAME)
    rule = [AtMost(SAME), AtMost(0.1), apart, AtMost(0.15)]
    return Row.own(name, ours, rule)


def _note() -> str:
    found = estimate("qr", NOISE)
    return (
        f"The same data for all: {SAMPLES} samples of an excitation of 10 s, the torques of tables "
        f"5 to 7 with noise of {100 * NOISE:g} % of each joint's standard deviation. Of the 60 "
        f"parameters {len(found.base)} sums act on the torques; only these are estimated. QR and "
        "SVD give the same least squares where the data determine all of them; the pseudo-inverse "
        "gives the same sums with the shortest of all standard parameters, which no bodies have; "
        "ridge regression pulls towards what was believed, by as much as cross-validation chooses. "
        "The paper prints no results."
    )


@picture(
    "Section 4: base parameters identified",
    "Errors of the estimates with noise, by their size (the dots; lines: two standard deviations), "
    "and of what was believed at first (crosses). Those that are zero are left out.",
)
def errors_picture() -> Chart:
    """A chart with a dot per parameter and method."""
    true, believed = robots()
    first = estimate("qr", NOISE)
    size = np.abs(first.basis.matrix @ true.parameters)
    order = np.argsort(-size)[: np.count_nonzero(size > 1e-9)]  # some are zero by symmetry
    size = size[order]
    places = np.arange(len(order))
    drawn = []
    for k, (method, name) in enumerate(METHODS.items()):
        found, x = estimate(method, NOISE), places + 0.18 * (k - 1.5)
        error, bars = errors(found)[order] / size, 2 * found.std[order] / size
        drawn.append(Line(name, x, error, COLOURS[k], drawn="dots", width=0.8, bars=bars))
    off = (first.basis.matrix @ (believed.parameters - true.parameters))[order] / size
    drawn.append(Line("believed at first", places, off, drawn="crosses", width=1.2))
    look: dict[str, Any] = {"x": "base parameter, the largest first", "y_range": (-1, 1)}
    ticks = [first.names[j] for j in order]
    return Chart([Panel("", "error by size", drawn, ticks=ticks, **look)])


PICTURES = (errors_picture,)
