"""What the papers print wrongly gives wrong numbers; what docs/papers/*.md have for it, right ones.

The equations are written out here once more, in the base's axes and with NumPy, so that a printed
term can be put in the place of the right one.
"""

from __future__ import annotations

import re
from math import dist
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import appell
from appell.maths.vector import Vector
from appell.papers import mata2002_simulation
from appell.papers.shafei2018 import ANGLES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
STATES = np.random.default_rng(20).normal(size=(3, 6))


class Links(NamedTuple):
    """Of each link: its joint's axis, origin, centre of mass, inertia about it, and its motion."""

    z: np.ndarray
    O: np.ndarray
    G: np.ndarray
    I: np.ndarray
    w: np.ndarray
    dw: np.ndarray
    ddG: np.ndarray


def links(model, q, v, a, base=9.81, rho=None):
    """Equations 9 to 12 of Valera et al., in the base's axes. ``base`` is its acceleration upwards;
    ``rho`` takes the place of the joints' own in (9) and (10)."""
    found = []
    R, O, w, dw, ddO = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3), np.array([0, 0, base])
    for i, body in enumerate(model.bodies):
        s = R @ np.array([*body.offset(q[i])], dtype=float)
        turn = body.rotation(q[i])
        step = np.array([[*(turn @ e)] for e in UNITS], dtype=float).T
        ddO = ddO + np.cross(w, np.cross(w, s)) + np.cross(dw, s)
        O, R = O + s, R @ step
        z, turns = R[:, 2], body.rho if rho is None else rho
        dw = dw + turns * (z * a[i] + np.cross(w, z * v[i]))
        w = w + turns * z * v[i]
        ddO = ddO + body.sigma * (z * a[i] + 2 * np.cross(w, z * v[i]))
        r = R @ np.array([*body.inertia.com], dtype=float)
        I = R @ np.array([[*row] for row in body.inertia.central.tensor], dtype=float) @ R.T
        ddG = ddO + np.cross(w, np.cross(w, r)) + np.cross(dw, r)
        found.append((z, O, O + r, I, w, dw, ddG))
    return Links(*map(np.array, zip(*found, strict=True)))


UNITS = [Vector(*row) for row in np.eye(3).tolist()]


def forces(model, at, arm=0, only_A=False):
    """Equation 8 of Valera et al.: A_j + B_j, or A_j alone. ``arm`` 1 takes r from O_{j-1}, as (22)
    has it."""
    O = np.vstack([np.zeros(3), at.O])
    tau = []
    for j, body in enumerate(model.bodies):
        total = 0.0
        for i in range(j, len(model.bodies)):
            f = model.bodies[i].mass * at.ddG[i]
            n = at.I[i] @ at.dw[i] + np.cross(at.w[i], at.I[i] @ at.w[i])
            moment = n if only_A else n + np.cross(at.G[i] - O[j + 1 - arm], f)
            total += at.z[j] @ (moment if body.rho else f)
        tau.append(total)
    return np.array(tau)


@pytest.fixture(scope="module", params=["puma560", "stanford_arm"])
def arm(request):
    return appell.load(request.param)


def test_written_out_the_equations_give_the_forces(arm):
    q, v, a = STATES
    ours = forces(arm.model, links(arm.model, q, v, a))
    np.testing.assert_allclose(ours, arm.inverse_dynamics(q, v, a), rtol=1e-10, atol=1e-10)


# Valera et al. 2003


def test_the_column_d_of_valera_is_minus_craigs():
    """The text's r = (a, D sin alpha, -D cos alpha) with the table's D of -0.15 and -0.433."""
    bodies = appell.load("puma560").model.bodies
    for k, a, alpha, D in ((2, 0.432, 0.0, -0.15), (3, -0.02, np.pi / 2, -0.433)):
        r = [a, D * np.sin(alpha), -D * np.cos(alpha)]
        np.testing.assert_allclose([*map(float, bodies[k].offset(0.0))], r, atol=1e-15)


def test_valera_22_needs_the_joints_own_origin():
    robot = appell.load("puma560")
    q, v, a = STATES
    printed = forces(robot.model, links(robot.model, q, v, a), arm=1)
    assert np.abs(printed - robot.inverse_dynamics(q, v, a)).max() > 1.0


def test_valera_9_and_10_turn_for_revolute_joints_only():
    robot = appell.load("stanford_arm")
    q, v, a = STATES
    printed = forces(robot.model, links(robot.model, q, v, a, rho=1))
    assert np.abs(printed - robot.inverse_dynamics(q, v, a)).max() > 0.1


def test_the_inertia_matrix_of_valera_4_needs_a_and_b():
    robot = appell.load("puma560")
    q, rest = STATES[0], np.zeros(6)
    M, A = (
        np.array(
            [
                forces(robot.model, links(robot.model, q, rest, e, base=0), only_A=x)
                for e in np.eye(6)
            ]
        )
        for x in (False, True)
    )
    np.testing.assert_allclose(M, robot.mass_matrix(q), atol=1e-10)
    assert np.abs(A - robot.mass_matrix(q)).max() > 0.1


# Mata et al. 2002


def test_the_base_of_mata_4_1_accelerates_upwards():
    robot = appell.load("puma560")
    q, rest = STATES[0], np.zeros(6)
    held = forces(robot.model, links(robot.model, q, rest, rest))
    np.testing.assert_allclose(held, robot.gravity(q), atol=1e-10)
    printed = forces(robot.model, links(robot.model, q, rest, rest, base=-9.81))
    np.testing.assert_allclose(printed, -robot.gravity(q), atol=1e-10)
    assert np.abs(robot.gravity(q)).max() > 1.0


