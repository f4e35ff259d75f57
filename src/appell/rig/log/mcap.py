"""MCAP files (https://mcap.dev/spec), as much of them as a log needs: no chunks, no index.

Records are written one after another, so what is written is whole whenever it is cut.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, DATA_END = 0x01, 0x02, 0x03, 0x04, 0x05, 0x0F
OPCODES = range(0x01, 0x10)  # that there are
RECORD = struct.Struct("<BQ")
MESSAGE_HEAD = struct.Struct("<HIQQ")  # channel, sequence, log time, publish time
CDR = b"\x00\x01\x00\x00"  # little-endian


def record(opcode: int, content: bytes) -> bytes:
    """A record of any kind."""
    return RECORD.pack(opcode, len(content)) + content


def header(library: str) -> bytes:
    """The record that a file begins with."""
    return record(HEADER, _text("ros2") + _text(library))


def schema(number: int, name: str, text: str) -> bytes:
    """The record that describes the fields of messages."""
    return record(SCHEMA, struct.pack("<H", number) + _text(name) + _text("ros2msg") + _text(text))


def channel(number: int, schema: int, topic: str, metadata: Mapping[str, str]) -> bytes:
    """The record of a channel, with its metadata."""
    pairs = b"".join(_text(k) + _text(v) for k, v in metadata.items())
    head = struct.pack("<HH", number, schema) + _text(topic) + _text("cdr")
    return record(CHANNEL, head + struct.pack("<I", len(pairs)) + pairs)


def message(channel: int, sequence: int, time: int, payload: bytes) -> bytes:
    """The record of a message."""
    return record(MESSAGE, MESSAGE_HEAD.pack(channel, sequence, time, time) + CDR + payload)


def end(crc: int) -> bytes:
    """What a file ends with; the CRC-32 is of all before it."""
    return record(DATA_END, struct.pack("<I", crc)) + record(FOOTER, bytes(20)) + MAGIC


def records(data: bytes | memoryview, at: int = len(MAGIC)) -> Iterator[tuple[int, int, int]]:
    """Opcode, start and end of the content of each whole record from ``at`` on."""
    while at + RECORD.size <= len(data):
        opcode, length = RECORD.unpack_from(data, at)
        start = at + RECORD.size
        at = start + length
        if at > len(data):
            return
        yield opcode, start, at


def channel_of(content: bytes) -> tuple[int, str, dict[str, str]]:
    """Number, topic and metadata of a channel record."""
    number = struct.unpack_from("<H", content)[0]
    topic, at = _read(content, 4)
    _, at = _read(content, at)
    stop = at + 4 + struct.unpack_from("<I", content, at)[0]
    at += 4
    metadata = {}
    while at < stop:
        name, at = _read(content, at)
        metadata[name], at = _read(content, at)
    return number, topic, metadata


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<I", len(data)) + data


def _read(content: bytes, at: int) -> tuple[str, int]:
    length = struct.unpack_from("<I", content, at)[0]
    return bytes(content[at + 4 : at + 4 + length]).decode(), at + 4 + length
