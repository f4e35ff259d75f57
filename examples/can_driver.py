"""A driver for motors on a CAN bus: CiA 402 drives and a CiA 401 input and output module.

CiA 402 (IEC 61800-7-201, "CANopen device profile for drives") is what most servo drives speak.
Used of it: the controlword 6040h and the statusword 6041h with their state machine, cyclic torque
(6071h, in thousandths of the rated torque), the actual position 6064h in counts, and the touch
probe 60B9h, 60BAh, which latches the position at the index pulse. CiA 401 is the profile of
input and output modules: analog inputs carry the potentiometers, digital inputs the over-
temperature switches, digital outputs the tool. Identifiers are those that CiA 301 predefines; SYNC
makes all devices sample at once.

The process data are mapped as the tables below say; a drive's configuration tool does that. So do
its own watchdog (the drive must stop when SYNC stays away) and its brake output.

Without hardware: ``python examples/can_driver.py`` runs an arm of two joints over python-can's
virtual bus, with simulated drives at its other end.
"""

from __future__ import annotations

import struct
import threading
import time

import can
import numpy as np

import appell
from appell import rig
from appell.control import TrackingIntegral, quintic
from appell.rig import Command, Machine, Order, Reading, Status
from appell.rig.machine.simulated_machine import Rig

SYNC = 0x080
STATE = 0x180  # + node, from a drive: statusword, position
PROBE = 0x280  # + node, from a drive: touch probe status, position at the last index pulse
TARGET = 0x200  # + node, to a drive: controlword, target torque
MODULE = 0x20  # the node of the inputs and outputs
SWITCHES = 0x180 + MODULE  # from it: digital inputs, a bit a joint
ANALOG = 0x280 + MODULE  # from it: four analog inputs; the next four at + 100h
OUTPUTS = 0x200 + MODULE  # to it: digital outputs

# The way of a drive from "switch on disabled" to "operation enabled": statusword, next controlword
STEPS = {0x40: 0x06, 0x21: 0x07, 0x23: 0x0F, 0x27: 0x0F}
ENABLED, FAULT, RESET, OFF = 0x27, 0x08, 0x80, 0x00


