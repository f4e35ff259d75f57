"""A PUMA on a simulated rig, and a short way for it."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import appell
from appell.control import TrackingIntegral, quintic
from appell.rig.campaign import Sound
from appell.rig.controller.controller import Phase
from appell.rig.log.log_file import LogWriter, read_log
from appell.rig.log.run_report import Report
from appell.rig.loop.control_loop import ControlLoop
from appell.rig.loop.run_setup import setup
from appell.rig.loop.serve_simulated import summary
from appell.rig.machine.machine import puma560_machine
from appell.rig.start import in_lockstep

START = np.radians([0, -45, 60, 0, 30, 0])
END = np.radians([12, -35, 75, 15, 20, 20])
PUMA = puma560_machine()


@cache
def law():
    return TrackingIntegral(appell.load("puma560"))


@cache
def way(duration=0.8):
    return quintic(START, END, duration)


def ready(**options):
    given = {"q0": START + 0.013, "rest": 0.1} | options
    return setup(law(), given.pop("trajectory", way()), **given)


def run(**options):
    return in_lockstep(ready(**options))


@cache
def sound():
    """The run without faults."""
    return run()


@cache
def under_way():
    """The run without faults, in the middle of its way."""
    base = Sound(ready())
    base.to(first(sound(), Phase.FOLLOW) + 370)
    return base


def moving():
    """A cycle in the middle of the way."""
    return under_way().tick + 30


def tried(*faults):
    """The same from there on, with faults."""
    hardware, controller = under_way().twin()
    rig = hardware.rig
    rig.faults.extend(faults)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.mcap"
        writer = LogWriter(path, rig.n, {"period": PUMA.period})
        own = [f for f in faults if f.kind == "disk full"]
        loop = ControlLoop(controller, hardware, writer, faults=own)
        loop.tick = under_way().tick
        result = loop.run()
        log = read_log(path)
    stands = result.stands
    return Report(log, result.state, result.reason, PUMA.period, summary(rig), stands=stands)


def first(report, phase):
    """The cycle in which a phase begins."""
    return int(report.log["cycle"][np.argmax(report.log["phase"] == phase)])
