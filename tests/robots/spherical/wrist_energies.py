"""The Agile Wrist's energies from where its points are: no angle of a limb, no Jacobian, no
inertia tensor of a link. CasADi differentiates them; Lagrange's equations follow."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi
import numpy as np


class Numbers(NamedTuple):
    """What the library's function takes; angles and signs one per limb."""

    alpha1: Any
    alpha2: Any
    beta: float
    gamma: float
    lam: Any
    eta: Any
    link_density: float
    arc_radius: float
    platform_mass: float
    platform_inertia: Any
    platform_com: Any
    gravity: Any
    signs: Any  # of the branches

    def options(self) -> dict[str, Any]:
        """For appell.load."""
        options = self._asdict()
        signs = options.pop("signs")
        return {**options, "branch": "".join("+" if x > 0 else "-" for x in signs)}


def drawn(seed: int, branch: str) -> Numbers:
    """A wrist that reaches the poses around its middle, unlike in every limb."""
    draw = np.random.default_rng(seed)
    thirds = 2 * np.pi / 3 * np.arange(3)
    points = draw.normal(size=(6, 3)) * 0.05
    weights = draw.uniform(0.1, 0.4, 6)
    second = np.einsum("n,ni,nj->ij", weights, points, points)
    inertia = np.trace(second) * np.eye(3) - second
    return Numbers(
        alpha1=np.radians(80) + draw.uniform(-0.1, 0.1, 3),
        alpha2=np.radians(75) + draw.uniform(-0.1, 0.1, 3),
        beta=draw.uniform(0.5, 0.9),
        gamma=draw.uniform(0.8, 1.1),
        lam=thirds + draw.uniform(-0.1, 0.1, 3),
        eta=thirds + draw.uniform(-0.1, 0.1, 3),
        link_density=draw.uniform(0.5, 2),
        arc_radius=draw.uniform(0.05, 0.2),
        platform_mass=weights.sum(),
        platform_inertia=inertia,
        platform_com=weights @ points / weights.sum(),
        gravity=draw.normal(size=3) * 5,
        signs=np.array([1.0 if x == "+" else -1.0 for x in branch]),
    )


# Vectors are CasADi's columns.


def about(axis: int, angle: Any) -> casadi.SX:
    """A rotation about a coordinate axis, by Rodrigues' formula."""
    K = casadi.SX(np.cross(np.eye(3), np.eye(3)[axis]))
    return casadi.SX.eye(3) + casadi.sin(angle) * K + (1 - casadi.cos(angle)) * (K @ K)


def platform(q: casadi.SX) -> casadi.SX:
    return about(2, q[0]) @ about(1, q[1]) @ about(0, q[2])


def middle_axis(u: Any, v: Any, alpha1: float, alpha2: float, sign: float) -> casadi.SX:
    """w at the angles alpha1 from u and alpha2 from v, on one side of their plane or the other."""
    d, c1, c2 = casadi.dot(u, v), np.cos(alpha1), np.cos(alpha2)
    a, b = (c1 - d * c2) / (1 - d * d), (c2 - d * c1) / (1 - d * d)
    c = casadi.sqrt((1 - a * a - b * b - 2 * a * b * d) / (1 - d * d))
    return a * u + b * v + sign * c * casadi.cross(u, v)


def axes(wrist: Numbers, q: casadi.SX) -> list[tuple[casadi.SX, casadi.SX, casadi.SX]]:
    """u, w, v of each limb."""
    found = []
    for i in range(3):
        u = (about(2, wrist.lam[i]) @ about(0, wrist.gamma - np.pi))[:, 2]
        v = platform(q) @ (about(2, wrist.eta[i]) @ about(0, -wrist.beta))[:, 2]
        w = middle_axis(u, v, wrist.alpha1[i], wrist.alpha2[i], wrist.signs[i])
        found.append((u, w, v))
    return found


NODES, WEIGHTS = np.polynomial.legendre.leggauss(14)


def link_points(wrist: Numbers, q: casadi.SX) -> tuple[casadi.SX, np.ndarray]:
    """Points of all links (3, n) and their masses (n,): Gauss's of great circles from axis to
    axis."""
    share = (NODES[None] + 1) / 2
    points, masses = [], []
    for (u, w, v), alpha1, alpha2 in zip(axes(wrist, q), wrist.alpha1, wrist.alpha2, strict=True):
        for start, end, angle in ((u, w, alpha1), (w, v, alpha2)):
            near, far = np.sin((1 - share) * angle), np.sin(share * angle)
            points.append((start @ near + end @ far) * (wrist.arc_radius / np.sin(angle)))
            masses.append(wrist.link_density * wrist.arc_radius * angle * WEIGHTS / 2)
    return casadi.horzcat(*points), np.concatenate(masses)


class Answers(NamedTuple):
    """Of Lagrange's equations, a state a row."""

    M: Any
    dM: Any  # its rate
    g: Any
    bias: Any  # the forces without acceleration
    Q: Any
    T: Any
    U: Any
    axes: Any  # u, w, v of each limb, (3, 3, 3)
    rates: Any  # of these


def answers(wrist: Numbers, *states: np.ndarray) -> Answers:
    """d/dt dT/dv - dT/dq + dU/dq = Q, by differentiating the energies."""
    q, v, a = (casadi.SX.sym(name, 3) for name in "qva")
    points, masses = link_points(wrist, q)
    R = platform(q)

    def rate(x: casadi.SX) -> casadi.SX:
        return casadi.reshape(casadi.jtimes(casadi.vec(x), q, v), *x.shape)

    spin = R.T @ rate(R)
    w = casadi.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])
    links = casadi.dot(casadi.sum1(rate(points) ** 2).T, masses)
    T = (links + casadi.bilin(wrist.platform_inertia, w, w)) / 2
    load = R @ (wrist.platform_mass * wrist.platform_com)
    U = -casadi.dot(points @ masses + load, wrist.gravity)
    momentum = casadi.gradient(T, v)
    M, g = casadi.jacobian(momentum, v), casadi.gradient(U, q)
    bias = rate(momentum) - casadi.gradient(T, q) + g
    corners = casadi.horzcat(*(axis for limb in axes(wrist, q) for axis in limb)).T
    found = (M, rate(M), g, bias, bias + M @ a, T, U, corners, rate(corners))
    function = casadi.Function("lagrange", [q, v, a], found)
    rows = [[np.array(x) for x in function(*state)] for state in zip(*states, strict=True)]
    M, dM, g, bias, Q, T, U, corners, rates = map(np.array, zip(*rows, strict=True))
    n = len(rows)
    return Answers(
        M, dM, g[..., 0], bias[..., 0], Q[..., 0], T.ravel(), U.ravel(),
        corners.reshape(n, 3, 3, 3), rates.reshape(n, 3, 3, 3),
    )  # fmt: skip
