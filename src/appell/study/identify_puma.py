"""A PUMA that differs from its data sheet, identified on the simulated rig, and then controlled.

The arm's links weigh 10 to 20 % more or less than the model says, it carries a load that nobody
told, and its joints rub. From an excitation in closed loop, seen through encoders and noisy
torques, its parameters are estimated by every method; what they are worth shows on motions that
were not used: in the torques they predict, and in how a controller tracks with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from appell.control import ComputedTorque, Law, TrackingIntegral, Trajectory, quintic
from appell.control.laws.computed_torque import computed_torque
from appell.control.laws.feedback import DEFAULT
from appell.equations.energy import friction
from appell.errors import AppellError
from appell.identify import Data, Excitation, Fit, HalfSpace, Validation, excite, observe, validate
from appell.identify import fit as estimate
from appell.identify.estimate.fitting import METHODS
from appell.rig import Machine, Report, puma560_machine
from appell.rig import run as run_rig
from appell.robots.registry import load
from appell.robots.robot import Array, Robot

LOAD, PLACE = 1.5, (0.0, 0.0, 0.08)  # kg, and m from the wrist along the hand
OFF = (1.15, 0.85, 1.12, 0.88, 1.2, 0.82)  # each link's mass and inertia by the model's
NOISE = 0.005  # standard deviation of measured torques, of the motors' largest
KP, KV = 400.0, 40.0  # of the controllers that are compared
SLOWEST = 0.04  # rad/s of all joints, in the samples that are used
FLOOR = -0.6  # m, under the shoulder


def with_friction(
    model: Any, q: Any, v: Any, desired: Any, kp: Any, kd: Any, formulation: str = DEFAULT
) -> Any:
    """Computed torque, and the model's friction at the desired speeds."""
    forces = computed_torque(model, q, v, desired, kp, kd, formulation)
    return [f + r for f, r in zip(forces, friction(model, desired[1]), strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class ComputedTorqueAndFriction(ComputedTorque):
    """Computed torque with the robot's own friction compensated."""

    equation: ClassVar = staticmethod(with_friction)


@dataclass(frozen=True, eq=False)
class Example:
    """All that came of it. ``refused`` says why a method gave no estimate."""

    nominal: Robot
    true: Robot
    machine: Machine
    excitation: Excitation
    data: Data
    held_out: Data
    fits: dict[str, Fit]
    refused: dict[str, str]
    validations: dict[str, Validation]
    chosen: str
    runs: dict[str, Report]

    @property
    def identified(self) -> Robot:
        """The robot with the chosen estimate."""
        return self.fits[self.chosen].robot

    def tracking(self, name: str) -> Array:
        """The rms position error of each joint in a run, rad."""
        return np.sqrt(np.mean(following(self.runs[name])[1] ** 2, axis=0))


def identify_puma(
    *, quick: bool = False, seed: int = 0, told: Callable[[str], Any] = lambda stage: None
) -> Example:
    """The whole example; ``quick`` with a shorter excitation and a shorter search. ``told`` is
    called with the name of each stage as it begins."""
    draw = np.random.default_rng(seed)
    nominal, machine = load("puma560"), puma560_machine()
    true = true_arm(nominal)
    told("excitation: searching for the motion")
    excitation = puma_excitation(nominal, machine, quick=quick, seed=seed)
    told("excitation: running it on the rig")
    data = recorded(
        nominal, true, excitation, machine, draw, repeat=1 if quick else 2, slowest=SLOWEST
    )
    told("another motion on the rig, to validate")
    other = moves(machine, 2 if quick else 3, 1.6, seed + 1)
    held_out = recorded(nominal, true, other, machine, draw)
    told("estimates")
    fits, refused = estimates(nominal, data)
    validations = {method: validate(found, held_out) for method, found in fits.items()}
    chosen = "sdp" if "sdp" in fits else next(m for m, f in fits.items() if f.physical)
    identified = fits[chosen].robot
    rubbing = np.concatenate([nominal.parameters, fits[chosen].parameters[-2 * nominal.nv :]])
    laws = {
        "nominal model": ComputedTorque(nominal, KP, KV),
        "identified model": ComputedTorque(identified, KP, KV),
        "nominal model, identified friction": ComputedTorqueAndFriction(
            nominal.with_parameters(rubbing, friction=True), KP, KV
        ),
        "identified model and friction": ComputedTorqueAndFriction(identified, KP, KV),
    }
    test = moves(machine, 1 if quick else 3, 1.4, seed + 2)
    runs = {}
    for name, law in laws.items():
        told(f"tracking with the {name}")
        runs[name] = on_rig(law, true, test, machine)
    return Example(
        nominal, true, machine, excitation, data, held_out, fits, refused, validations, chosen, runs
    )


def true_arm(nominal: Robot) -> Robot:
    """The arm there is: heavier and lighter links, and a load."""
    links = nominal.parameters.reshape(-1, 10) * np.array(OFF)[:, None]
    return nominal.with_parameters(links.ravel()).with_payload(LOAD, PLACE)


def puma_excitation(robot: Robot, machine: Machine, *, quick: bool, seed: int) -> Excitation:
    """An excitation well within what the machine can do, the hand above the floor."""
    return excite(
        robot,
        duration=4.0 if quick else 10.0,
        harmonics=4 if quick else 5,
        **machine_limits(machine),
        acceleration=8.0,
        workspace=HalfSpace("link6", (0, 0, 1), FLOOR, (0, 0, 0.1)),
        friction=True,
        noise=machine.torque,
        criterion="d_optimal",
        starts=1 if quick else 2,
        iterations=20 if quick else 80,
        random=5 if quick else 50,
        seed=seed,
    )


def machine_limits(machine: Machine) -> dict[str, Any]:
    """The limits of an excitation, with room to spare for the law that follows it."""
    room = 0.05 * (np.asarray(machine.upper) - np.asarray(machine.lower))
    return {
        "position": (np.asarray(machine.lower) + room, np.asarray(machine.upper) - room),
        "speed": 0.6 * np.asarray(machine.speed),
        "torque": 0.6 * machine.torque,
    }


def moves(machine: Machine, count: int, duration: float, seed: int) -> Trajectory:
    """A trajectory from rest to rest through random positions, each move a quintic polynomial."""
    draw = np.random.default_rng(seed)
    lower, upper = np.asarray(machine.lower), np.asarray(machine.upper)
    most = 0.8 * np.asarray(machine.speed) * duration / 1.875  # the greatest slope of s
    q = (lower + upper) / 2
    way: Trajectory | None = None
    for _ in range(count):
        step = np.clip(draw.uniform(-1, 1, machine.n) * most, 0.8 * lower - q, 0.8 * upper - q)
        move = quintic(q, q + step, duration)
        way, q = (move if way is None else way.then(move)), q + step
    assert way is not None
    return way


def on_rig(law: Law, true: Robot, motion: Trajectory, machine: Machine, repeat: int = 1) -> Report:
    """A run in lock step; refused if it did not come to its end."""
    report = run_rig(law, motion, machine=machine, robot=true, rest=0.0, repeat=repeat)
    if not report.ok:
        raise AppellError(f"the rig stopped: {report.reason}")
    return report


def recorded(
    nominal: Robot,
    true: Robot,
    motion: Trajectory,
    machine: Machine,
    draw: np.random.Generator,
    repeat: int = 1,
    slowest: float | None = None,
) -> Data:
    """What is seen of a motion: positions by encoders, torques with noise."""
    law = TrackingIntegral(nominal, kp=1200, kd=60, ki=8000)
    report = on_rig(law, true, motion, machine, repeat)
    log = report.log
    log.rows["tau"] += NOISE * machine.torque * draw.normal(size=log.rows["tau"].shape)
    return observe(nominal, log, slowest=slowest)


def estimates(nominal: Robot, data: Data) -> tuple[dict[str, Fit], dict[str, str]]:
    """Estimates by every method on the same data, and why a method gave none."""
    fits, refused = dict[str, Fit](), dict[str, str]()
    for method in METHODS:
        try:
            fits[method] = estimate(nominal, *data.states, method=method, friction=True)
        except AppellError as problem:
            refused[method] = str(problem)
    return fits, refused


def following(report: Report) -> tuple[Array, Array]:
    """Times and position errors while a run followed its motion, s and rad."""
    from appell.rig.controller.controller import Phase

    on_the_way = report.log["phase"] == Phase.FOLLOW
    t = report.log.t[on_the_way]
    return t - t[0], (report.log["qd"] - report.log["q"])[on_the_way]
