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
from appell.given import one_of, optional, whole
from appell.rig.controller.controller import Controller
from appell.rig.controller.mission import Follow, Mission, refuse_mission
from appell.rig.controller.safety import Limits
from appell.rig.machine.faults import OWN, Fault, refuse_joints, refuse_simulated
from appell.rig.machine.machine import Machine, arm_of, machine_for
from appell.rig.machine.outputs import ALL
from appell.rig.machine.protocol import Hardware
from appell.rig.machine.simulated_machine import Rig
from appell.robots.robot import Robot
from appell.robots.robot_data import robot_to_data

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
        """What the log tells about the run besides its cycles."""
        return {
            "machine": self.machine.name,
            "robot": self.robot.name,
            "law": repr(self.law),
            "channel": self.channel,
            "period": self.machine.period,
            "kinds": list(self.machine.kinds or ()),
            "joint_names": list(self.robot.joint_names),
            "outputs": list(self.machine.outputs),
            "robot_data": robot_to_data(self.robot),
        }

    def rig(self) -> Rig:
        """The simulated machine, from power-up."""
        return Rig(self.robot, self.machine, self.q0, list(self.faults), self.seed)

    def controller(self) -> Controller:
        """The controller, before its first cycle."""
        return Controller(self.law, self.mission, self.machine, self.limits, self.tool)

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
    else:
        one_of("rig: channel", channel, CHANNELS)
    driver = "what makes a driver when it is called, such as its class"
    optional("rig: machine", machine, Machine, "a rig.Machine")
    optional("rig: hardware", hardware, Callable, driver)
    optional("rig: log", log, str | PathLike, "the name of a file")
    optional("rig: limits", limits, Limits, "such as rig.Limits()")
    optional("rig: robot", robot, Robot, "a Robot")
    _refuse_faults(faults)
    if not isinstance(tool, int) or tool & ~ALL:
        raise InputError(f"rig: tool = {tool!r}; expected bits of rig.Order.TOOL_1 and TOOL_2.")
    whole("rig: seed", seed)
    machine = replace(machine or machine_for(arm), kinds=arm.joint_kinds)
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
        law, mission, machine, robot or arm, wakes, channel, hardware, path, list(faults),
        limits or Limits(), tool, seed,
    )  # fmt: skip


def _refuse_faults(faults: Any) -> None:
    listed = isinstance(faults, Sequence) and not isinstance(faults, str | bytes)
    if not listed or not all(isinstance(fault, Fault) for fault in faults):
        raise InputError(
            f"rig: faults = {faults!r}; expected a list such as [rig.Fault('hot', cycle=1800, "
            "joint=2)]."
        )