class CanDriver:
    """Drives 1 to n and the module, as Appell's Hardware."""

    def __init__(self, bus: can.BusABC, machine: Machine) -> None:
        self.bus, self.machine, self.n = bus, machine, machine.n
        self.cycle = self.told = self.echo = 0
        self.words = np.zeros(self.n, dtype=int)  # statuswords
        self.counts, self.latch, self.pulses, self.pots = (
            np.zeros(self.n, dtype=np.int64) for _ in range(4)
        )
        self.probes = np.zeros(self.n, dtype=int)
        self.hot = 0
        analog = [ANALOG + 0x100 * k for k in range((self.n + 3) // 4)]
        drives = [kind + k for kind in (STATE, PROBE) for k in range(1, self.n + 1)]
        self.expected = {SWITCHES, *analog, *drives}

    # What Hardware asks for

    def read(self, timeout: float) -> Reading | None:
        """SYNC, and what all devices answer to it; None if one of them is silent."""
        self.bus.send(can.Message(arbitration_id=SYNC, is_extended_id=False))
        missing, until = set(self.expected), time.monotonic() + timeout
        while missing:
            message = self.bus.recv(max(0.0, until - time.monotonic()))
            if message is None:
                return None
            self._take(message.arbitration_id, bytes(message.data))
            missing.discard(message.arbitration_id)
        self.cycle += 1
        self.echo = self.told
        return Reading(
            self.cycle,
            time.monotonic_ns(),
            self.echo,
            self._status(),
            self.hot,
            self.counts.astype(np.int32),
            self.latch.astype(np.int32),
            self.pulses.astype(np.uint16),
            self.pots.copy(),
        )

    def write(self, command: Command) -> None:
        volts = self.machine.volts(command.codes)
        torque = np.clip(np.rint(1000 * volts / self.machine.full_scale), -1000, 1000)
        for j in range(self.n):
            word = self._controlword(j, bool(command.order & Order.ENABLE))
            self._send(TARGET + j + 1, struct.pack("<Hh", word, int(torque[j])))
        self._send(OUTPUTS, bytes([command.order >> 2 & 3]))
        self.told = command.cycle

    def close(self) -> None:
        for j in range(self.n):
            self._send(TARGET + j + 1, struct.pack("<Hh", OFF, 0))
        self.bus.shutdown()

    # The devices

    def _take(self, name: int, data: bytes) -> None:
        node = (name & 0x7F) - 1
        if name == SWITCHES:
            self.hot = data[0]
        elif name & 0x7F == MODULE:
            first = 4 * ((name - ANALOG) // 0x100)
            values = struct.unpack(f"<{len(data) // 2}h", data)
            self.pots[first : first + len(values)] = values
        elif name & 0x780 == STATE and node < self.n:
            self.words[node], self.counts[node] = struct.unpack("<Hi", data)
        elif name & 0x780 == PROBE and node < self.n:
            probe, position = struct.unpack("<Hi", data)
            self.pulses[node] += probe != self.probes[node]  # a bit toggles with every pulse
            self.probes[node], self.latch[node] = probe, position

    def _status(self) -> int:
        """A drive that is enabled has let go of its brake."""
        on = (self.words & 0x6F) == ENABLED
        return (Status.POWERED if on.all() else 0) | (0 if on.any() else Status.BRAKED)

    def _controlword(self, j: int, enable: bool) -> int:
        word = int(self.words[j])
        if not enable:
            return OFF
        if word & FAULT:
            return OFF  # a fault of a drive is not reset behind anyone's back
        return STEPS.get(word & 0x6F, STEPS.get(word & 0x4F, OFF))

    def _send(self, name: int, data: bytes) -> None:
        self.bus.send(can.Message(arbitration_id=name, data=data, is_extended_id=False))


class SimulatedDrives(threading.Thread):
    """The devices at the other end of the bus, moved by Appell's simulated machine."""

    def __init__(self, bus: can.BusABC, rig: Rig) -> None:
        super().__init__(daemon=True)
        self.bus, self.rig = bus, rig
        self.words = np.full(rig.n, 0x40)
        self.control, self.torque = np.zeros(rig.n, dtype=int), np.zeros(rig.n)
        self.tools, self.heard, self.over = 0, 0, threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            message = self.bus.recv(0.05)
            if message is None:
                continue
            name, data = message.arbitration_id, bytes(message.data)
            if name == SYNC:
                self._answer()
            elif name == OUTPUTS:
                self.tools = data[0]
            elif TARGET < name <= TARGET + self.rig.n:
                j = name - TARGET - 1
                self.control[j], self.torque[j] = struct.unpack("<Hh", data)
        self.bus.shutdown()

    def _answer(self) -> None:
        """A period passes; every device says what it sees."""
        self._states()
        on = bool(((self.words & 0x6F) == ENABLED).all())
        machine = self.rig.machine
        order = (Order.ENABLE | Order.RELEASE) if on else 0
        codes = machine.dac(self.torque / 1000 * machine.full_scale)
        self.heard += 1
        reading = self.rig.step(Command(self.heard, 0, order | self.tools << 2, codes))
        for j in range(self.rig.n):
            self._send(STATE + j + 1, "<Hi", int(self.words[j]), int(reading.counts[j]))
            toggled = 1 | int(reading.pulses[j]) % 2 << 6
            self._send(PROBE + j + 1, "<Hi", toggled, int(reading.latch[j]))
        self._send(SWITCHES, "<B", reading.hot)
        for k in range(0, self.rig.n, 4):
            four = [int(x) for x in reading.pots[k : k + 4]]
            self._send(ANALOG + 0x100 * (k // 4), f"<{len(four)}h", *four)

    def _states(self) -> None:
        """CiA 402's state machine, as far as it is needed."""
        for j, word in enumerate(self.words & 0x6F):
            control = self.control[j]
            if control & 0x0F in (0x00, 0x02):
                self.words[j] = 0x40
            elif (word, control & 0x0F) in ((0x40, 0x06), (0x21, 0x07), (0x23, 0x0F)):
                self.words[j] = {0x40: 0x21, 0x21: 0x23, 0x23: 0x27}[int(word)]

    def _send(self, name: int, layout: str, *values: int) -> None:
        data = struct.pack(layout, *values)
        self.bus.send(can.Message(arbitration_id=name, data=data, is_extended_id=False))


MACHINE = Machine(
    name="two joints on a CAN bus",
    lower=-2.5,
    upper=2.5,
    speed=4.0,
    counts=(4096, 4096),
    gear=100.0,
    pot_low=-2.7,
    pot_high=2.7,
    torque_constant=0.05,
    resistance=0.3,
    amplifier=3.0,
    supply=96.0,
    coulomb=2.0,
    brake=1000.0,
    period=0.002,
)


def main(channel: str = "appell") -> rig.Report:
    robot = appell.load("planar_chain", n=2, length=0.5, mass=4.0)
    q0 = np.array([-1.2, 0.6])
    drives = SimulatedDrives(can.Bus(channel, interface="virtual"), Rig(robot, MACHINE, q0 + 0.01))
    drives.start()
    way = quintic(q0, q0 + [0.4, -0.5], 0.6)
    report = rig.run(
        TrackingIntegral(robot),
        way,
        machine=MACHINE,
        hardware=lambda: CanDriver(can.Bus(channel, interface="virtual"), MACHINE),
        channel="lockstep",
        rest=0.1,
        tool=Order.TOOL_1,
    )
    drives.over.set()
    drives.join()
    return report


if __name__ == "__main__":
    print(main())
