"""Safety at a glance: whether all is well, in a few operations, as it is in almost every cycle.

What is not well at a glance is looked at check by check, in :mod:`appell.rig.controller.safety`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from appell.rig.controller.safety import Safety, Seen
    from appell.rig.machine.protocol import Reading


class Glance:
    """Says well only where every check does."""

    def __init__(self, safety: Safety) -> None:
        self.safety = safety
        limits, machine = safety.limits, safety.machine
        bounds = safety.lower, safety.upper, safety.fastest, machine.torque
        pots = np.asarray(machine.pot_low), machine.code
        counts = safety.most_counts, safety.whole + limits.slip
        self.joints = list(zip(*(x.tolist() for x in (*bounds, *pots, *counts)), strict=True))
        self.clean = True  # nothing is being counted

    def well(self, seen: Seen, reading: Reading) -> bool:
        last = self.safety.last
        well = (
            last is not None
            and reading.cycle - last.cycle == 1
            and not reading.hot
            and reading.pulses.tobytes() == last.pulses.tobytes()
            and self._joints_well(seen, reading, last)
        )
        if well and not self.clean:
            for count in self.safety.runs.values():
                count[:] = 0
        self.clean = well
        return well

    def _joints_well(self, seen: Seen, reading: Reading, last: Reading) -> bool:
        """Plain numbers: for so few joints they are quicker than arrays."""
        limits, homed = self.safety.limits, self.safety.home is not None
        numbers = (seen.q, seen.v, seen.tau, seen.desired, self.safety.stood)
        whole = (reading.counts, last.counts, reading.latch, reading.pots, last.pots)
        joints = zip(self.joints, *(x.tolist() for x in numbers + whole), strict=True)
        for limit, q, v, tau, qd, stood, count, before, latch, pot, was in joints:
            lower, upper, fastest, strongest, low, code, most, turn = limit
            if not (
                lower <= q <= upper
                and abs(v) <= fastest
                and abs(tau) <= strongest
                and abs(low + pot * code - q) <= limits.apart
                and abs(qd - stood) <= limits.stuck
                and abs(count - before) <= most
                and abs(pot - was) <= limits.jumps_of
            ):
                return False
            if homed and not (abs(qd - q) <= limits.error and abs(count - latch) <= turn):
                return False
        return True
