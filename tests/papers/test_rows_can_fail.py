"""Every row of a reproduction can fail: by each printed number, and by each of ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import nan
from typing import Any

import pytest

from appell import papers
from appell.compile.count import Polynomial
from appell.show.document import Document, Row, Table, plain
from appell.show.rules import (
    EQUAL,
    AtLeast,
    AtMost,
    Below,
    Differs,
    Equal,
    Expected,
    Known,
    Ratio,
    Rule,
    Within,
)


@pytest.fixture(params=papers.PAPERS)
def document(request, reproduced) -> Document:
    return reproduced(request.param)


def rows(document: Document) -> Iterator[Row]:
    for table in document.tables:
        if table.compared:
            yield from table.rows


def changed(x: Any) -> list[Any]:
    """The least changes of a count, a polynomial or a word."""
    if isinstance(x, Polynomial):
        return [x + Polynomial.of(1), x + Polynomial.of(-1, 0)]
    return [f"{x}?"] if isinstance(x, str) else [x + 1, x - 1]


def paper_mutations(rule: Rule, paper: Any, ours: Any) -> list[Any]:
    """Printed numbers that are wrong by little more than the rule allows."""
    match rule:
        case Equal() | Differs() | Known():
            return changed(paper)
        case Within(bound, relative):
            room = 2.1 * bound * (abs(paper) if relative else 1)
            return [paper + room, paper - room]
        case Ratio(low, high):
            return [paper * 1.01 * high / low, paper * 0.99 * low / high]
        case Below():
            return [ours]
    return []


def our_mutations(rule: Rule, paper: Any, ours: Any) -> list[Any]:
    """Numbers of ours that are wrong by little more than the rule allows."""
    match rule:
        case Equal() | Differs() | Known() | Expected(within=0.0):
            return changed(ours)
        case Within(bound, relative):
            room = 2.1 * bound * (abs(paper) if relative else 1)
            return [ours + room, ours - room, nan]
        case Ratio(low, high):
            return [ours * 1.01 * high / low, ours * 0.99 * low / high, nan]
        case Below():
            return [paper, nan]
        case AtMost(bound):
            return [1.01 * bound, nan]
        case AtLeast(bound):
            return [0.99 * bound, nan]
        case Expected(value, within):
            return [value * (1 + 1.01 * within), value * (1 - 1.01 * within), nan]
    raise AssertionError(f"no mutation of {rule!r}")


def with_column(values: Any, k: int, x: Any) -> list[Any]:
    return [x if j == k else y for j, y in enumerate(values)]


def test_every_row_holds(document):
    assert document.failures == []
    assert len(list(rows(document))) >= 5


def test_a_wrong_print_makes_its_row_fail(document):
    for row in rows(document):
        for k, (rule, paper, ours) in enumerate(zip(row.rules, row.paper, row.ours, strict=True)):
            wrong = paper_mutations(rule, paper, ours)
            assert wrong or paper is None, f"{row.what}: no print, no mutation"
            for x in wrong:
                mutant = replace(row, paper=with_column(row.paper, k, x))
                assert not mutant.holds, f"{row.what}, column {k}: {paper} printed as {x}"


def test_a_wrong_number_of_ours_makes_its_row_fail(document):
    for row in rows(document):
        for k, (rule, paper, ours) in enumerate(zip(row.rules, row.paper, row.ours, strict=True)):
            for x in our_mutations(rule, paper, ours):
                mutant = replace(row, ours=with_column(row.ours, k, x))
                assert not mutant.holds, f"{row.what}, column {k}: {ours} computed as {x}"


def test_bounds_are_narrow(document):
    """A wrong power of ten is noticed in every print that ours is beside, a wrong second digit in
    those that must agree."""
    for row in rows(document):
        for rule, paper in zip(row.rules, row.paper, strict=True):
            match rule:
                case Ratio(low, high):
                    assert 0 < low < high < 10 * low, row.what
                case Within(bound, relative):
                    assert bound <= 0.05 * (1 if relative or not paper else abs(paper)), row.what


def test_every_failure_ends_in_the_list_of_the_document(document):
    """As the command reads it: a row that fails makes its document fail."""
    tables = [
        replace(
            table,
            rows=[
                replace(row, ours=with_column(row.ours, 0, x))
                for row in table.rows
                for x in our_mutations(row.rules[0], row.paper[0], row.ours[0])[:1]
            ],
        )
        for table in document.tables
        if table.compared
    ]
    wrong = replace(document, tables=tables)
    assert len(wrong.failures) == len(list(rows(document)))


def test_a_value_that_is_compared_with_nothing_has_no_place_among_the_evidence():
    with pytest.raises(ValueError, match="plain table"):
        Table("T", ["x"], [Row("row", [None], [1.0])])
    with pytest.raises(ValueError, match="plain table"):
        Table("T", ["x"], [Row("row", [1.0], [None])])
    with pytest.raises(ValueError, match="plain table"):
        Table("T", ["x"], [Row("row", [1.0], [1.0], rule=AtMost(2.0))])
    assert plain("T", ["x"], {"row": [1.0]}).failures == []


@pytest.mark.parametrize(
    ("rule", "paper", "good", "bad"),
    [
        (EQUAL, 3, 3, 4),
        (Within(0.5), 10.0, 10.4, 10.6),
        (Within(0.01, relative=True), 50.0, 50.4, 50.6),
        (Below(), 1.0, 0.9, 1.0),
        (Differs(-2), 10, 8, 10),
        (Differs(Polynomial.of(-1, 0, 2)), Polynomial.of(1, 1, 1), Polynomial.of(1, 3), None),
        (Ratio(2, 3), 10.0, 25.0, 19.0),
        (Known("a", "b"), "a", "b", "a"),
        (AtMost(1.0), None, 1.0, 1.1),
        (AtLeast(1.0), None, 1.0, 0.9),
        (Expected(7), None, 7, 8),
        (Expected(7.0, 0.1), None, 7.6, 7.8),
    ],
)
def test_rules(rule, paper, good, bad):
    row = Row("row", [paper], [good], "because", rule)
    assert row.holds
    assert row.remark == f"{rule.words} {rule.told}".rstrip() + ": because"
    wrong = replace(row, ours=[bad])
    assert not wrong.holds
    assert wrong.remark.startswith("FAILS (")


def test_a_row_may_ask_something_else_of_each_column():
    row = Row("row", [1.0, 2], [1.05, 2], rule=[Within(0.1), EQUAL])
    assert row.holds
    assert row.remark == "within 0.1; equal"
