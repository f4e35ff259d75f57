"""A document compares; what had to agree and does not is found."""

from __future__ import annotations

from appell.compile.count import Polynomial
from appell.show.document import (
    Document,
    Row,
    Table,
    cells,
    headings,
    html,
    markdown,
    plain,
)
from appell.show.figure import Drawing, Picture
from appell.show.rules import EQUAL, Expected, Ratio
from appell.show.sketch import Sketch

LINE = Polynomial.of(4, -3)
TABLE = Table(
    "Table 1",
    ["multiplications"],
    [
        Row("ours", [LINE], [Polynomial.of(4, -3)]),
        Row("theirs <1>", [LINE], [Polynomial.of(5)], "They | count otherwise."),
        Row("unprinted", [None], [LINE], rule=Expected(LINE)),
        Row("sizes", [1.23456], [2.0], "No reason.", Ratio(1, 2)),
    ],
    note="Counted.",
)
TIMES = plain("Times", ["s"], {"here": [0.5]})


def document(pictures=()):
    return Document("paper2000", "A paper", "By someone.", [TIMES, TABLE], pictures)


def test_rows_that_had_to_agree_are_failures_if_they_do_not():
    assert [row.what for _, row in document().failures] == ["theirs <1>"]


def test_markdown_has_every_value_and_no_broken_cells():
    text = markdown(document())
    assert "| ours | 4n − 3 | 4n − 3 | equal |" in text
    assert "They \\| count otherwise." in text
    assert "| unprinted | – | 4n − 3 | as known |" in text
    assert "| sizes | 1.235 | 2 | ours over the paper's is 1 to 2: No reason. |" in text
    assert "Counted." in text


def test_what_is_compared_with_nothing_is_shown_apart():
    assert list(document().sections) == ["Table 1", "For information: Times"]
    text = markdown(document())
    assert text.index("## Table 1") < text.index("## For information: Times")
    alone = Document("report", "A report", "Ours.", [TIMES])
    assert list(alone.sections) == ["Times"]


def test_a_column_that_the_paper_does_not_have_is_left_out():
    table = Table("T", ["x", "y"], [Row("row", [None, 2], [1, 2], rule=[Expected(1), EQUAL])])
    assert headings(table) == ["", "x, ours", "y, paper", "y, ours", "remark"]
    assert cells(table) == [["row", "1", "2", "2", "as known; equal"]]


def test_html_marks_failures_and_escapes():
    sketch = Sketch("A > B")
    sketch.line([(0, 0), (1, 1)])
    pictures = [Picture("Figure 1", "A < B.", lambda: None)]
    text = html(document(pictures), [Drawing([sketch])])
    assert "theirs &lt;1&gt;" in text
    assert text.count("FAILS (equal): They | count otherwise.") == 2  # in its row, and on top
    assert "A &gt; B" in text
    assert "<figcaption>A &lt; B.</figcaption>" in text


def test_a_table_of_our_own_has_no_column_for_a_paper():
    table = plain("T", ["x", "y"], {"row": [1.23456, "yes"]}, "a note")
    assert headings(table) == ["", "x", "y", "remark"]
    assert cells(table) == [["row", "1.235", "yes", ""]]
    assert not table.failures


def test_the_verdict_comes_first():
    head = document().head()
    assert head.verdict == "3 of 4 rows agree"
    assert not head.good
    assert head.failures == ["Table 1, theirs <1>: FAILS (equal): They | count otherwise."]
    text = html(document(), [])
    places = [text.index(x) for x in ("<h1>", "By someone.", "3 of 4 rows", "made by", "<h2>")]
    assert places == sorted(places)
    words = markdown(document())
    assert words.index("**3 of 4 rows agree**") < words.index("## Table 1")


def test_a_table_of_many_joints_is_turned_and_empty_remarks_are_left_out():
    wide = plain("T", [f"joint {j}" for j in range(30)], {"rms": range(30), "worst": range(30)})
    text = markdown(Document("d", "D", "", [wide]))
    assert "|  | rms | worst |" in text
    assert "| joint 29 | 29 | 29 |" in text
    assert "remark" not in text


def test_names_with_brackets_are_printed_as_they_are(capsys):
    from appell.cli.tables import print_table

    print_table(["joint", "x[/y]"], [["hip[/right]", "[red]"]])
    printed = capsys.readouterr().out
    assert all(x in printed for x in ("x[/y]", "hip[/right]", "[red]"))
