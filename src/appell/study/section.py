"""What the sections of a scenario have in common: they are frozen, and know all their keys."""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, allow_inf_nan=False, gt=0)]
NotNegative = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0)]
Count = Annotated[int, Field(strict=True, ge=0)]
Many = Annotated[int, Field(strict=True, ge=1)]
Flag = Annotated[bool, Field(strict=True)]
Three = tuple[Number, Number, Number]
Each = Number | tuple[Number, ...]  # one for all joints, or one per joint
Levels = NotNegative | tuple[NotNegative, ...]
Limits = Positive | tuple[Positive, ...]
Positions = dict[str, Number | tuple[Number, ...]] | tuple[Number, ...]  # by joint, or of all


def described(schema: dict[str, Any], section: type[BaseModel]) -> None:
    """Complete a section's JSON Schema from its docstring: the properties that the docstring lists
    under "Attributes:", and a ``kind``, which is what the section itself is."""
    summary, _, listed = cleandoc(section.__doc__ or "").partition("\n\nAttributes:\n")
    entries = re.findall(r"^    (\w+): (.*(?:\n      .*)*)", listed, re.MULTILINE)
    known = {name: " ".join(text.split()) for name, text in entries}
    schema["description"] = " ".join(summary.split())
    for name, entry in schema["properties"].items():
        if name == "kind" and "const" in entry:
            entry.setdefault("description", schema["description"])
        if name in known:
            entry.setdefault("description", known[name])


def table(example: str, given: Any) -> Any:
    """An entry that is a table; refused with an example of one if it is anything else."""
    if isinstance(given, int | float | str | list | tuple):
        raise ValueError(f"expected a table, such as {example}")
    return given


class Section(BaseModel):
    """A table of a scenario file."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=described)

    @property
    def said(self) -> dict[str, Any]:
        """The entries that differ from their defaults."""
        return {
            name: value
            for name, field in type(self).model_fields.items()
            if (value := getattr(self, name)) != field.get_default(call_default_factory=True)
        }
