"""Assignment of a point's numbers: from variables to fields of the scenario."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from appell.errors import InputError
from appell.study.scenario import Scenario


class Varied(Protocol):
    """A variable of a sweep, or a parameter that is tuned."""

    @property
    def sets(self) -> tuple[str, ...]: ...
    @property
    def scales(self) -> tuple[str, ...]: ...


class Change(NamedTuple):
    """A field that a variable of this name sets, or scales."""

    path: str
    name: str
    scales: bool


def changes_of(varied: Iterable[tuple[str, Varied]]) -> tuple[Change, ...]:
    """The fields that variables change, each by one of them, and none within another."""
    changes: dict[str, Change] = {}
    for name, variable in varied:
        sets = variable.sets or (() if variable.scales else (name,))
        for path, scales in [*((x, False) for x in sets), *((x, True) for x in variable.scales)]:
            if path in changes:
                raise InputError(
                    f"'{path}' is changed by '{changes[path].name}' and by '{name}'; expected one."
                )
            changes[path] = Change(path, name, scales)
    for path, change in changes.items():
        around = next((x for x in changes if path.startswith(f"{x}.")), None)
        if around is not None:
            raise InputError(
                f"'{path}' is a part of '{around}', and '{change.name}' and "
                f"'{changes[around].name}' change both; change either the parts or the whole."
            )
    return tuple(changes.values())


def fields_at(
    scenario: Scenario, changes: Iterable[Change], values: Mapping[str, Any]
) -> dict[str, Any]:
    """The values of the fields at a point, by their paths."""
    return {
        c.path: scaled(scenario, c.path, values[c.name]) if c.scales else plain(values[c.name])
        for c in changes
    }


def plain(value: Any) -> Any:
    """A value as a file has it: no number of NumPy."""
    if isinstance(value, tuple):
        return list(value)
    return value.item() if hasattr(value, "item") else value


def scaled(scenario: Scenario, path: str, factor: Any) -> Any:
    """The scenario's own value of a field times a factor."""
    own = own_value(scenario, path)
    if not any(own if isinstance(own, list) else [own]):
        raise InputError(
            f"'{path}' is zero in the scenario, so that there is nothing to scale; give it a value "
            "there."
        )
    if isinstance(own, list):
        return [float(factor) * x for x in own]
    return float(factor) * own


@lru_cache(maxsize=1)
def _data(text: str) -> Any:
    return json.loads(text)


def own_value(scenario: Scenario, path: str) -> Any:
    """The number or numbers that a scenario has in a field."""
    place = _data(scenario.text())
    for key in path.split("."):
        known = isinstance(place, dict) and key in place
        if not known and not (isinstance(place, list) and key.isdigit() and int(key) < len(place)):
            raise InputError(
                f"'{path}' is not in the scenario, so that there is nothing to scale; give it a "
                "value there."
            )
        place = place[int(key)] if isinstance(place, list) else place[key]
    numbers = place if isinstance(place, list) else [place]
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers):
        raise InputError(f"'{path}' is {place!r} in the scenario; expected numbers to scale.")
    return place
