"""Functions that a study names: of the variables, in place of a scenario; and costs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from appell.errors import InputError, shorten
from appell.study.own_code import called, imported
from appell.study.sweeps.study_file import Study, keyword_of


def numbers_of(study: Study, values: dict[str, Any]) -> dict[str, float]:
    """Numbers that the study's function returns at a point."""
    assert study.function is not None
    keywords = {keyword_of(name): x for name, x in values.items()}
    returned = called(study.function, study.source.folder, **keywords)
    name = study.function.rpartition(":")[2]
    numbers = returned if isinstance(returned, Mapping) else {name: returned}
    try:
        return {str(key): float(x) for key, x in numbers.items()}
    except (TypeError, ValueError):
        raise InputError(
            f"{study.function} gave {shorten(repr(returned))}; expected a number, or a dict of "
            "numbers by their names."
        ) from None


def check_function(study: Study) -> None:
    """Refuse a function that is not there, or does not take the variables."""
    assert study.function is not None
    function = imported(study.function, study.source.folder)
    try:
        takes = inspect.signature(function)
    except (TypeError, ValueError):  # one that does not tell
        return
    names = [keyword_of(name) for name in study.vary]
    try:
        takes.bind(**dict.fromkeys(names))
    except TypeError as problem:
        raise InputError(
            f"{study.function}{takes}: {problem}; it is called with the variables "
            f"{', '.join(names)}."
        ) from None


def check_cost(place: str, cost: Callable[..., Any], follows: bool) -> None:
    """Refuse a cost that does not take what it is called with."""
    names = ("t", "q", "v", "tau", *(("qd", "vd") if follows else ()))
    try:
        inspect.signature(cost).bind(*names)
    except ValueError:  # one that does not tell
        return
    except TypeError as problem:
        why = "where something is followed" if follows else "where nothing is followed"
        raise InputError(
            f"{place}: {problem}; expected a function f({', '.join(names)}) {why}."
        ) from None
