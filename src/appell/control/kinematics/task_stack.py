"""Tasks of a robot, one below the other. A task's equation is compiled once for each frame,
whatever the target, and serves every stack that it is in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from appell.compile.make import kernel_of
from appell.control.kinematics.task_equations import KINDS, Part, equation, on_a_line, size
from appell.control.kinematics.tasks import Task, TaskKey
from appell.errors import InputError, quoted
from appell.model.limits import limits
from appell.model.model import BASE, Model, Placed
from appell.robots.bounded_cache import BoundedCache
from appell.robots.closed.assemble import Assembly
from appell.robots.closed.closed_robot import ClosedRobot
from appell.robots.dynamics import Dynamics
from appell.robots.robot import Array
from appell.robots.system import System, Tree

if TYPE_CHECKING:
    from appell.compile.kernel import Kernel

_ANGULAR = {
    "pose": (False,) * 3 + (True,) * 3,
    "twist": (False,) * 3 + (True,) * 3,
    "position": (False,) * 3,
    "gaze": (True,) * 2,
    "centre_of_mass": (False,) * 3,
}


@dataclass(frozen=True, eq=False)
class TaskStack:
    """Tasks of a robot, ordered by priority, in the speeds of its tree; ``loops`` are those that it
    has. Rows are those that masks leave, times their weights, of which the largest of a priority
    is one."""

    system: System
    keys: tuple[TaskKey, ...]
    loops: Assembly | None
    kernels: tuple[Kernel, ...]  # of each task, of many states
    singles: tuple[Callable[..., tuple[Array, Array]], ...]  # of one
    widths: tuple[slice, ...]  # where each has its numbers in the target
    order: npt.NDArray[np.intp]  # the rows of the kernel that count, by priority
    weight: Array
    gain: Array
    angular: npt.NDArray[np.bool_]
    task: npt.NDArray[np.intp]  # whose rows they are
    ends: tuple[int, ...]  # of each priority
    rows: tuple[int, ...]  # of each task, those included that do not count
    places: npt.NDArray[np.intp]  # in q, by speed
    moving: npt.NDArray[np.bool_]  # the speeds that move any of it
    low: Array  # positions of the joints, by speed
    high: Array
    speed: Array

    @property
    def model(self) -> Any:
        return self.system.model

    def __call__(self, q: Array, target: Array) -> tuple[Array, Array]:
        """Errors (N, rows) and Jacobians (N, rows, nv)."""
        e, J = self.plain(self.kernels, q, target)
        return e * self.weight, J * self.weight[:, None]

    def plain(self, functions: Any, q: Array, target: Array) -> tuple[Array, Array]:
        """The same without weights, by kernels or singles."""
        found = [
            f(q, target[..., at]) if at.stop > at.start else f(q)
            for f, at in zip(functions, self.widths, strict=True)
        ]
        e, J = (
            found[0]
            if len(found) == 1
            else (
                np.concatenate([x for x, _ in found], axis=-1),
                np.concatenate([x for _, x in found], axis=-2),
            )
        )
        return e.take(self.order, -1), J.take(self.order, -2)

    def target(self, tasks: Sequence[Task]) -> Array:
        """What the kernel takes, (..., numbers)."""
        parts = []
        for task in tasks:
            n = size(self.system, KINDS[task.part.kind].target)
            given = np.zeros(n) if task.target is None else task.target
            if given.shape[-1] != n:
                raise InputError(
                    f"{type(task).__name__}: the target of '{self.system.name}' has {n} numbers; "
                    f"got shape {given.shape}."
                )
            parts.append(given)
        if all(x.ndim == 1 for x in parts):
            return np.concatenate(parts)
        try:
            shape = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
        except ValueError:
            shown = ", ".join(str(x.shape[:-1]) for x in parts)
            raise InputError(f"the targets' leading axes do not broadcast: {shown}.") from None
        return np.concatenate([np.broadcast_to(x, (*shape, x.shape[-1])) for x in parts], axis=-1)


Compiled: TypeAlias = "tuple[Kernel, Callable[..., tuple[Array, Array]]]"


class KnownTasks(NamedTuple):
    """What was made for a robot before."""

    stacks: dict[tuple[TaskKey, ...], TaskStack]  # weights may change from step to step
    kernels: dict[Part, Compiled]  # one for each place, of which there may be ever new ones


_KNOWN: WeakKeyDictionary[Dynamics, KnownTasks] = WeakKeyDictionary()


def task_stack(robot: Dynamics, tasks: Sequence[Task]) -> TaskStack:
    """The stack of a robot's tasks; what is the same but for targets is made once."""
    known = _KNOWN.get(robot)
    if known is None:
        known = _KNOWN.setdefault(robot, KnownTasks(BoundedCache(), BoundedCache()))
    keys = tuple([task.key for task in tasks])
    try:
        stack = known.stacks.get(keys)
    except TypeError:
        raise _no_frame(robot, keys) from None
    if stack is None:
        stack = known.stacks[keys] = _made(robot, known, keys)
    return stack


def _no_frame(robot: Dynamics, keys: tuple[TaskKey, ...]) -> InputError:
    """What is said of a frame that is neither a name nor a place, such as a list of names."""
    names = [x for key in keys for x in (key.part.frame, key.part.relative_to)]
    wrong = next((x for x in names if not isinstance(x, str | Placed | None)), names)
    return InputError(
        f"a task of '{robot.name}' names the frame {quoted(wrong)}; expected a link's name or "
        "appell.Frame(link, pose), one per task."
    )


