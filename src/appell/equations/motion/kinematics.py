"""Where the bodies are: poses and Jacobians, by composing the joints from the base outwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.maths.rotation import Matrix, Rotation
from appell.maths.scalar import Scalar
from appell.maths.vector import ZERO, Tensor, Vector, cross
from appell.model.model import BASE, Frame, Model


class Pose(NamedTuple):
    """Axes and origin of a frame, in the base's."""

    R: Matrix
    s: Vector

    @property
    def z(self) -> Vector:
        return Vector(self.R.rows.x.z, self.R.rows.y.z, self.R.rows.z.z)


ORIGIN = Pose(Matrix(Tensor(Vector(1, 0, 0), Vector(0, 1, 0), Vector(0, 0, 1))), ZERO)


def poses(model: Model, q: Sequence[Scalar]) -> dict[int, Pose]:
    """The pose of every body's frame."""
    places = {BASE: ORIGIN}
    for i, body in model.outwards():
        places[i] = then(places[body.parent], body.rotation(q[i]), body.offset(q[i]))
    return places


def forward_kinematics(model: Model, q: Sequence[Scalar], frame: Frame) -> list[list[Scalar]]:
    """The homogeneous matrix of a frame in the base's."""
    return homogeneous(*then(poses(model, q)[frame.body], frame.R, frame.s))


def link_poses(model: Model, q: Sequence[Scalar]) -> list[list[list[Scalar]]]:
    """The homogeneous matrices of all frames."""
    places = poses(model, q)
    return [homogeneous(*then(places[frame.body], frame.R, frame.s)) for frame in model.frames]


def homogeneous(R: Matrix, s: Vector) -> list[list[Scalar]]:
    """Axes and origin of a frame as a matrix of four rows."""
    return [*([*row, p] for row, p in zip(R.rows, s, strict=True)), [0, 0, 0, 1]]


def jacobian(model: Model, q: Sequence[Scalar], frame: Frame) -> list[list[Scalar]]:
    """6 x n: velocity of the frame's origin, then its angular velocity, in the base's axes."""
    places = poses(model, q)
    tip = then(places[frame.body], frame.R, frame.s).s
    path = model.ancestors[frame.body] if frame.body != BASE else ()
    J: list[list[Scalar]] = [[0] * len(model.bodies) for _ in range(6)]
    for i in path:
        z, body = places[i].z, model.bodies[i]
        turning, sliding = z * body.rho, z * body.sigma
        linear = cross(turning, tip - places[i].s) + sliding
        for row, x in enumerate((*linear, *turning)):
            J[row][i] = x
    return J


def then(pose: Pose, R: Rotation, s: Vector) -> Pose:
    """The pose of a frame given in another's axes.

    Its rows are R^T applied to the rows of the other: no matrices are multiplied.
    """
    rows = Tensor(*(R.T @ row for row in pose.R.rows))
    return Pose(Matrix(rows), pose.s + pose.R @ s)
