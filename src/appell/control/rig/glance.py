"""Safety at a glance: whether all is well, in a few operations, as it is in almost every cycle.

What is not well at a glance is looked at check by check, in :mod:`appell.control.rig.safety`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from appell.control.rig.protocol import Reading
    from appell.control.rig.safety import Safety, Seen


class Glance:
    """Says well only where every check does."""

    def __init__(self, safety: Safety) -> None:
        self.safety, n = safety, safety.machine.n
        limits, machine = safety.limits, safety.machine
        self.middle = (safety.lower + safety.upper) / 2
        self.low = np.asarray(machine.pot_low)
        self.rows = np.zeros((9, n))
        most = np.array(
            [
                (safety.upper - safety.lower) / 2,
                safety.fastest,
                machine.torque,
                np.full(n, limits.apart),
                np.full(n, limits.stuck),
                safety.most_counts,
                np.full(n, limits.jumps_of),
                np.full(n, limits.error),
                safety.whole + limits.slip,
            ]
        )
        self.most = most[:7], most
        self.clean = True  # nothing is being counted

    def well(self, seen: Seen, reading: Reading) -> bool:
        safety, rows = self.safety, self.rows
        last, homed = safety.last, safety.home is not None
        since = 0 if last is None else reading.cycle - last.cycle
        if last is None or since != 1 or reading.hot:
            self.clean = False
            return False
        np.subtract(seen.q, self.middle, out=rows[0])
        rows[1], rows[2] = seen.v, seen.tau
        np.multiply(reading.pots, safety.machine.code, out=rows[3])
        rows[3] += self.low - seen.q
        np.subtract(seen.desired, safety.stood, out=rows[4])
        np.subtract(reading.counts, last.counts, out=rows[5], dtype=float)
        np.subtract(reading.pots, last.pots, out=rows[6], dtype=float)
        if homed:
            np.subtract(seen.desired, seen.q, out=rows[7])
            np.subtract(reading.counts, reading.latch, out=rows[8], dtype=float)
        shown = rows if homed else rows[:7]
        well = not (np.abs(shown) > self.most[homed]).any()
        well = well and reading.pulses.tobytes() == last.pulses.tobytes()
        if well and not self.clean:
            for count in safety.runs.values():
                count[:] = 0
        self.clean = well
        return well
