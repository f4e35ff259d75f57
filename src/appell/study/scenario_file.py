"""Scenario files, read and checked: whatever is wrong is told with its line and the right key."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from appell.errors import InputError, did_you_mean, nearest, quoted, shorten
from appell.model.settings_file import data_of
from appell.model.settings_lines import Where
from appell.study.scenario import Scenario, Source

_FAULTS = 10  # that are told
Kind = TypeVar("Kind", bound=BaseModel)


def read_scenario(path: str | os.PathLike[str]) -> Scenario:
    r"""The scenario in a .toml or .json file, checked.

    Args:
        path: Of the file; paths in it are meant from its folder.

    Returns:
        A `Scenario`.

    Examples:
        >>> text = 'robot = "planar_chain"\n[task]\nkind = "fall"\nuntil = 0.5\n'
        >>> file = tmp / "fall.toml"
        >>> _ = file.write_text(text)
        >>> appell.study.read_scenario(file).task.until
        0.5
    """
    file = Path(path)
    data, text = data_of(file, "the scenario", InputError)
    return checked(data, Source(file, text))


def checked(data: Any, source: Source | None = None) -> Scenario:
    """The scenario of a file's values; refused with the places of what is wrong in it."""
    source = source or Source()
    if isinstance(data, dict) and "task" not in data and {"vary", "scenario", "tune"} & set(data):
        command = "tune" if "tune" in data else "sweep"
        raise InputError(
            f"{source.file or 'this'} is a study, not a scenario: appell {command} runs it."
        )
    scenario = valid(Scenario, data, source)
    scenario._source = source
    return scenario


def valid(kind: type[Kind], data: Any, source: Source) -> Kind:
    """A file's values as a kind of section; refused with the places of what is wrong in it."""
    try:
        return kind.model_validate(data)
    except ValidationError as problem:
        raise InputError("\n".join(_told(problem, data, source, kind))) from None


def json_schema() -> str:
    """JSON Schema of scenario files, by which editors complete and check them.

    Returns:
        The schema's text.

    Examples:
        >>> '"robot"' in appell.study.json_schema()
        True
    """
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema |= Scenario.model_json_schema(by_alias=True)
    return json.dumps(schema, indent=2) + "\n"


def _told(
    problem: ValidationError, data: Any, source: Source, kind: type[BaseModel]
) -> Iterable[str]:
    """A line for each place that something is wrong with."""
    faults: dict[Where, list[Any]] = {}
    for error in problem.errors():
        faults.setdefault(_path(error, data), []).append(error)
    inner = {path[:n] for path in faults for n in range(len(path))}
    places = [path for path in faults if path not in inner]  # why no form of the outer one fits
    for path in places[:_FAULTS]:
        name = source.place(path).removesuffix(": ") or f"the {kind.__name__.lower()}"
        yield shorten(f"{name}{_fault(path, faults[path], kind)}", 600)
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


def _fault(path: Where, errors: list[Any], kind: type[BaseModel]) -> str:
    first = errors[0]
    if first["type"] == "extra_forbidden":
        keys = _keys(first["loc"][:-1], kind)
        near = nearest(str(path[-1]), keys)
        return f": no such entry; {f'did you mean {near!r}?' if near else _known(keys)}"
    if first["type"] == "missing":
        return ": missing."
    if first["type"] == "union_tag_not_found":
        return f": kind is missing; expected one of {', '.join(_kinds())}."
    if first["type"] == "union_tag_invalid":
        tag, kinds = first["ctx"]["tag"], _kinds()
        hint = did_you_mean(tag, kinds)
        return f".kind = {_given(tag)}: expected one of {', '.join(kinds)}.{hint}"
    value = "" if isinstance(first["input"], dict) else f" = {_given(first['input'])}"
    if first["type"] == "value_error" and len(errors) == 1:  # in the words of whoever raised it
        return f"{value}: {first['msg'].removeprefix('Value error, ')}."
    wanted = dict.fromkeys(_wanted(e) for e in errors)
    names = re.findall("'([^']*)'", first["ctx"]["expected"]) if _literal(first) else ()
    return f"{value}: expected {' or '.join(wanted)}.{did_you_mean(first['input'], names)}"


def _literal(error: Any) -> bool:
    return bool(error["type"] == "literal_error")


def _wanted(error: Any) -> str:
    """What was expected, in the words of TOML."""
    told = {
        "model_type": "a table", "dict_type": "a table", "tuple_type": "an array",
        "int_type": "a whole number, without a decimal point",
    }  # fmt: skip
    if error["type"] == "too_long":
        return f"{error['ctx']['max_length']} entries at most"
    said = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return told.get(error["type"], said).removeprefix("expected ")


def _given(value: Any) -> str:
    try:
        return shorten(json.dumps(value, default=str))
    except ValueError:  # a whole number of thousands of digits
        return quoted(value)


def _kinds() -> list[str]:
    from appell.study.scenario_tasks import Task

    union = Task.__origin__  # type: ignore[attr-defined]
    return [member.model_fields["kind"].annotation.__args__[0] for member in union.__args__]


def _known(keys: list[str]) -> str:
    return f"expected one of {', '.join(keys)}."


def _keys(loc: tuple[Any, ...], kind: type[BaseModel]) -> list[str]:
    """The keys of the table at a place."""
    models: list[type[BaseModel]] = [kind]
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
