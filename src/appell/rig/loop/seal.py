"""Records that only the two ends of a run can have written: a number, a record, and their MAC.

Any process of the host can send to a socket on loopback. Both ends therefore hold a key of the run,
which the parent draws and tells them over their standard input. A record travels as

    number, uint64, little-endian    from 1, one more for each record that is sent
    record
    16 bytes                         BLAKE2b (RFC 7693) of number and record, with the key

BLAKE2b is personalised by `APLC` for commands to the machine and by `APLR` for readings from it. A
record whose number is not above that of the last is refused, so one that was overheard cannot be
sent again.
"""

from __future__ import annotations

import secrets
import struct
from hashlib import blake2b
from hmac import compare_digest

_NUMBER = struct.Struct("<Q")
_TAG = 16  # bytes


def new_key() -> bytes:
    """A key for one run."""
    return secrets.token_bytes(32)


class Seal:
    """One end of a sealed channel. ``machine`` tells which."""

    def __init__(self, key: bytes, *, machine: bool) -> None:
        self.key = key
        self.outward, self.inward = (b"APLR", b"APLC") if machine else (b"APLC", b"APLR")
        self.sent = self.last = 0

    def close(self, record: bytes) -> bytes:
        """The sealed record, ready to be sent."""
        self.sent += 1
        content = _NUMBER.pack(self.sent) + record
        return content + self._tag(self.outward, content)

    def open(self, data: bytes) -> bytes | None:
        """The record of the other end, or None where it is not: a stranger's, changed, or old."""
        content = data[:-_TAG]
        if len(data) < _NUMBER.size + _TAG:
            return None
        if not compare_digest(self._tag(self.inward, content), data[-_TAG:]):
            return None
        (number,) = _NUMBER.unpack_from(content)
        if number <= self.last:
            return None
        self.last = number
        return content[_NUMBER.size :]

    def _tag(self, direction: bytes, content: bytes) -> bytes:
        return blake2b(content, key=self.key, person=direction, digest_size=_TAG).digest()
