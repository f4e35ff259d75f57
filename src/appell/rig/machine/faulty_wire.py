"""One way of a channel, with its faults."""

from __future__ import annotations

from collections import deque
from typing import cast

from appell.rig.machine.faults import Fault, Kind, active


class Wire:
    """What is put in in a cycle, and what comes out in it. ``what`` it carries: "readings" or
    "commands"."""

    def __init__(self, what: str, faults: list[Fault]) -> None:
        kinds = (cast("Kind", f"{how} {what}") for how in ("lost", "damaged", "late"))
        self.lost, self.damaged, self.late = kinds
        self.faults = faults
        self.waiting: deque[tuple[int, bytes]] = deque()

    def carry(self, cycle: int, data: bytes | None) -> list[bytes]:
        """Put one record in, or none; take out what is due, in the order of sending."""
        if not self.faults and not self.waiting:
            return [] if data is None else [data]
        if data is not None and not active(self.faults, self.lost, cycle):
            if active(self.faults, self.damaged, cycle):
                data = _damaged(cycle, data)
            late = [f.size for f in active(self.faults, self.late, cycle)]
            due = cycle + round(max(late, default=0))
            self.waiting.append((max(due, self.waiting[-1][0] if self.waiting else 0), data))
        out = []
        while self.waiting and self.waiting[0][0] <= cycle:
            out.append(self.waiting.popleft()[1])
        return out


def _damaged(cycle: int, data: bytes) -> bytes:
    """A byte is another one."""
    at = cycle % len(data)
    return data[:at] + bytes([data[at] ^ (1 + cycle % 255)]) + data[at + 1 :]