def _made(robot: Dynamics, known: KnownTasks, keys: tuple[TaskKey, ...]) -> TaskStack:
    system, loops = robot.system, None
    if isinstance(robot, ClosedRobot):
        system, loops = Tree(robot.model), robot.assembly
    moving = np.array([_moving(system, key.part) for key in keys])
    for key, moves in zip(keys, moving, strict=True):
        if not moves.any():
            name = getattr(system.frame(key.part.frame), "name", key.part.frame)
            raise InputError(f"frame '{name}' stands still; name one that joints move.")
    kernels, singles = zip(*(_compiled(system, known, key.part) for key in keys), strict=True)
    counts = [size(system, KINDS[key.part.kind].target) for key in keys]
    widths = tuple(slice(sum(counts[:i]), sum(counts[: i + 1])) for i in range(len(counts)))
    sizes = tuple(size(system, KINDS[key.part.kind].rows) for key in keys)
    rows, first = list[tuple[int, int, int, float, float, bool]](), 0
    for i, (key, n) in enumerate(zip(keys, sizes, strict=True)):
        chosen, angular = _chosen(system, key, n), _angular(system, key.part, n)
        weight = key.weight * n if len(key.weight) == 1 else key.weight
        if len(weight) != n:
            raise InputError(f"weight: {len(weight)} numbers for {n} speeds of '{system.name}'.")
        gain = 0.0 if key.velocity_only else key.gain
        rows += [(key.priority, i, first + k, weight[k], gain, angular[k]) for k in chosen]
        first += n
    if not rows:
        raise InputError(
            f"PostureTask: no coordinate of '{system.name}' is a number on a line, so it asks for "
            "nothing; give a FrameTask."
        )
    rows.sort(key=lambda row: row[0])
    priority, task, order, weights, gains, angles = map(np.array, zip(*rows, strict=True))
    ends = tuple(int(k) for k in np.searchsorted(priority, np.unique(priority), side="right"))
    for start, end in zip((0, *ends), ends, strict=False):
        weights[start:end] /= weights[start:end].max()
    low, high, speed = _bounds(system)
    anywhere: Any = moving.any(axis=0) | (loops is not None)
    return TaskStack(
        system, keys, loops, kernels, singles, widths, order,
        weights, gains, angles, task, ends, sizes, np.array(system.coordinates), anywhere,
        low, high, speed,
    )  # fmt: skip


def _compiled(system: System, known: KnownTasks, part: Part) -> Compiled:
    """A task's kernel, of many states and of one."""
    found = known.kernels.get(part)
    if found is None:
        kernel = _kernel(system, part)
        found = known.kernels[part] = kernel, kernel.single()
    return found


def _kernel(system: System, part: Part) -> Kernel:
    target, m = (size(system, count) for count in KINDS[part.kind][1:3])
    return kernel_of(
        part.kind,
        partial(equation, system, part),
        {"q": (system.size("q"),), **({"target": (target,)} if target else {})},
        {"e": (m,), "J": (m, system.size("n"))},
        origin=(_kernel, (system, part)),
        doc=f"what a task of {system.name} misses, and its Jacobian",
    )


def _chosen(system: System, key: TaskKey, n: int) -> Sequence[int]:
    """The rows that count."""
    if key.part.kind != "posture":
        return range(n) if key.chosen is None else key.chosen  # type: ignore[return-value]
    own = [k for k, own in enumerate(on_a_line(system)) if own]
    if key.chosen is None:
        return own
    model = system.model
    names = [j.name for j in model.joints] if isinstance(model, Model) else list(model.coordinates)
    for name in key.chosen:
        if name not in names or names.index(name) not in own:
            known = ", ".join(names[k] for k in own)
            raise InputError(f"PostureTask: no joint {name!r} of '{system.name}'; it has {known}.")
    return [names.index(name) for name in key.chosen]


def _angular(system: System, part: Part, n: int) -> Sequence[bool]:
    if part.kind != "posture":
        return _ANGULAR[part.kind]
    model = system.model
    return [j.screw.angle for j in model.joints] if isinstance(model, Model) else [True] * n


def _moving(system: System, part: Part) -> npt.NDArray[np.bool_]:
    """Which speeds move a task."""
    n = system.size("n")
    model = system.model
    if not KINDS[part.kind].of_frame or not isinstance(model, Model):
        return np.ones(n, dtype=bool)
    path = set[int]()
    for name in [part.frame] + [part.relative_to] * (part.relative_to is not None):
        body = model.frame(name).body
        path ^= {*model.ancestors[body]} if body != BASE else set()  # what moves both moves neither
    return np.isin(np.arange(n), [model.bodies[i].coordinate for i in path])


def _bounds(system: System) -> tuple[Array, Array, Array]:
    """Limits of positions and of speeds, by speed; of joints that mimic others, too."""
    n, model = system.size("n"), system.model
    low, high, speed = np.full(n, -np.inf), np.full(n, np.inf), np.full(n, np.inf)
    if not isinstance(model, Model):
        return low, high, speed
    at = {model.place(k): k for k in range(n) if model.is_coordinate[k]}
    for limit in limits(model):
        k = at[limit.coordinate]
        if limit.side > 0:
            low[k] = max(low[k], limit.value)
        else:
            high[k] = min(high[k], limit.value)
    for body in model.bodies:
        if body.ratio:
            k = body.coordinate
            speed[k] = min(speed[k], body.joint.speed / abs(body.ratio))
    return low, high, speed
