"""Writes the tables and figures of docs/papers/*.md: python docs/papers.py [PAPER ...]

A page is text around two marks; what stands between them is made here, from what `appell reproduce`
computes. Tests make the tables again and compare: so they show only what every processor gives,
four digits of a number, and of numbers that hang on rounding the bounds that they keep.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from appell.papers import PAPERS, reproduce
from appell.show.document import Document, Row, Table
from appell.show.figure import svg_of
from appell.show.rules import AtLeast, AtMost, Differs, Expected, Known, Ratio, Rule, Within
from appell.show.svg import whole

DOCS = Path(__file__).parent
IMAGES = DOCS / "images" / "papers"
BEGIN, END = "<!-- begin: made by docs/papers.py -->", "<!-- end: made by docs/papers.py -->"
WIDE = 6  # more columns of values than these do not fit
SURE = 1.1  # ours over the paper's: bounds closer than this are of a number, wider ones of a size


def main(names: tuple[str, ...]) -> None:
    """Write the pages of these papers, and their figures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in names:
        document = reproduce(name)
        before, _, after = parts(page(name).read_text())
        page(name).write_text(f"{before}{BEGIN}\n\n{made(document)}\n{END}{after}")
        for k, picture in enumerate(document.pictures, start=1):
            if f"{name}-{k}.svg" in before + after:
                drawn = whole(svg_of(picture.draw(), picture.title))
                (IMAGES / f"{name}-{k}.svg").write_text(drawn)


def page(name: str) -> Path:
    """Where a paper's page is."""
    return DOCS / "papers" / f"{name}.md"


def parts(text: str) -> tuple[str, str, str]:
    """A page before, between and after its marks."""
    before, begin, rest = text.partition(BEGIN)
    between, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"a page of a paper has the lines {BEGIN} and {END}.")
    return before, between, after


def made(document: Document) -> str:
    """The tables of a paper that compare, as Markdown, with the verdict above."""
    tables = [table for table in document.tables if table.compared]
    verdict = document.head().verdict
    return "\n".join([f"**{verdict}.**\n", *map(markdown, tables)])


def markdown(table: Table) -> str:
    """A table with what the paper prints beside ours; reasons are numbered below it."""
    reasons: list[str] = []
    wide = sum(2 if prints else 1 for prints in _printed(table)) > WIDE
    lines = (_long if wide else _grid)(table, reasons)
    lines.insert(1, ["---"] * len(lines[0]))
    grid = "\n".join(f"| {' | '.join(_escaped(x) for x in line)} |" for line in lines)
    numbered = "\n".join(f"{k}. {_sentence(x)}" for k, x in enumerate(reasons, start=1))
    blocks = [f"### {table.title}", grid, numbered, table.note]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _grid(table: Table, reasons: list[str]) -> list[list[str]]:
    """One line per row, with two columns for what the paper prints, one for what is ours alone."""
    printed = _printed(table)
    names = [
        f"{name}{who}"
        for name, prints in zip(table.columns, printed, strict=True)
        for who in ((", paper", ", ours") if prints else ("",))
    ]
    lines = [["", *names, "verdict"]]
    for row in table.rows:
        cells = [
            x
            for prints, pair in zip(printed, _pairs(row), strict=True)
            for x in (pair if prints else pair[1:])
        ]
        words = ", ".join(dict.fromkeys(_verdict(rule) for rule in row.rules))
        lines.append([row.what, *cells, _judged(row, words, reasons)])
    return lines


def _long(table: Table, reasons: list[str]) -> list[list[str]]:
    """One line per value, for tables that would not fit a page otherwise."""
    lines = [["", "", "paper", "ours", "verdict"]]
    for row in table.rows:
        for k, (name, rule) in enumerate(zip(table.columns, row.rules, strict=True)):
            verdict = _judged(row, _verdict(rule), reasons)
            lines.append(["" if k else row.what, name, *_pairs(row)[k], verdict])
    return lines


def _printed(table: Table) -> list[bool]:
    """Of each column, whether the paper has something in it."""
    columns = zip(*(row.paper for row in table.rows), strict=True)
    return [any(x is not None for x in column) for column in columns]


def _pairs(row: Row) -> list[tuple[str, str]]:
    """Of each column, what the paper prints and what we compute."""
    columns = zip(row.rules, row.paper, row.ours, strict=True)
    return [(_shown(paper), _ours(rule, paper, ours)) for rule, paper, ours in columns]


def _judged(row: Row, words: str, reasons: list[str]) -> str:
    """A verdict, with the number of its reason."""
    verdict = words if row.holds else f"FAILS: {words}"
    if not row.why or words == "equal":
        return verdict
    if row.why not in reasons:
        reasons.append(row.why)
    return f"{verdict} ({reasons.index(row.why) + 1})"


def _verdict(rule: Rule) -> str:
    if rule.alone:
        return "as expected"
    if isinstance(rule, Differs | Known | Ratio):
        return "size differs, as known" if _size(rule) else "differs, as known"
    return f"{rule.words} {rule.told}".strip()


def _size(rule: Rule) -> bool:
    return isinstance(rule, Ratio) and rule.high > SURE * rule.low


def _ours(rule: Rule, paper: Any, ours: Any) -> str:
    """Our value, or what bounds it where rounding makes it."""
    if isinstance(rule, Within) and paper == 0:
        return f"≤ {rule.bound:.3g}"
    if isinstance(rule, AtMost | AtLeast):
        return f"{'≤' if isinstance(rule, AtMost) else '≥'} {rule.bound:.3g}"
    if isinstance(rule, Ratio) and _size(rule):
        return f"{rule.low:.2g} to {rule.high:.2g} of it"
    if isinstance(rule, Expected) and rule.within > 0.01:
        return f"{rule.value:.2g} ± {100 * rule.within:g} %"
    return _shown(ours)


def _shown(x: Any) -> str:
    if x is None:
        return "–"
    return f"{x:.4g}" if isinstance(x, float) else str(x)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("[", "\\[").replace("\n", " ")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", ")")) else ".")


def differences(name: str, document: Document) -> list[str]:
    """Lines of a page that are no longer what is computed. Words and whole numbers are the same;
    numbers with a point the same within 3 %, as far apart as rules that are shown as numbers let
    them be; below a millionth, what rounding or an integrator leaves, of the same size."""
    number = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)(?![\w.])")
    before = parts(page(name).read_text())[1].strip().splitlines()
    now = made(document).strip().splitlines()
    if len(before) != len(now):
        return [f"{len(before)} lines, now {len(now)}"]

    def same(a: str, b: str) -> bool:
        if number.sub("#", a) != number.sub("#", b):
            return False
        pairs = zip(number.findall(a), number.findall(b), strict=True)
        return all(_near(abs(float(x)), abs(float(y))) for x, y in pairs)

    return [f"{a}\nnow: {b}" for a, b in zip(before, now, strict=True) if not same(a, b)]


def _near(x: float, y: float) -> bool:
    return max(x, y) <= (10 if max(x, y) < 1e-6 else 1.03) * min(x, y)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or PAPERS)
