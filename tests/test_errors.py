"""Messages: never longer than a page, and always printable, whatever they quote."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from appell.errors import AppellError, InputError, ModelError, nearest, quoted, shorten


@pytest.mark.parametrize("kind", [AppellError, InputError, ModelError])
def test_a_long_message_keeps_what_was_given_and_the_cure(kind):
    text = str(kind(f"speed = {'9' * 10**7}; expected a number."))
    assert len(text) <= 4000
    assert text.startswith("speed = 9")
    assert text.endswith("expected a number.")


def test_a_message_with_a_name_that_is_not_utf_8_can_be_printed():
    problem = InputError("caf\udce9.csv: there is no such file.")
    assert str(problem).encode() == b"caf\\udce9.csv: there is no such file."
    again = pickle.loads(pickle.dumps(problem))
    assert str(again) == str(problem)


def test_escapes_do_not_lengthen_a_message_beyond_its_bound():
    assert len(str(InputError("\udce9" * 10**5))) <= 4000


@pytest.mark.parametrize("x", ["it's", 'a "b"', 1.5, 3, None, [1, 2], ("a", 0.1), {"a": [1]}])
def test_short_values_are_quoted_as_they_are(x):
    assert quoted(x) == repr(x)


class Broken:
    def __repr__(self):
        raise RuntimeError("no name")


def nested(depth):
    x = []
    for _ in range(depth):
        x = [x]
    return x


LARGE = {
    "text": "x" * 10**7,
    "number": 10**5000,
    "lists": [list(range(10**5))] * 50,
    "table": dict.fromkeys(range(999), "v" * 999),
    "nested": nested(10**5),
    "array": np.zeros(10**6),
    "without a name": Broken(),
    "bytes": b"\xff" * 10**6,
}


@pytest.mark.parametrize("x", LARGE.values(), ids=LARGE)
def test_any_value_is_quoted_in_a_line(x):
    assert len(quoted(x)) <= 200


def test_a_text_loses_its_middle_only_where_it_is_too_long():
    assert shorten("abc" * 10, 30) == "abc" * 10
    short = shorten("a" * 50 + "z" * 50, 30)
    assert len(short) == 30
    assert short[0] == "a"
    assert short[-1] == "z"


def test_the_nearest_name_is_sought_among_names_that_people_write(monkeypatch):
    """Comparing two names takes the product of their lengths: a day, for those of 10 MB here."""
    assert nearest("shulder", ["elbow", "shoulder"]) == "shoulder"
    assert nearest("a" * 10**7, ["ab" * 10**7]) is None
    assert nearest("abc", ["ab" * 10**7, "abcd"]) == "abcd"
    compared = []
    monkeypatch.setattr(
        "difflib.get_close_matches", lambda _, names, n: compared.extend(names) or []
    )
    assert nearest("abc", map(str, range(10**5))) is None
    assert len(compared) <= 1000
