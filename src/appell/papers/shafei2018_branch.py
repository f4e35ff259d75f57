"""What is run for Table 1 of Shafei 2018: a branch of the tree, by each method.

The paper counts n_b equal branches of n_m links each, virtual ones included. A branch here is n
bars in space, and the two slides X1 and X2 that carry the first. What is counted is the inertia
matrix and the right-hand side; nothing is solved. Each method gives the operations of its steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.compile.count import Operations, Tally
from appell.equations import gibbs_tensor, gibbs_tree, lagrange_euler, lagrange_recursive
from appell.equations.gibbs_tree import OpenChain
from appell.maths.homogeneous import IDENTITY, Matrix4, transformation
from appell.maths.rotation import AboutX, AboutZ, After, Matrix
from appell.maths.scalar import Scalar
from appell.maths.vector import NIL, NULL, ZERO, Symmetric, Tensor, Vector
from appell.model.inertia import NOTHING, Inertia
from appell.model.model import Body, Joint, Model
from appell.papers.common.general import Steps, states
from appell.papers.lee1982_lagrange_euler import full

SLIDES = 2  # X1 and X2

Matrices = Sequence[Matrix4]


# The branch


def branch_model(tally: Tally, n: int) -> Model:
    """n bars, each along its x axis as in the paper, on two slides without mass."""
    k = tally.constant
    turn = Matrix(Tensor(Vector(0, 0, 1), Vector(1, 0, 0), Vector(0, 1, 0)))  # z to x to y
    bodies = [
        Body(f"slide {i + 1}", i - 1, Joint(f"X{i + 1}", "prismatic"), turn, ZERO, NOTHING, i)
        for i in range(SLIDES)
    ]
    for i in range(n):
        twist = AboutX(k(), k())
        bodies.append(
            Body(
                f"bar {i + 1}",
                parent=SLIDES + i - 1,
                joint=Joint(f"q{i + 1}"),
                R0=twist if i else After(turn, twist),
                s0=Vector(k(), 0, 0) if i else ZERO,
                inertia=Inertia(k(), Vector(k(), 0, 0), Symmetric(k(), 0, k(), 0, 0, k())),
                coordinate=SLIDES + i,
            )
        )
    gravity = Vector(k(), k(), k())
    return Model("branch", tuple(bodies), tuple(b.joint for b in bodies), (), gravity)


def every_element(tally: Tally, matrices: Matrices) -> list[Matrix4]:
    """The bars' matrices with all elements counted, zero and one included; the slides' as is."""
    Full = full(tally)
    return [*matrices[:SLIDES], *(Full(X.rows) for X in matrices[SLIDES:])]


# The methods, step by step


def lagrangian(tally: Tally, n: int, *, every: bool) -> list[Operations]:
    """The operations by 4 x 4 matrices: right-hand side, and inertia matrix column by column."""
    model = branch_model(tally, n)
    q, v = states(tally, n + SLIDES, 2)
    A: Matrices = lagrange_euler.links(model, q)
    J: Matrices = lagrange_euler.pseudo_inertias(model)
    if every:
        A, J = every_element(tally, A), every_element(tally, J)
    step = Steps(tally)
    W = lagrange_recursive.transformations(model, A)
    dA = lagrange_recursive.derivatives(model, A)
    dW = lagrange_recursive.own_derivatives(model, W, dA)
    ddW = lagrange_recursive.accelerations(model, A, W, dA, dW, v, [0] * model.nv)
    step(lagrange_recursive.forces(model, A, J, dW, ddW))
    M: list[list[Scalar]] = [[0] * model.nv for _ in model.bodies]
    for k in range(model.nv):
        lagrange_recursive.add_column(model, M, A, J, dW, k)
    step(M)
    return step


def gibbs_appell(tally: Tally, n: int) -> list[Operations]:
    """The operations by 3 x 3 matrices: right-hand side and inertia matrix of Mata et al. 2002."""
    model = branch_model(tally, n)
    q, v = states(tally, n + SLIDES, 2)
    step = Steps(tally)
    step(gibbs_tensor.bias(model, q, v))
    step(gibbs_tensor.mass_matrix(model, q))
    return step


def combination(tally: Tally, n: int, *, every: bool) -> list[Operations]:
    """The seven steps, 1 and 2 together, without what no later step asks for."""
    model = branch_model(tally, n)
    q, v = states(tally, n + SLIDES, 2)
    branch = counted_branch(tally, model, q, every)
    step = Steps(tally)
    place = step(gibbs_tree.placed(branch))
    w, dw = step(gibbs_tree.angular_motion(branch, place, v, [0] * model.nv))
    ddT = gibbs_tree.accelerations(branch, place, v, [0] * model.nv)
    p, Q, chi = step(gibbs_tree.carried(branch, place, ddT, w, dw))
    step(gibbs_tree.projected(model, branch, place, p, Q, chi))
    F = gibbs_tree.moved_moments(branch)
    P = step(gibbs_tree.turned_moments(branch, place))
    step(gibbs_tree.coupled(branch, place, F, P))
    return step


def counted_branch(tally: Tally, model: Model, q: Sequence[Scalar], every: bool) -> OpenChain:
    """The branch as an open chain; with all elements counted if ``every``."""
    (branch,) = gibbs_tree.branches(model, q)
    if every:
        B2 = [Symmetric(*(tally.variable() for _ in range(6))) for _ in branch.B2[SLIDES:]]
        branch = branch._replace(
            EA=every_element(tally, branch.EA),
            B1=every_element(tally, branch.B1),
            B2=[*branch.B2[:SLIDES], *B2],
        )
    return branch


def as_printed(tally: Tally, n: int, *, every: bool) -> list[Operations]:
    """The seven steps with steps 1 and 2 as the appendix has them, between all links."""
    return [*printed_compounds(tally, n, every=every), *combination(tally, n, every=every)[1:]]


def printed_compounds(tally: Tally, n: int, *, every: bool) -> list[Operations]:
    """Steps 1 and 2 to the letter; E[j] is E_j, A[j] is A_j, and i = 0 the reference."""
    model = branch_model(tally, n)
    (q,) = states(tally, n + SLIDES, 1)
    Kind = full(tally) if every else Matrix4
    bars = model.bodies[SLIDES:]
    x, y = q[:SLIDES]
    ends = [Vector(x, y, 0), *(bar.s0 for bar in bars[1:])]
    E = [Kind(transformation(AboutZ(1, 0), end).rows) for end in ends]
    turns = [bar.rotation(angle) for bar, angle in zip(bars, q[SLIDES:], strict=True)]
    A = [IDENTITY, *(Kind(transformation(turn, ZERO).rows) for turn in turns)]
    U1 = [lagrange_euler.by_operator(Aj, bar) for Aj, bar in zip(A[1:], bars, strict=True)]
    step = Steps(tally)

    T: dict[tuple[int, int], Matrix4] = {}
    tilde: dict[tuple[int, int], Matrix4] = {}
    for i in range(n):
        for j in range(i + 1, n + 1):
            T[i, j] = T[i, j - 1] @ E[j - 1] @ A[j] if j > i + 1 else A[j]
            tilde[i, j] = E[i] @ T[i, j]
    hat = [E[0], *(tilde[0, j] @ E[j] for j in range(1, n))]
    step([hat_j @ U for hat_j, U in zip(hat, U1, strict=True)])

    R = [Tensor(*(Vector(*row[:3]) for row in Aj.rows[:3])) for Aj in A]
    for j in range(1, n - 1):
        compound = R[j + 1]
        for k in range(j + 2, n + 1):
            compound = gibbs_tree.product(compound, R[k])
    step(R)
    return step


def alone(tally: Tally, n: int, *, every: bool) -> list[Operations]:
    """The same steps by 4 x 4 matrices alone: B1 is half the pseudo-inertia, B2 is null."""
    model = branch_model(tally, n)
    q, v = states(tally, n + SLIDES, 2)
    J = [gibbs_tree.scaled(x, 0.5) for x in lagrange_euler.pseudo_inertias(model)]
    branch = counted_branch(tally, model, q, every)
    B1 = every_element(tally, J) if every else J
    branch = branch._replace(B1=B1, B2=[NIL] * model.nv)
    step = Steps(tally)
    place = gibbs_tree.placed(branch)
    ddT = gibbs_tree.accelerations(branch, place, v, [0] * model.nv)
    rest = [ZERO] * model.nv
    carried = gibbs_tree.carried(branch, place, ddT, rest, rest)
    step(gibbs_tree.projected(model, branch, place, *carried))
    P = [[NULL] * model.nv] * model.nv
    step(gibbs_tree.coupled(branch, place, gibbs_tree.moved_moments(branch), P))
    return step
