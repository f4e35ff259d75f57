"""The rig: a law moves a machine over a hardware interface, guarded, a thousand times a second."""

from appell.control.rig.faults import Fault
from appell.control.rig.log import Log, read_log
from appell.control.rig.machine import Machine, machine_for, puma560_machine
from appell.control.rig.outputs import Switch
from appell.control.rig.protocol import Command, Hardware, Order, Reading, Status
from appell.control.rig.report import Report
from appell.control.rig.runs import run
from appell.control.rig.safety import Limits, State

__all__ = [
    "Command",
    "Fault",
    "Hardware",
    "Limits",
    "Log",
    "Machine",
    "Order",
    "Reading",
    "Report",
    "State",
    "Status",
    "Switch",
    "machine_for",
    "puma560_machine",
    "read_log",
    "run",
]
