"""Fenced blocks of documentation pages: found, run in order in one folder, held to what they claim.

What happens to a block is told by its language:

- ``python`` is executed; all blocks of a page share their names. Comment lines below a ``print``
  are what it prints, and ``# True``, ``# (6, 6)`` or ``# "text"`` behind an expression is its value
  or its shape.
- ``sh`` is run by bash, and ends with status 0. Comment lines below a command are lines of its
  output.
- Any other, such as ``toml``, has a ``title``: it is written to the file of that name, which a
  later block reads. A ``python`` block with a title is written, too.

Printed numbers may differ by one in their last digit: every processor rounds sums in its own way.
Whole numbers are counts, and must be equal.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r'^```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?(?P<rest>[^\n]*)\n(?P<text>.*?)^```$',
    re.DOTALL | re.MULTILINE,
)
CLAIM = re.compile(
    r"^(?:(?P<name>\w+) = )?(?P<expression>.+?)\s+# (?P<claim>True|\([\d, ]+\)|\"[^\"]*\")$"
)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?!\w)")
DRAWN = re.compile(r"!\[[^]]+\]\((?:\.\./)?images/tutorials/(\S+)\)")


class Block(NamedTuple):
    """A fenced block: its language, the file it is written to, its text."""

    language: str
    title: str | None
    text: str


def pages() -> list[str]:
    """README and all pages of the documentation that have a fenced block, from the root."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path.relative_to(ROOT).as_posix() for path in paths if FENCE.search(path.read_text())]


def blocks(page: str, section: str | None = None) -> list[Block]:
    """The fenced blocks of a page, or of the section below one of its headings ``## ...``."""
    text = (ROOT / page).read_text()
    assert text.count("\n```") % 2 == 0, f"{page}: a fence is not closed"
    if section is not None:
        parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
        text = dict(zip(parts[1::2], parts[2::2], strict=True))[section]
    return [Block(x["language"], x["title"], x["text"]) for x in FENCE.finditer(text)]


def run(page: str, found: list[Block], names: dict[str, Any] | None = None) -> dict[str, Any]:
    """The Python names that blocks leave, run in order in the current folder."""
    names = {} if names is None else names
    with importable(Path.cwd()):
        for number, block in enumerate(found):
            run_block(f"{page}, block {number + 1}", block, found[number + 1 :], names)
    return names


def run_block(place: str, block: Block, later: list[Block], names: dict[str, Any]) -> None:
    """Run or write a block; files are there for ``later`` ones."""
    if block.title:
        text = "".join(other.text for other in later)
        assert block.title in text or Path(block.title).stem in text, (
            f"{place}: no later block of the page uses {block.title}"
        )
        Path(block.title).write_text(block.text)
    if block.language == "python":
        run_python(place, block.text, names)
    elif block.language == "sh":
        run_shell(place, block.text)
    else:
        assert block.title, (
            f'{place}: nothing runs or reads this block of "{block.language}"; '
            'give it a title="FILE" that a later block reads'
        )


@contextlib.contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules of a folder can be imported, and are forgotten afterwards."""
    known = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - known:
            if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == folder:
                del sys.modules[name]


def pictures(page: str) -> list[str]:
    """The pictures of a page that its own blocks draw: NAME.svg, or NAME.png of a NAME.html."""
    return DRAWN.findall((ROOT / page).read_text())


def run_python(place: str, text: str, names: dict[str, Any]) -> None:
    """Run a block, and compare what it prints and its values with its comments."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(text, place, "exec", dont_inherit=True), names)
    pairs = zip_longest(
        output.getvalue().splitlines(), claimed_lines(text, ("print(",)), fillvalue="(nothing)"
    )
    for printed, claim in pairs:
        assert same(printed, claim), f"{place} printed\n{output.getvalue()}and not\n{claim}"
    for line in text.splitlines():
        found = CLAIM.match(line)
        if found:
            value = eval(found["name"] or found["expression"], names)
            claim = eval(found["claim"])
            got = value if isinstance(claim, bool | str) else np.shape(value)
            assert got == claim, f"{place}: {line}"


def run_shell(place: str, text: str) -> None:
    """Run a block by bash, with the commands of this Python, and look for the lines it claims."""
    settings = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "COLUMNS": "120",  # of tables
    }
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text],
        env={**os.environ, **settings}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{place}: {done.stdout}{done.stderr}"
    lines = done.stdout.splitlines()
    for claim in claimed_lines(text, ("",)):
        found = any(same(line, claim) for line in lines)
        assert found, f"{place}: {claim!r} is not in\n{done.stdout}"


def claimed_lines(text: str, above: tuple[str, ...]) -> list[str]:
    """Comment lines below a line that begins in one of these ways, or below such a comment."""
    return [
        line[2:]
        for before, line in pairwise(text.splitlines())
        if line.startswith("# ") and before and before.lstrip().startswith((*above, "# "))
    ]


def same(printed: str, claimed: str) -> bool:
    """Whether two lines agree but for spaces and for the last digits of numbers."""
    shapes = [re.sub(r"\s", "", NUMBER.sub("#", x)) for x in (printed, claimed)]
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(claimed), strict=False)
    return shapes[0] == shapes[1] and all(alike(*pair) for pair in pairs)


def alike(printed: str, claimed: str) -> bool:
    """Whether numbers are the same to one unit of the last digit that is claimed."""
    digits, _, exponent = claimed.partition("e")
    if "." not in digits:
        return printed == claimed
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    return abs(float(printed) - float(claimed)) < 1.01 * unit
