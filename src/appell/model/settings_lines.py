"""On which line of a TOML or JSON file each of its entries stands."""

from __future__ import annotations

import json
import re
from bisect import bisect_right

Where = tuple[str | int, ...]  # keys of tables, and places in arrays

_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\])*"|\'[^\']*\'', re.DOTALL
)
_BETWEEN = re.compile(r"(?:[\s,]|#[^\n]*)*")
_BARE = re.compile(r"[^\s,=:#.\[\]{}\"']+")
_PLAIN = re.compile(r"[^\s,#\]}]+")


def line_numbers(text: str, toml: bool) -> dict[Where, int]:
    """The line, from 1 on, of every entry by its place, such as ("walls", 0, "radius"). The text is
    one that a parser has accepted."""
    scan = _Scan(text)
    try:
        if toml:
            scan.statements()
        else:
            scan.value(())
    except (IndexError, RecursionError):  # what was found so far still helps
        pass
    return scan.lines


class _Scan:
    """Goes through a text once. Values are written alike in TOML and JSON, but for = and :."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.starts = [0, *(m.end() for m in re.finditer("\n", text))]
        self.lines: dict[Where, int] = {}

    def statements(self) -> None:
        """All of a TOML file: heads of tables, and keys with values."""
        table: Where = ()
        arrays: dict[Where, int] = {}  # how many tables each array of tables has so far
        while self.upcoming():
            if self.text.startswith("[", self.at):
                double = self.text.startswith("[[", self.at)
                self.at += 2 if double else 1
                keys = self.key()
                table = ()
                for k, key in enumerate(keys):
                    table += (key,)
                    if double and k == len(keys) - 1:
                        arrays[table] = arrays.get(table, 0) + 1
                    self.note(table)
                    if table in arrays:
                        table += (arrays[table] - 1,)
                        self.note(table)
                self.upcoming()
                self.at += 2 if double else 1
            else:
                self.entry(table)

    def entry(self, table: Where) -> None:
        """A key and its value; a key with dots makes tables."""
        for key in self.key():
            table += (key,)
            self.note(table)
        self.upcoming()
        self.at += 1  # = or :
        self.value(table)

    def value(self, path: Where) -> None:
        """A value, with what it holds."""
        first = self.upcoming()
        self.note(path)
        if first in "{[":
            self.at += 1
            k = 0
            while self.upcoming() not in "}]":
                if first == "{":
                    self.entry(path)
                else:
                    self.value((*path, k))
                k += 1
            self.at += 1
        else:
            found = _STRING.match(self.text, self.at) or _PLAIN.match(self.text, self.at)
            self.at = found.end() if found else self.at + 1

    def key(self) -> list[str]:
        """The parts of a key between dots."""
        parts = []
        while True:
            self.upcoming()
            found = _STRING.match(self.text, self.at)
            bare = None if found else _BARE.match(self.text, self.at)
            if found:
                parts.append(_unquoted(found.group()))
                self.at = found.end()
            elif bare:
                parts.append(bare.group())
                self.at = bare.end()
            if self.upcoming() != "." or not (found or bare):
                return parts
            self.at += 1

    def upcoming(self) -> str:
        """The next character that is neither white, a comma nor in a comment; none at the end."""
        found = _BETWEEN.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return self.text[self.at : self.at + 1]

    def note(self, path: Where) -> None:
        self.lines.setdefault(path, bisect_right(self.starts, self.at))


def _unquoted(text: str) -> str:
    if text[0] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            pass
    return text[1:-1]
