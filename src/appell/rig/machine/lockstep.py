"""The simulated rig without time: every reading waits for the command before it.

Records pass through the same bytes and the same faulty wires as those of a real channel.
"""

from __future__ import annotations

from appell.rig.machine import protocol
from appell.rig.machine.faults import active
from appell.rig.machine.faulty_wire import Wire
from appell.rig.machine.protocol import Command, Reading
from appell.rig.machine.simulated_machine import Rig


class Lockstep:
    """A rig as `appell.rig.machine.protocol.Hardware`: a cycle of it for every read."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.up, self.down = Wire("readings", rig.faults), Wire("commands", rig.faults)
        self.sent: bytes | None = None

    def read(self, timeout: float = 0.0) -> Reading | None:
        """The reading after the next cycle; None where it is lost."""
        rig = self.rig
        if active(rig.faults, "dead plant", rig.cycle + 1):
            rig.cycle += 1
            return None
        arrived = [protocol.command_of(x, rig.n) for x in self.down.carry(rig.cycle, self.sent)]
        self.sent = None
        reading = rig.step(next((c for c in reversed(arrived) if c is not None), None))
        came = [
            protocol.reading_of(x, rig.n)
            for x in self.up.carry(rig.cycle, protocol.reading_bytes(reading))
        ]
        return next((r for r in reversed(came) if r is not None), None)

    def write(self, command: Command) -> None:
        """Send a command for the next cycle."""
        if not active(self.rig.faults, "dead controller", self.rig.cycle):
            self.sent = protocol.command_bytes(command)

    def close(self) -> None:
        """Forget a command that was not yet heard."""
        self.sent = None
