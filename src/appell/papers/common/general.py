"""A general robot to count with: every parameter a symbol, zeros and ones by structure only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appell.compile.count import Counted, Operations, Polynomial, Tally
from appell.maths.rotation import AboutX
from appell.maths.vector import ZERO, Symmetric, Vector
from appell.model.inertia import Inertia
from appell.model.links import SAME, Link
from appell.model.model import BASE, Body, Joint, Model

SIZES = range(3, 11)  # numbers of joints at which is counted; the papers' counts hold from 3 on


def general_chain(tally: Tally, n: int, parameter: Callable[[], Counted] | None = None) -> Model:
    """A chain of n revolute joints by modified Denavit-Hartenberg parameters, gravity along z.

    Parameters are constants; with ``parameter=tally.variable`` what is done to them counts too.
    """
    k = parameter or tally.constant
    bodies = tuple(
        Body(
            name=f"link {i + 1}",
            parent=i - 1 if i else BASE,
            joint=Joint(f"joint {i + 1}"),
            R0=AboutX(k(), k()),
            s0=Vector(k(), k(), k()),
            inertia=Inertia(k(), Vector(k(), k(), k()), Symmetric(k(), k(), k(), k(), k(), k())),
            coordinate=i,
        )
        for i in range(n)
    )
    return Model("general chain", bodies, tuple(b.joint for b in bodies), (), Vector(0, 0, k()))


def general_links(
    tally: Tally, n: int, parameter: Callable[[], Counted] | None = None
) -> list[Link]:
    """A chain of n revolute joints by standard Denavit-Hartenberg parameters: Paul's convention."""
    k = parameter or tally.constant
    return [
        Link(
            parent=i - 1 if i else BASE,
            joint=Joint(f"joint {i + 1}"),
            R0=SAME,
            s0=ZERO,
            E=AboutX(k(), k()),
            r=Vector(k(), k(), k()),
            mass=k(),
            com=Vector(k(), k(), k()),
            central=Symmetric(k(), k(), k(), k(), k(), k()),
        )
        for i in range(n)
    ]


def states(tally: Tally, n: int, how_many: int = 3) -> list[list[Any]]:
    """q, v, a and as many more as asked for."""
    return [[tally.variable() for _ in range(n)] for _ in range(how_many)]


Steps = Callable[[Tally, int], Sequence[Operations]]


def polynomials(steps: Steps, sizes: Sequence[int] = SIZES) -> list[tuple[Polynomial, Polynomial]]:
    """For each step, its multiplications and additions as polynomials in n.

    ``steps(tally, n)`` runs an algorithm for n joints and gives ``tally.taken()`` after each step.
    """
    runs = {n: steps(Tally(), n) for n in sizes}
    return [
        (
            Polynomial.through({n: run[k].multiplications for n, run in runs.items()}),
            Polynomial.through({n: run[k].additions for n, run in runs.items()}),
        )
        for k in range(len(runs[sizes[0]]))
    ]
