"""What options of several commands mean: a law of control, its gains, a thing of a module."""

from __future__ import annotations

import importlib
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appell.errors import InputError

if TYPE_CHECKING:
    from appell.control import Law


def read_law(name: str, robot: Any, gains: list[str], **options: str | None) -> Law:
    """The law of that name (or module:name) for a robot, with gains such as ``kp=100``; options
    that are None are left out."""
    from appell.control import Law
    from appell.control.laws import law_named

    kind = imported("--law", name) if ":" in name else law_named(name)
    if not (isinstance(kind, type) and issubclass(kind, Law)):
        raise InputError(f"--law {name}: expected a class derived from appell.control.Law.")
    chosen = {option: x for option, x in options.items() if x is not None}
    known = {field.name: field.default for field in fields(kind)}
    for option, x in chosen.items():
        if option not in known:
            raise InputError(f"--{option} {x}: {name} has no {option}; leave it out.")
    chosen |= _read_gains(name, kind.gains, gains)
    missing = [gain for gain in kind.gains if known[gain] is MISSING and gain not in chosen]
    if missing:
        raise InputError(
            f"{name}: {missing[0]} has no usual value; give it as --gain {missing[0]}=100."
        )
    return kind(robot, **chosen)


def _read_gains(law: str, known: Any, texts: list[str]) -> dict[str, Any]:
    """Numbers, or lists of them, by their names."""
    gains: dict[str, Any] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name not in known or name in gains:
            problem = "is given twice" if name in gains else "is none of its gains"
            raise InputError(f"{law}: {name!r} {problem}; they are {', '.join(known)}.")
        try:
            numbers = [float(x) for x in value.split(",")]
        except ValueError:
            raise InputError(
                f"{law}: {text!r}; expected a number or several, such as {name}=100 or {name}=1,2."
            ) from None
        gains[name] = numbers if len(numbers) > 1 else numbers[0]
    return gains


def imported(option: str, name: str) -> Any:
    """What an option names as module:name; modules are also those of the working folder."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")
    try:
        thing = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as problem:
        raise InputError(f"{option} {name}: {problem}; expected module:name.") from None
    finally:
        sys.path.remove("")
    sys.path.append(str(Path.cwd()))  # for the process of the control loop
    return thing
