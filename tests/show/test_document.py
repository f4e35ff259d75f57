"""A document compares; what had to agree and does not is found."""

from __future__ import annotations

from appell.compile.count import Polynomial
from appell.show.document import (
    Document,
    Picture,
    Row,
    Table,
    cells,
    headings,
    html,
    markdown,
    plain,
)

LINE = Polynomial.of(4, -3)
TABLE = Table(
    "Table 1",
    ["multiplications"],
    [
        Row("ours", [LINE], [Polynomial.of(4, -3)], exact=True),
        Row("theirs <1>", [LINE], [Polynomial.of(5)], "They | count otherwise.", exact=True),
        Row("unprinted", [None], [LINE], exact=True),
        Row("free", [1.23456], [2.0], "No reason."),
    ],
    note="Counted.",
)


def document(pictures=()):
    return Document("paper2000", "A paper", "By someone.", [TABLE], pictures)


def test_rows_that_had_to_agree_are_failures_if_they_do_not():
    assert [row.what for _, row in document().failures] == ["theirs <1>"]


def test_markdown_has_every_value_and_no_broken_cells():
    text = markdown(document())
    assert "| ours | 4n − 3 | 4n − 3 | equal |" in text
    assert "They \\| count otherwise." in text
    assert "| unprinted | – | 4n − 3 | equal |" in text
    assert "1.235" in text
    assert text.rstrip().endswith("Counted.")


def test_html_marks_failures_and_escapes():
    text = html(document([Picture("Figure 1", "A < B.", lambda: None)]), ["<svg></svg>"])
    assert "theirs &lt;1&gt;" in text
    assert text.count("not equal.") == 1
    assert "<figcaption>A &lt; B.</figcaption>" in text


def test_a_table_of_our_own_has_no_column_for_a_paper():
    table = plain("T", ["x", "y"], {"row": [1.23456, "yes"]}, "a note")
    assert headings(table) == ["", "x", "y", "remark"]
    assert cells(table) == [["row", "1.235", "yes", ""]]
    assert not table.failures
