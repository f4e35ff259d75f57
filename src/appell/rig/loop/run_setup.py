"""What a run is made of, checked before anything moves."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from appell.control.laws.law import Law
from appell.errors import InputError
from appell.rig.controller.mission import Follow, Mission, refuse_mission
from appell.rig.controller.safety import Limits
from appell.rig.machine.faults import OWN, Fault, refuse_joints, refuse_simulated
from appell.rig.machine.machine import Machine, arm_of, machine_for
from appell.rig.machine.protocol import Hardware, Order
from appell.robots.robot import Robot

CHANNELS = ("lockstep", "shm", "udp")


@dataclass(frozen=True)
class Setup:
    """All that a run is made of."""

    law: Law
    mission: Mission
    machine: Machine
    robot: Robot
    q0: Any
    channel: str = "lockstep"
    hardware: Callable[[], Hardware] | None = None
    log: Path | None = None
    faults: list[Fault] = field(default_factory=list)
    limits: Limits = field(default_factory=Limits)
    tool: int = 0
    seed: int = 0

    @property
    def metadata(self) -> dict[str, Any]:
        return {
            "machine": self.machine.name,
            "robot": self.robot.name,
            "law": repr(self.law),
            "channel": self.channel,
            "period": self.machine.period,
            "kinds": list(self.machine.kinds or ()),
            "outputs": list(self.machine.outputs),
        }

    @contextmanager
    def log_path(self) -> Iterator[Path]:
        """The file to write; where none is wanted, one that is gone afterwards."""
        if self.log is not None:
            yield self.log
            return
        with tempfile.TemporaryDirectory(prefix="appell-") as folder:
            yield Path(folder) / "log.mcap"


def setup(
    law: Law,
    trajectory: Any,
    *,
    channel: str | None = None,
    hardware: Callable[[], Hardware] | None = None,
    machine: Machine | None = None,
    robot: Robot | None = None,
    q0: Any = None,
    log: Path | str | None = None,
    faults: Sequence[Fault] = (),
    limits: Limits | None = None,
    repeat: int = 1,
    rest: float = 0.5,
    tool: int = 0,
    switches: Sequence[Any] = (),
    seed: int = 0,
) -> Setup:
    """What ``run`` is given, checked. A trajectory may be a mission, too."""
    if not isinstance(law, Law):
        raise InputError(f"rig: law = {law!r}; expected one such as TrackingIntegral(robot).")
    arm = arm_of(law.robot)
    if channel is None:
        channel = "lockstep" if hardware is None else "own"
    elif channel not in CHANNELS:
        raise InputError(f"rig: channel = {channel!r}; expected one of {', '.join(CHANNELS)}.")
    _refuse(machine, hardware, robot, log, faults, limits, tool, seed)
    kinds = arm.joint_kinds
    machine = replace(machine or machine_for(arm), kinds=kinds)
    refuse_joints(faults, machine.n)
    if hardware is not None:
        refuse_simulated(faults, OWN if channel != "lockstep" else ("disk full",))
    if hasattr(trajectory, "at"):
        mission = trajectory
        refuse_mission(mission, machine)
        if switches:
            raise InputError(
                f"rig: switches = {switches!r}, but a {type(mission).__name__} says itself which "
                "outputs are on, by its method outputs(k)."
            )
    else:
        mission = Follow(trajectory, machine, repeat, rest, switches)
    wakes = mission.start if q0 is None else q0
    if wakes is None:
        wakes = np.clip(np.zeros(machine.n), np.asarray(machine.lower), np.asarray(machine.upper))
    path = None if log is None else Path(log)
    if path is not None and path.exists():
        raise InputError(f"log: {path} is there already; a log is never overwritten.")
    if path is not None and not path.absolute().parent.is_dir():
        raise InputError(f"log: there is no folder {path.parent} for {path.name}.")
    return Setup(
        law,
        mission,
        machine,
        robot or arm,
        wakes,
        channel,
        hardware,
        log=path,
        faults=list(faults),
        limits=limits or Limits(),
        tool=tool,
        seed=seed,
    )


def _refuse(
    machine: Any,
    hardware: Any,
    robot: Any,
    log: Any,
    faults: Any,
    limits: Any,
    tool: Any,
    seed: Any,
) -> None:
    """What is of another kind than it must be."""
    outputs = Order.TOOL_1 | Order.TOOL_2
    listed = isinstance(faults, Sequence) and not isinstance(faults, str | bytes)
    expected = [
        ("machine", machine, machine is None or isinstance(machine, Machine), "a rig.Machine"),
        (
            "hardware",
            hardware,
            hardware is None or callable(hardware),
            "what makes a driver when it is called, such as its class",
        ),
        ("log", log, log is None or isinstance(log, str | PathLike), "the name of a file"),
        (
            "faults",
            faults,
            listed and all(isinstance(f, Fault) for f in faults),
            "a list such as [rig.Fault('hot', cycle=1800, joint=2)]",
        ),
        ("limits", limits, limits is None or isinstance(limits, Limits), "such as rig.Limits()"),
        ("robot", robot, robot is None or isinstance(robot, Robot), "a Robot"),
        (
            "tool",
            tool,
            isinstance(tool, int) and tool & ~outputs == 0,
            "bits of rig.Order.TOOL_1 and TOOL_2",
        ),
        ("seed", seed, isinstance(seed, int) and seed >= 0, "a whole number, zero or more"),
    ]
    for name, given, right, wanted in expected:
        if not right:
            raise InputError(f"rig: {name} = {given!r}; expected {wanted}.")
