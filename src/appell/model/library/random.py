"""Random physical trees, for tests and benchmarks."""

from __future__ import annotations

from math import inf

import numpy as np
import numpy.typing as npt

from appell.errors import ModelError
from appell.given import whole
from appell.maths.vector import Symmetric, Vector
from appell.model.build import Base, assemble
from appell.model.hinges import Hinge
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Joint, Model

Array = npt.NDArray[np.float64]


def random_tree(
    n: int = 6,
    seed: int = 0,
    *,
    branching: float = 0.3,
    prismatic: float = 0.25,
    fixed: float = 0.0,
    rotors: bool = False,
    friction: bool = False,
    base: Base = "fixed",
) -> Model:
    """A physical robot drawn at random: random_tree(n, seed, branching=0.3, prismatic=0.25).

    ``branching`` is the chance that a body hangs on any earlier one rather than the last,
    ``prismatic`` that its joint slides, ``fixed`` that a massive link is bolted to it. A
    ``base`` that is "free" or "planar" moves and has a mass.
    """
    n = whole("random_tree(n)", n, least=1)
    seed = whole("random_tree(seed)", seed, least=0)
    chances = {"branching": branching, "prismatic": prismatic, "fixed": fixed}
    for name, chance in chances.items():
        if not isinstance(chance, (int, float)) or not 0 <= chance <= 1:
            raise ModelError(f"random_tree({name}={chance!r}): expected a chance from 0 to 1.")
    links, hinges = random_description(
        n,
        seed,
        branching=branching,
        prismatic=prismatic,
        fixed=fixed,
        rotors=rotors,
        friction=friction,
    )
    if base != "fixed":
        links["base"] = random_inertia(np.random.default_rng([seed, n]))
    return assemble(f"random_tree({n}, {seed})", links, hinges, base=base)


def random_description(
    n: int,
    seed: int,
    *,
    branching: float,
    prismatic: float,
    fixed: float,
    rotors: bool,
    friction: bool,
) -> tuple[dict[str, Inertia], list[Hinge]]:
    """The links and hinges that ``random_tree`` assembles."""
    draw = np.random.default_rng(seed)
    links: dict[str, Inertia] = {"base": NOTHING}
    hinges: list[Hinge] = []
    names = ["base"]
    for i in range(1, n + 1):
        parent = names[draw.integers(len(names))] if draw.random() < branching else names[-1]
        slides = draw.random() < prismatic
        joint = Joint(
            name=f"joint{i}",
            kind="prismatic" if slides else "revolute",
            lower=-inf,
            upper=inf,
            rotor=float(draw.uniform(1e-5, 1e-3)) if rotors else 0,
            gear=float(draw.uniform(1, 100)) if rotors else 1,
            viscous=float(draw.uniform(0, 2)) if friction else 0,
            coulomb=float(draw.uniform(0, 2)) if friction else 0,
        )
        link = f"link{i}"
        links[link] = random_inertia(draw)
        hinges.append(
            Hinge(
                joint.name,
                parent,
                link,
                joint,
                random_rotation(draw),
                draw.uniform(-0.5, 0.5, 3),
                random_direction(draw),
            )
        )
        names.append(link)
        if draw.random() < fixed:
            extra = f"bracket{i}"
            links[extra] = random_inertia(draw)
            hinges.append(
                Hinge(
                    f"weld{i}", link, extra, None, random_rotation(draw), draw.uniform(-0.2, 0.2, 3)
                )
            )
            names.append(extra)
    return links, hinges


def random_inertia(draw: np.random.Generator) -> Inertia:
    """Of a random cloud of point masses: physical by construction."""
    mass = float(draw.uniform(0.2, 5.0))
    spread = draw.uniform(0.02, 0.2, 3)
    second = np.diag(spread**2)  # the cloud's second moments per mass along its own axes
    R = random_rotation(draw)
    P = mass * R @ second @ R.T
    I = np.trace(P) * np.eye(3) - P
    tensor = Symmetric(*(float(I[i, j]) for i in range(3) for j in range(i + 1)))
    com = Vector(*map(float, draw.uniform(-0.2, 0.2, 3)))
    return Inertia.about_com(mass, com, tensor)


def random_rotation(draw: np.random.Generator) -> Array:
    """Uniform over all rotations: a random unit quaternion's matrix."""
    x, y, z, w = (q := draw.normal(size=4)) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def random_direction(draw: np.random.Generator) -> Array:
    """One of the three axes half of the time, any direction otherwise."""
    if draw.random() < 0.5:
        return np.eye(3)[draw.integers(3)] * draw.choice([-1.0, 1.0])
    direction = draw.normal(size=3)
    return direction / np.linalg.norm(direction)
