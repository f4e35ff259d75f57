"""Contacts as a user names them, and where they are on a robot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from appell.compile.make import kernel_of
from appell.equations.motion.contact_motion import held_motion
from appell.errors import InputError
from appell.given import is_number, one_of, refuse_crooked, vector
from appell.model.axes import as_array
from appell.model.model import Model
from appell.model.place import Place
from appell.robots.system import Array

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel

Kind = Literal["point", "fixed"]
ROWS = {"point": 3, "fixed": 6}  # how many forces a contact has


@dataclass(frozen=True, eq=False)
class Contact:
    """Where a robot touches its surroundings, for `Robot.contact_dynamics` and its like.

    A "point" holds the frame's origin by a force (3 numbers); "fixed" holds its axes as well, by a
    force and a moment about the origin (6). Forces act on the robot and are in the base's axes.

    Args:
        frame: A link's name, or an `appell.Frame`.
        kind: "point" or "fixed".
        foothold: Where the contact belongs: a position (..., 3) in m, or where it is fixed a pose
            (..., 4, 4). Gains ``kp`` pull it there.
        mu: Its coefficient of friction.
        normal: The direction away from the surroundings, in the base's axes; it and ``mu`` matter
            to cones of friction only.

    Examples:
        >>> chain = appell.load("planar_chain")
        >>> held = [appell.Contact(chain.link_names[-1])]
        >>> q = np.array([0.3, 0.6, -0.4])
        >>> motion = chain.contact_dynamics(q, np.zeros(3), np.zeros(3), contacts=held)
        >>> motion.acceleration.shape
        (3,)
    """

    frame: str | Place
    kind: Kind = "point"
    foothold: Any = None
    mu: float | None = None
    normal: Any = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        what = f"contact of {self.frame}"
        if not isinstance(self.frame, str | Place):
            raise InputError(f"contact: frame = {self.frame!r}; expected a link or appell.Frame.")
        one_of(f"{what}: kind", self.kind, get_args(Kind))
        if self.mu is not None:
            check_friction(f"{what}: mu", self.mu)
        normal = vector(f"{what}: normal", self.normal, 3)
        size = np.abs(normal).max()
        if size == 0:
            raise InputError(f"{what}: normal is zero; expected a direction, as (0, 0, 1).")
        normal = normal / size  # whose square is neither too large nor too small for a float
        object.__setattr__(self, "normal", normal / np.linalg.norm(normal))
        if self.foothold is not None:
            object.__setattr__(self, "foothold", self._checked_foothold(what))

    def _checked_foothold(self, what: str) -> Array:
        shape = (3,) if self.kind == "point" else (4, 4)
        try:
            given = np.asarray(self.foothold, dtype=float)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.shape[-len(shape) :] != shape or not np.isfinite(given).all():
            wanted = "a position (..., 3)" if self.kind == "point" else "a pose (..., 4, 4)"
            raise InputError(
                f"{what}, {self.kind}: foothold = {self.foothold!r}; expected {wanted} of finite "
                "numbers."
            )
        if shape == (4, 4):
            refuse_crooked(f"{what}: foothold", given)
        return given


def check_friction(what: str, mu: Any) -> None:
    """Refuse what is no coefficient of friction of a cone."""
    if not is_number(mu) or not 0 < mu < np.inf:
        raise InputError(
            f"{what} = {mu!r}; expected a coefficient of friction greater than zero (a contact "
            "that hardly rubs has a small one)."
        )


class ContactPlace(NamedTuple):
    """Where a contact's frame is: on the link that a joint carries, which kernels know."""

    link: str
    point: Array  # in that link's axes
    turned: Array  # the frame's axes in the link's, (3, 3)


def place_of(model: Model, frame: str | Place) -> ContactPlace:
    """A frame as a point of the link that its body has its name from."""
    given = model.frame(frame)
    body = model.links.get(given.body)
    link = model.frame(body.name) if body else given
    R = as_array(link.R).T
    apart = np.array(given.s, dtype=float) - np.array(link.s, dtype=float)
    point = R @ apart
    point.flags.writeable = False
    return ContactPlace(link.name, point, R @ as_array(given.R))


class HeldSet(NamedTuple):
    """The kernel that solves for contacts of some links, wherever on them."""

    kernel: Kernel
    single: Callable[..., Any]  # the same for one state, without checks
    parts: list[slice]  # where the force of each contact stands in the result


def held_set(model: Model, on: tuple[tuple[str, int], ...]) -> HeldSet:
    """For contacts on links by name, each with so many rows of forces."""
    n, m = model.nv, sum(rows for _, rows in on)
    inputs = {"q": (model.nq,), "v": (n,), "Kx": (n, n + 1), "points": (3 * len(on),)}
    kernel = kernel_of(
        "contact_dynamics",
        partial(held_motion, model, on),
        inputs | {"damping": (1,)},
        {"motion": (n + 2 * m,)},
    )
    ends = accumulate((rows for _, rows in on), initial=n)
    return HeldSet(kernel, kernel.single(), [slice(i, j) for i, j in pairwise(ends)])


def listed(contacts: Any) -> tuple[Contact, ...]:
    """Contacts as they are given: a list of Contact, or of frames, whose origins are points."""
    if isinstance(contacts, str) or not isinstance(contacts, Sequence):
        raise InputError(
            f"contacts = {contacts!r}; expected a list of links, appell.Frame or appell.Contact, "
            "as ['left_foot', appell.Contact('right_foot', 'fixed')]."
        )
    return tuple(c if isinstance(c, Contact) else Contact(c) for c in contacts)


# Rotations that a fixed contact must still make


def rotation_vector(R: Array) -> Array:
    """The rotations (..., 3, 3) as axes times angles, up to half a turn; NaN where R has it."""
    from scipy.spatial.transform import Rotation

    flat = R.reshape(-1, 3, 3)
    r = np.full((len(flat), 3), np.nan)
    finite = np.isfinite(flat).all(axis=(1, 2))
    if finite.any():
        r[finite] = Rotation.from_matrix(flat[finite]).as_rotvec()
    return r.reshape(R.shape[:-1])


def turning_rates(r: Array) -> Array:
    """(..., 3, 3): the rate of a rotation vector r by the angular velocity, in axes at rest."""
    angle = np.linalg.norm(r, axis=-1)[..., None, None]
    half = np.maximum(angle, 1e-4) / 2
    # (1 - half cot half) / angle^2, or the start of its series.
    k = np.where(angle > 1e-4, (1 - half / np.tan(half)) / (4 * half * half), 1 / 12)
    S = np.zeros((*r.shape, 3))
    S[..., 0, 1], S[..., 0, 2], S[..., 1, 2] = -r[..., 2], r[..., 1], -r[..., 0]
    S = S - S.swapaxes(-1, -2)
    return np.eye(3) - S / 2 + k * (S @ S)
