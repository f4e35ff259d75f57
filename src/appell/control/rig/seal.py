"""Records that only the two ends of a run can have written: a number, a record, and their HMAC.

Any process of the host can send to a socket on loopback. Both ends therefore hold a key of the run,
which the parent draws and tells them over their standard input. A record travels as

    number, uint64, little-endian    from 1, one more for each record that is sent
    record
    16 bytes                         the first half of HMAC-SHA-256(key, direction, number, record)

The direction is one byte: `C` for commands to the machine, `R` for readings from it. A record whose
number is not above that of the last is refused, so one that was overheard cannot be sent again.
"""

from __future__ import annotations

import hmac
import secrets
import struct

_NUMBER = struct.Struct("<Q")
_TAG = 16  # bytes
EXTRA = _NUMBER.size + _TAG  # bytes more than the record


def new_key() -> bytes:
    return secrets.token_bytes(32)


class Seal:
    """One end of a sealed channel. ``machine`` tells which."""

    def __init__(self, key: bytes, *, machine: bool) -> None:
        self.key = key
        self.outward, self.inward = (b"R", b"C") if machine else (b"C", b"R")
        self.sent = self.last = 0

    def close(self, record: bytes) -> bytes:
        """The sealed record, ready to be sent."""
        self.sent += 1
        content = _NUMBER.pack(self.sent) + record
        return content + self._tag(self.outward, content)

    def open(self, data: bytes) -> bytes | None:
        """The record of the other end, or None where it is not: a stranger's, changed, or old."""
        content = data[:-_TAG]
        if len(data) < EXTRA or not hmac.compare_digest(
            self._tag(self.inward, content), data[-_TAG:]
        ):
            return None
        (number,) = _NUMBER.unpack_from(content)
        if number <= self.last:
            return None
        self.last = number
        return content[_NUMBER.size :]

    def _tag(self, direction: bytes, content: bytes) -> bytes:
        return hmac.digest(self.key, direction + content, "sha256")[:_TAG]
