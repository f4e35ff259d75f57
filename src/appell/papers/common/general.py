"""A general robot to count with: every parameter a symbol, zeros and ones by structure only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from appell.compile.count import Counted, Operations, Polynomial, Tally
from appell.maths.rotation import AboutX
from appell.maths.vector import ZERO, Symmetric, Vector
from appell.model.inertia import Inertia
from appell.model.links import SAME, Link
from appell.model.model import BASE, Body, Joint, Model

T = TypeVar("T")
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


class Steps(list[Operations]):
    """The operations of an algorithm's steps: ``steps(result)`` ends a step and returns its result.

    What the tally has counted before is left out.
    """

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self.tally = tally
        tally.taken()

    def __call__(self, result: T) -> T:
        self.append(self.tally.taken())
        return result


Algorithm = Callable[
    [Tally, int], Sequence[Operations]
]  # for n joints, the operations of its steps
Counts = tuple[Polynomial, Polynomial]  # multiplications and additions


def polynomials(algorithm: Algorithm, sizes: Sequence[int] = SIZES) -> list[Counts]:
    """For each step, its multiplications and additions as polynomials in n."""
    runs = {n: algorithm(Tally(), n) for n in sizes}

    def step(k: int) -> Callable[[int], tuple[int, int]]:
        return lambda n: (runs[n][k].multiplications, runs[n][k].additions)

    return [interpolated(step(k), sizes) for k in range(len(runs[sizes[0]]))]


def interpolated(count: Callable[[int], tuple[int, int]], sizes: Sequence[int] = SIZES) -> Counts:
    """Multiplications and additions, given for each n, as polynomials in n."""
    columns = zip(*map(count, sizes), strict=True)
    multiplications, additions = (dict(zip(sizes, column, strict=True)) for column in columns)
    return Polynomial.through(multiplications), Polynomial.through(additions)


def total(counts: Iterable[Counts]) -> Counts:
    """The multiplications and the additions of all steps."""
    multiplications, additions = zip(*counts, strict=True)
    zero = Polynomial.of(0)
    return sum(multiplications, start=zero), sum(additions, start=zero)
