"""Scenario files, read and checked: whatever is wrong is told with its line and the right key."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from appell.errors import InputError, nearest, quoted, shorten
from appell.model.settings_file import data_of
from appell.model.settings_lines import Where
from appell.study.scenario import Scenario, Source

_FAULTS = 10  # that are told


def read_scenario(path: str | os.PathLike[str]) -> Scenario:
    """The scenario in a .toml or .json file, checked; paths in it are meant from its folder."""
    file = Path(path)
    data, text = data_of(file, "the scenario", InputError)
    return checked(data, Source(file, text))


def checked(data: Any, source: Source | None = None) -> Scenario:
    """The scenario of a file's values; refused with the places of what is wrong in it."""
    source = source or Source()
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as problem:
        raise InputError("\n".join(_told(problem, data, source))) from None
    scenario._source = source
    return scenario


def json_schema() -> str:
    """JSON Schema of scenario files, by which editors complete and check them."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema |= Scenario.model_json_schema(by_alias=True)
    return json.dumps(schema, indent=2) + "\n"


def _told(problem: ValidationError, data: Any, source: Source) -> Iterable[str]:
    """A line for each place that something is wrong with."""
    faults: dict[Where, list[Any]] = {}
    for error in problem.errors():
        faults.setdefault(_path(error, data), []).append(error)
    inner = {path[:n] for path in faults for n in range(len(path))}
    places = [path for path in faults if path not in inner]  # why no form of the outer one fits
    for path in places[:_FAULTS]:
        name = source.place(path) or "the scenario"
        yield shorten(f"{name}{_fault(path, faults[path])}", 600)
    if len(places) > _FAULTS:
        yield f"and {len(places) - _FAULTS} more."


def _path(error: Any, data: Any) -> Where:
    """The keys that lead to a fault, without the names of the forms that were tried."""
    path: Where = ()
    for k, key in enumerate(error["loc"]):
        last = k == len(error["loc"]) - 1
        held = range(len(data)) if isinstance(data, list | tuple) else data
        if isinstance(held, dict | range) and key in held:
            data = data[key]
        elif not (last and error["type"] == "missing"):
            continue
        path += (key,)
    return path


def _fault(path: Where, errors: list[Any]) -> str:
    first = errors[0]
    if first["type"] == "extra_forbidden":
        keys = _keys(first["loc"][:-1])
        near = nearest(str(path[-1]), keys)
        return f": no such entry; {f'did you mean {near!r}?' if near else _known(keys)}"
    if first["type"] == "missing":
        return ": missing."
    if first["type"] == "union_tag_not_found":
        return f": kind is missing; expected one of {_kinds()}."
    if first["type"] == "union_tag_invalid":
        return f".kind = {_given(first['ctx']['tag'])}: expected one of {_kinds()}."
    wanted = dict.fromkeys(_wanted(e) for e in errors)
    value = "" if isinstance(first["input"], dict) else f" = {_given(first['input'])}"
    return f"{value}: expected {' or '.join(wanted)}."


def _wanted(error: Any) -> str:
    """What was expected, in the words of TOML."""
    told = {"model_type": "a table", "dict_type": "a table", "tuple_type": "an array"}
    said = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return told.get(error["type"], said).removeprefix("expected ")


def _given(value: Any) -> str:
    try:
        return shorten(json.dumps(value, default=str))
    except ValueError:  # a whole number of thousands of digits
        return quoted(value)


def _kinds() -> str:
    from appell.study.scenario_tasks import Task

    union = Task.__origin__  # type: ignore[attr-defined]
    names = [member.model_fields["kind"].annotation.__args__[0] for member in union.__args__]
    return ", ".join(names)


def _known(keys: list[str]) -> str:
    return f"expected one of {', '.join(keys)}."


def _keys(loc: tuple[Any, ...]) -> list[str]:
    """The keys of the table at a place."""
    models: list[type[BaseModel]] = [Scenario]
    for key in loc:
        models = [m for model in models for m in _inside(model, key)] or models
    return list(
        dict.fromkeys(
            field.alias or name for model in models for name, field in model.model_fields.items()
        )
    )


def _inside(model: type[BaseModel], key: Any) -> list[type[BaseModel]]:
    """The models of a key's value; a form's name keeps to that form."""
    for name, field in model.model_fields.items():
        if key in (name, field.alias):
            return _models(field.annotation)
    kind = model.model_fields.get("kind")
    tags = getattr(kind.annotation, "__args__", ()) if kind else ()
    return [model] if key in (model.__name__, *tags) else []


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for part in getattr(annotation, "__args__", ()) for m in _models(part)]
