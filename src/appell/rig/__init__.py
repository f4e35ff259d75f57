"""The rig: a law moves a machine over a hardware interface, guarded, a thousand times a second."""

from appell.rig.controller.safety import Limits, State
from appell.rig.log.log_file import Log, read_log
from appell.rig.log.run_report import Report
from appell.rig.machine.faults import Fault
from appell.rig.machine.machine import Machine, machine_for, puma560_machine
from appell.rig.machine.outputs import Switch
from appell.rig.machine.protocol import Command, Hardware, Order, Reading, Status
from appell.rig.start import run

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