def test_mata_7d_has_its_product_the_other_way_round():
    """(d r''/d q'')^T = (d dw/d q'')^T r~, of which the print lacks the transposes."""
    z, r = STATES[0][:3], STATES[1][:3]
    skew = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    np.testing.assert_allclose(z @ skew, np.cross(z, r))
    assert np.abs(skew @ z - np.cross(z, r)).max() > 0.1


def test_the_last_product_of_mata_22():
    """m s~_{k,i} r~_{j,i}, where the print has s~_{j,i}."""
    robot = appell.load("puma560")
    model, q, rest = robot.model, STATES[0], np.zeros(6)
    at = links(model, q, rest, rest)

    def skew(x):
        return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])

    def element(j, k, printed):
        total = 0.0
        for i in range(j, 6):
            m, own = model.bodies[i].mass, skew(at.G[i] - at.O[i])
            arm = at.O[i] if printed else at.G[i]
            inner = at.I[i] - m * own @ skew(at.G[i] - at.O[j])
            total += at.z[k] @ (inner - m * skew(at.O[i] - at.O[k]) @ skew(arm - at.O[j])) @ at.z[j]
        return total

    M = robot.mass_matrix(q)
    right, printed = (
        np.array([[element(max(j, k), min(j, k), x) for k in range(6)] for j in range(6)])
        for x in (False, True)
    )
    np.testing.assert_allclose(right, M, atol=1e-10)
    assert np.abs(printed - M).max() > 0.1


def test_the_line_of_mata_5_2_takes_less_than_five_seconds():
    length = dist(mata2002_simulation.START, mata2002_simulation.END)
    assert length / 0.1 == pytest.approx(3.286, abs=1e-3)


# Lee et al. 1982


def test_the_pseudo_inertia_of_lee_2_20_for_a_full_tensor():
    """Off the diagonal -I_xy + m x y; the print has m x y alone."""
    rng = np.random.default_rng(1)
    points, masses = rng.normal(size=(50, 3)), rng.uniform(0.1, 1.0, 50)
    J = np.einsum("n,ni,nj->ij", masses, points, points)
    m, r = masses.sum(), masses @ points / masses.sum()
    central = np.einsum("n,ni,nj->ij", masses, points - r, points - r)
    I = np.trace(central) * np.eye(3) - central
    np.testing.assert_allclose(0.5 * np.trace(I) * np.eye(3) - I + m * np.outer(r, r), J)
    printed = np.where(np.eye(3, dtype=bool), J, m * np.outer(r, r))
    assert np.abs(printed - J).max() > 1.0


def test_lee_3_10_has_a_minus():
    """G = dP/dq of the potential energy (3.5), P = -sum m_j g T_0^j r_j."""
    robot = appell.load("puma560")
    q, h = STATES[0], 1e-6
    slopes = [
        (robot.potential_energy(q + h * e) - robot.potential_energy(q - h * e)) / (2 * h)
        for e in np.eye(6)
    ]
    g = np.array([0, 0, -9.81])

    def printed(q):
        """The sum of m_j g . r_j, whose gradient (3.10) is without its minus."""
        return sum(
            body.mass * g @ G
            for body, G in zip(
                robot.model.bodies,
                links(robot.model, q, np.zeros(6), np.zeros(6)).G,
                strict=True,
            )
        )

    gradient = [(printed(q + h * e) - printed(q - h * e)) / (2 * h) for e in np.eye(6)]
    np.testing.assert_allclose(slopes, robot.gravity(q), atol=1e-6)
    np.testing.assert_allclose(gradient, -robot.gravity(q), atol=1e-6)


# Shafei 2018


def test_the_printed_start_of_shafei_is_rounded():
    assert -(1 + np.sqrt(3)) / 2 == pytest.approx(-1.366, abs=5e-5)
    tree = appell.load("ten_link_tree")
    for X, symmetric in ((-(1 + np.sqrt(3)) / 2, True), (-1.366, False)):
        q = np.array([*ANGLES, X, X])
        at = {p: tree.forward_kinematics(q, p)[:2, 3] for p in tree.model.points}
        pairs = [("O1", "O5"), ("O2", "O4"), ("O8", "O11")]
        apart = max(abs(at[a][0] + at[b][0]) for a, b in pairs)
        assert bool(apart < 1e-12) is symmetric
        assert apart < 6e-5


# The page


def test_the_pages_name_tests_that_are_there():
    pages = [DOCS / "errata.md", *DOCS.glob("papers/*.md")]
    text = "".join(page.read_text() for page in pages)
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) > 20
    for file, test in named:
        path = ROOT / file
        assert path.is_file(), file
        assert f"def {test}(" in path.read_text() or not test, f"{file}::{test}"


@pytest.mark.parametrize("paper", appell.papers.PAPERS)
def test_a_papers_page_names_files_that_are_there(paper):
    text = (DOCS / "papers" / f"{paper}.md").read_text()
    code = text.partition("\n## Where it is in the code\n")[2].partition("\n## ")[0]
    files = re.findall(r"`([\w/]+(?:\.py|/))`", code)
    assert len(files) > 4
    assert [f for f in files if f != "src/appell/" and not (ROOT / "src/appell" / f).exists()] == []
    pictures = re.findall(r"\]\(\.\./(images/\S+)\)", text)
    assert pictures
    assert all((DOCS / picture).is_file() for picture in pictures)


@pytest.mark.parametrize("paper", appell.papers.PAPERS)
def test_every_paper_has_errata_and_notation_on_its_page(paper):
    text = (DOCS / "papers" / f"{paper}.md").read_text()
    for title in ("Errata", "Notation"):
        assert f"\n## {title}\n" in text
        assert f"(papers/{paper}.md#{title.lower()})" in (DOCS / f"{title.lower()}.md").read_text()
