"""What an object file (ELF, little-endian) needs from outside."""

from __future__ import annotations

import struct

_SYMBOLS = 2  # the type of a section


def is_elf(obj: bytes) -> bool:
    """Whether it is such a file."""
    return obj[:4] == b"\x7fELF" and obj[5] == 1


def undefined(obj: bytes) -> list[str]:
    """The names that no section of the file defines."""
    wide = obj[4] == 2
    (start,) = struct.unpack_from("<Q" if wide else "<I", obj, 40 if wide else 32)
    size, count = struct.unpack_from("<HH", obj, 58 if wide else 46)
    found = []
    for k in range(count):
        at = start + k * size
        if struct.unpack_from("<I", obj, at + 4)[0] == _SYMBOLS:
            found += _names(obj, at, start, size, wide)
    return found


def _names(obj: bytes, at: int, sections: int, size: int, wide: bool) -> list[str]:
    offset, length, link = struct.unpack_from("<24xQQI" if wide else "<16xIII", obj, at)
    texts = sections + link * size
    (strings,) = struct.unpack_from("<24xQ" if wide else "<16xI", obj, texts)
    each = 24 if wide else 16
    found = []
    for k in range(1, length // each):
        symbol = offset + k * each
        name, section = struct.unpack_from("<IxxH" if wide else "<I10xH", obj, symbol)
        if section == 0:
            end = obj.index(b"\0", strings + name)
            found.append(obj[strings + name : end].decode())
    return found
