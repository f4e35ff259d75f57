"""Rollouts: a robot under a law, many runs at a time, the whole loop over time in one kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.compile.gradients import gradient_kernel
from appell.compile.programs import compiled
from appell.compile.sweep import tangent_program
from appell.control.laws.law import Law
from appell.control.rollouts.backwards import Along, Backwards
from appell.control.rollouts.gpu_arguments import array_on_gpu, compared
from appell.control.rollouts.loop_program import LoopProgram
from appell.control.rollouts.payload import Payload
from appell.control.rollouts.rollout_setup import Noise, RolloutSetup
from appell.control.rollouts.watched import ENDS, FAILURES, REDUCTIONS, UNASKED
from appell.errors import InputError
from appell.given import names_of, number, one_of, whole
from appell.robots.dynamics import Array, Dynamics
from appell.walls import Wall

Numbers = npt.ArrayLike
SLIP = 1e-2  # rad/s or m/s, below which dry friction grows with the speed


@dataclass(frozen=True, repr=False)
class Rollout:
    """The runs of a rollout: how they ended, what was watched, and states if they were kept.

    Attributes:
        q: At the end, (runs, nq); (runs, 0) if it was not kept.
        v: At the end, (runs, nv); (runs, 0) if it was not kept.
        reductions: What was watched, by name; each is an attribute as well.
        t: The times of states that were kept, (kept,).
        path: "q", "v" and "tau", or what else was to be kept, at these times, (runs, kept, ...);
            torques and what was measured are those of the step before.
        gradient: The derivatives that were asked for, by the names of what they are by.
        tangent: Those along a direction, by the names of results.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> found = appell.rollout(arm, q0=[[0.1, 0.2], [0, 0]], steps=100, every=10)
        >>> isinstance(found, appell.control.Rollout), found.path["q"].shape
        (True, (2, 11, 2))
    """

    q: Array
    v: Array
    reductions: Mapping[str, Array]
    t: Array
    path: Mapping[str, Array]
    gradient: Mapping[str, Array] = field(default_factory=dict)
    tangent: Mapping[str, Array] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Array:
        known: Mapping[str, Array] = self.__dict__.get("reductions", {})
        if name in known:
            return known[name]
        raise AttributeError(f"this rollout has no {name!r}; it has {', '.join(known)}")

    @cached_property
    def failed(self) -> npt.NDArray[np.bool_]:
        """Which runs came to a number that is not finite, near a singular configuration of loops or
        limbs, or to a step whose equation "implicit_midpoint" could not solve. Their results are
        invalid: a settling time is infinite, success 0, other reductions are NaN. Of runs on a GPU
        an array there, of CuPy, PyTorch or JAX as the others are; where the results are
        `DeviceArray`s, one of NumPy."""
        lost: npt.NDArray[np.bool_] = compared(self.reductions["failed_at"]) < np.inf
        for name in FAILURES[1:]:
            if name in self.reductions:
                lost = lost | (compared(self.reductions[name]) < np.inf)
        return lost

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        parts = {"": {"q": self.q, "v": self.v, **self.reductions}, "path of ": self.path,
                 "gradient by ": self.gradient, "tangent of ": self.tangent}  # fmt: skip
        told = (
            head + ", ".join(f"{name} {tuple(x.shape)}" for name, x in arrays.items())
            for head, arrays in parts.items()
            if arrays
        )
        return f"<Rollout of {len(self):,} runs: {'; '.join(told)}>"


def rollout(
    robot: Dynamics,
    law: Law | None = None,
    trajectory: Any = None,
    q0: Numbers | None = None,
    v0: Numbers | None = None,
    *,
    steps: int | None = None,
    dt: float = 0.001,
    integrator: str = "rk4",
    substeps: int = 1,
    runs: int | None = None,
    tau: Numbers | None = None,
    external: Numbers | Callable[..., Any] | None = None,
    parameters: Mapping[str, Numbers] | None = None,
    gains: Mapping[str, Numbers] | None = None,
    viscous: Numbers | None = None,
    coulomb: Numbers | None = None,
    slip: float = SLIP,
    delay: int | Sequence[int] = 0,
    torque_limit: Numbers | bool | None = None,
    encoder: Numbers | None = None,
    speeds: str = "exact",
    noise: Noise | None = None,
    ids: Sequence[int] | None = None,
    reduce: Sequence[str] = (),
    tolerance: Numbers = 1e-3,
    cost: Callable[..., Any] | None = None,
    every: int | None = None,
    keep: Sequence[str] = ("q", "v", "tau"),
    final: bool = True,
    gradient: str | Mapping[str, Numbers] | None = None,
    by: Sequence[str] | str | None = None,
    tangent: Mapping[str, Numbers] | None = None,
    walls: Sequence[Wall] | Wall = (),
    points: Any = None,
    stops: bool = False,
    restitution: float = 1.0,
    stop_restitution: float = 0.0,
    mu: float = 0.0,
    payload: Payload | None = None,
    formulation: str | None = None,
    dtype: npt.DTypeLike = "float64",
    target: str = "cpu",
    stream: Any = None,
) -> Rollout:
    """Simulate many closed-loop runs in one kernel.

    Every ``dt`` seconds the law is asked, and what it asks for is held for that time. What differs
    from run to run has a first axis of that length; what has none is the same in all runs. Runs are
    the same to the last bit whatever the number of threads and of other runs, and on a GPU.

    Args:
        robot: Any: a tree on a fixed or free base, with loops, on wheels, spherical.
        law: The controller; without one ``tau`` acts.
        trajectory: What the law follows, or a position to hold (n,).
        q0: Where runs start, (nq,) or (runs, nq), rad or m; where the trajectory does if not given.
        v0: With which velocities, (nv,) or (runs, nv), rad/s or m/s.
        steps: Number of steps of length ``dt`` (default: the trajectory's duration).
        dt: The period of the law, s.
        integrator: "rk4", "semi_implicit_euler" or "implicit_midpoint".
        substeps: Steps of the integrator in each ``dt``.
        runs: How many, where nothing differs between them but noise.
        tau: Torques without a law: (d,), (steps, d) or (runs, steps, d), N m or N.
        external: Forces on the joints, N m or N, (n,), (runs, n), (runs, steps, n), or (1, steps,
            n) for the same in all runs; or a function of t, q and v, written with operators and the
            functions of `appell.maths.scalar`, and held for a step.
        parameters: Of the robot, not of the law's, in SI units: {"mass": (runs, links), "com":
            (runs, links, 3), "inertia": (runs, links, 6), "gravity": (runs, 3)}.
        gains: Of the law, {"kp": (runs, n)}, in the law's units.
        viscous: Friction, N m s/rad (N s/m), one number, (n,) or (runs, n).
        coulomb: Dry friction, N m (N). It grows with the speed up to ``slip``.
        slip: rad/s (m/s).
        delay: In samples, a number or (runs,).
        torque_limit: Of the actuators, one number, (d,) or (runs, d), N m or N; True is the joints'
            own.
        encoder: Counts per revolution, or per metre, (n,) or (runs, n).
        speeds: "exact", or the "differences" of the positions measured.
        noise: On what is measured and on torques: `appell.control.Noise`.
        ids: The runs' numbers, to which random numbers belong; 0, 1, ... if not given.
        reduce: What is watched: worst_error, rms_error, peak_torque, peak_speed, effort, work,
            settling_time (infinite for a run that does not settle), final_error, energy (at the
            start and at the end, J), success (1 where a run ends within the tolerance and no limit
            was exceeded on the way, else 0).
        tolerance: Of settling_time and success, rad (m).
        cost: A function of t, q, v, tau (and of the desired q and v with a trajectory), added up
            over time.
        every: Keep one state in so many.
        keep: What is kept then: some of "q", "v", "tau"; "commanded", what the law asked for before
            delays, noise and limits; "measured", the positions that it was told; "state", its own.
        final: Whether q and v at the end are kept. Without them, only what is watched is: of ten
            million runs of six joints that saves 0.9 GiB.
        gradient: A result, "cost", "q", "v" or a reduction, or derivatives of an objective with
            respect to some of them, {"q": (runs, nq)}: its derivatives are found by a sweep back,
            in its units per unit of each. Of a result with several numbers per run: of their sum.
            On a GPU the call waits for the results.
        by: With respect to what: some of "q0", "v0", gains, groups of parameters, "payload.mass",
            "payload.com", "payload.inertia", "viscous", "coulomb", "external", "tau",
            "torque_limit"; all that were given if None.
        tangent: Directions in which some of these change, {"q0": (runs, nq)}, in their units: all
            smooth results have derivatives along them, found on the way. Not with ``gradient`` or
            ``every``.
        walls: As in `appell.simulate`, by impulses at the end of a step: a point is up to one
            step's way behind a wall, and gradients are those of these steps.
        points: What touches walls.
        stops: Whether joints stop at their limits; by default they do not, as ``first_violation``
            tells which runs reach a limit, and stops cost time in every step.
        restitution: Of walls, 0 to 1.
        stop_restitution: Of stops, 0 to 1.
        mu: Friction of walls, no unit.
        payload: A load that is not in the controller's model: `appell.control.Payload`.
        formulation: Of the robot's dynamics.
        dtype: "float64" or "float32".
        target: "cpu", or "cuda": an NVIDIA GPU, one thread per run. What differs from run to run
            may then be arrays of CuPy, PyTorch or JAX that are there, and so may directions of
            ``tangent`` and weights of ``gradient``; results are such arrays. They are read where
            they are, without a check of their numbers, but for ``payload``, ``delay``, ``ids``,
            what is one number, and ``tau`` of (steps, d): those are copied to the host, which needs
            them before the runs begin.
        stream: The CUDA stream to run on.

    Returns:
        A `Rollout`. A run that blows up is marked in ``failed``, as is one of a robot with loops
        that comes near a singular configuration; the others do not notice. The first sample at
        which a limit of the model is exceeded, of a joint's position or speed or an actuator's
        torque, is ``first_violation``; with ``stops`` positions are held to theirs. Of a spherical
        robot it is infinite: its model has none.

    Examples:
        >>> arm = appell.load("planar_chain", n=2)
        >>> law = appell.control.ComputedTorque(arm, kp=100, kd=20)
        >>> move = appell.control.quintic([0, 0], [1, 0.5], 1.0)
        >>> loads = appell.control.Payload(mass=[0.0, 0.5, 1.0])
        >>> found = appell.rollout(arm, law, move, payload=loads, reduce=["worst_error"])
        >>> found.q.shape, found.worst_error.shape, found.failed.any()
        ((3, 2), (3, 2), np.False_)
    """
    cuda = one_of("rollout: target", target, ("cpu", "cuda")) == "cuda"
    example = array_on_gpu(
        {
            "trajectory": trajectory, "q0": q0, "v0": v0, "tau": tau, "external": external,
            "parameters": parameters, "gains": gains, "viscous": viscous, "coulomb": coulomb,
            "delay": delay, "torque_limit": torque_limit, "encoder": encoder, "noise": noise,
            "ids": ids, "tolerance": tolerance, "payload": payload, "gradient": gradient,
            "tangent": tangent,
        },
        target,
    )  # fmt: skip
    if isinstance(dt, str):
        raise InputError(f"rollout: dt = {dt!r}; expected a number of seconds greater than zero.")
    setup = RolloutSetup(robot, law, number("rollout: dt", dt), runs, integrator, dtype)
    plan = setup.motion(trajectory, q0, v0, steps)
    count = len(plan.t) - 1
    setup.numbered(ids, noise)
    values, program = setup.values, setup.program
    setup.plant(parameters, payload)
    slip, parts = number("rollout: slip", slip), whole("rollout: substeps", substeps, 1)
    setup.friction(viscous, coulomb, slip, setup.dt / parts)
    setup.encoded(encoder)
    differences = one_of("rollout: speeds", speeds, ("exact", "differences")) == "differences"
    if differences and robot.nq != robot.nv:
        raise InputError(
            f"rollout: speeds='differences': '{robot.name}' has coordinates that are no joints'."
        )
    setup.commands(tau, count)
    kept = [] if every is None else setup.kept(keep)
    program.sense(encoder is not None, differences, setup.noisy("q", "v"))
    setup.refuse_gains(gains)
    if law is not None:
        program.control(law, gains or {})
    program.remember([x for x in ("commanded", "measured") if x in kept])
    limit = setup.limited(torque_limit)
    late = setup.delayed(delay)
    program.drive(late, limit, bool(setup.noisy("tau")))
    setup.pushed(external, count)
    names = _reductions(reduce)
    ends = [x for x in names if x in ENDS]
    names = [x for x in names if x not in ENDS]
    if "settling_time" in names or "success" in ends:
        setup.each("tolerance", tolerance, robot.nv, "tolerance")
        setup.not_negative("tolerance")
    more = ["error"] if {"success", "final_error"} & set(ends) else []
    program.stopped = bool(stops)
    program.watch([*names, *setup.unasked()], setup.follows, more)
    if "energy" in ends:
        program.energies()
    if "final_error" in ends:
        program.end_with_error()
    if "success" in ends:
        program.succeed()
    if cost is not None:
        program.pay(cost, setup.follows)
    program.spoil()
    program.move(
        setup.integrator,
        parts,
        formulation,
        slip,
        setup.struck(walls, points, stops, (restitution, stop_restitution, mu)),
    )
    if not final:
        program.outputs = [x for x in program.outputs if x not in ("q", "v")]
    gap = 1 if every is None else whole("rollout: every", every, 1)
    runs = setup.count()
    setup.identified(runs, ids)
    if gradient is not None and kept:
        raise InputError("rollout: gradient keeps no states; leave every out, or ask twice.")
    on = {"stream": stream, "like": example} if cuda else {}
    if tangent is not None:
        if gradient is not None or kept:
            raise InputError("rollout: tangent goes with no gradient and no every; ask for one.")
        along = Along(setup, tangent)
        kernel = _kernel(robot, law, program, [], setup.dtype, target, along=along)
        inputs = {**values.inputs, **along.inputs}
        _, results = kernel(runs, inputs, values.table_of_all, along.series, count, **on)
        plain, slopes = along.parted(results)
        return replace(_result(setup, plain, {}, plan.t[:0]), tangent=slopes)
    given = (runs, values.inputs, values.table_of_all, values.series, count)
    if gradient is None:
        kernel = _kernel(robot, law, program, kept, setup.dtype, target)
        paths, results = kernel(*given, gap, **on)
        return _result(setup, results, paths, plan.t[::gap] if kept else plan.t[:0])
    back = Backwards(setup, gradient, by)
    kernel = _kernel(robot, law, program, [], setup.dtype, target, back)
    results, found = kernel(*given, back.seeds(), **on)
    ended = _result(setup, results, {}, plan.t[:0])
    return replace(ended, gradient=back.named(found))


def _kernel(
    robot: Dynamics,
    law: Law | None,
    program: LoopProgram,
    kept: Sequence[str],
    dtype: str,
    target: str,
    back: Backwards | None = None,
    along: Along | None = None,
) -> Any:
    """The compiled program, or its way back, that of an earlier call where it was the same."""
    way: Any = back or along
    by, of = ((), ()) if way is None else (tuple(way.by), tuple(way.of))
    key = ("rollout", law, program.key(kept), dtype, target, type(way).__name__, by, of)
    known: dict[Any, Any] = robot._kernels
    found = known.get(key)
    if found is None:
        what, made = f"compiling a rollout of {robot.name}", program.program(kept)
        if along is not None:
            made = tangent_program(made, by, of)
        plain: Any = compiled
        backwards: Any = gradient_kernel
        if target == "cuda":
            from appell.compile.gpu.gpu_gradient import gradient_for_gpu as backwards
            from appell.compile.gpu.gpu_program import compiled_for_gpu as plain
        found = plain(made, dtype, what) if back is None else backwards(made, by, of, dtype, what)
        known[key] = found
    return found


def _result(setup: RolloutSetup, results: Mapping[str, Array], paths: Any, t: Array) -> Rollout:
    found = {x: y.reshape(len(y), *setup.values.shapes[x]) for x, y in results.items()}
    none = np.empty((setup.count(), 0))
    return Rollout(found.pop("q", none), found.pop("v", none), found, t, paths)


def _reductions(given: Any) -> list[str]:
    known = [*(x for x in REDUCTIONS if x not in UNASKED), *ENDS]
    return names_of("rollout: reduce", () if given is None else given, known)
