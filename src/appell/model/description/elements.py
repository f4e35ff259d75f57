"""XML files that may come from anyone: their elements, and errors that name file and line."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from re import sub
from typing import Any

import numpy as np
from lxml import etree

from appell.errors import ModelError, nearest, printable, shorten
from appell.model.axes import from_rpy

Element = Any  # lxml has no types

_LARGEST = 16 * 2**20  # bytes; the files of the largest robots have a fiftieth of it
_ZEROS = (0.0, 0.0, 0.0)
_MOST = 10_000  # links or joints; the largest robots have some hundreds


# What libxml2 calls mistakes that leave no doubt about what is meant, and what is said of them.
_HARMLESS = {
    "NS_ERR_UNDEFINED_NAMESPACE": "prefixes of names that no namespace is declared for",
    "ERR_VERSION_MISSING": "<?xml?> without a version",
    "ERR_RESERVED_XML_NAME": "<?xml?> without a version, or not at the start",
}


def parse(source: Path | str, root: str, harmless: list[str] | None = None) -> Element:
    """The root element of a file, or of a text. Nothing is expanded, fetched or read besides it.

    Mistakes that leave no doubt about what is meant are added to ``harmless``.
    """
    path = source if isinstance(source, Path) else "text"
    content = _bytes(source) if isinstance(source, Path) else _encoded(source)
    element, mistakes = _read(content, path)
    if harmless is not None and mistakes and not _grave(mistakes):
        element, mistakes = _read(content, path, recover=True)
    if element is None or _grave(mistakes):
        _, line, message = (_grave(mistakes) or mistakes)[0]
        raise ModelError(f"{path}:{line}: cannot be read as XML: {message}.")
    if mistakes and harmless is not None:
        told = dict.fromkeys(_HARMLESS[kind] for kind, *_ in mistakes)
        harmless.append(f"line {mistakes[0][1]}: {', '.join(told)}")
    if element.getroottree().docinfo.doctype:
        raise ModelError(
            f"{path}: the file declares a document type (<!DOCTYPE>), which may define entities "
            "and name other files; a robot needs none: delete the declaration."
        )
    if tag(element) != root:
        raise ModelError(
            f"{place(element)}: the root element is <{tag(element)}>; expected <{root}>."
        )
    return element


Mistakes = list[tuple[str, int, str]]  # their kinds, lines and messages


def _read(
    content: bytes, path: Path | str, recover: bool = False
) -> tuple[Element | None, Mistakes]:
    """The root element, if it can be read, and the mistakes there are."""
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False,
        remove_comments=True, remove_pis=True, recover=recover,
    )  # fmt: skip
    element, last = None, ("", 1, "it is empty")
    try:
        element = etree.fromstring(content, parser, base_url=printable(str(path)))
    except etree.XMLSyntaxError as problem:
        last = ("", problem.lineno or 1, str(problem.msg))
    serious = [x for x in parser.error_log if x.level_name != "WARNING"]
    mistakes = [(x.type_name, x.line, x.message) for x in serious]
    return element, mistakes if mistakes or element is not None else [last]


def _grave(mistakes: Mistakes) -> Mistakes:
    return [x for x in mistakes if x[0] not in _HARMLESS]


def _encoded(text: str) -> bytes:
    """A text's declaration of an encoding is void: it has been decoded."""
    undeclared = sub(r"^(\s*<\?xml[^>]*?)\s+encoding=(\"[^\"]*\"|'[^']*')", r"\1", text)
    content = undeclared.strip().encode("utf-8", "backslashreplace")
    if len(content) > _LARGEST:
        raise ModelError(f"text: it has {len(content)} bytes; a robot's has at most {_LARGEST}.")
    return content


def _bytes(path: Path) -> bytes:
    try:
        if "\0" in str(path) or not path.is_file():
            given = "this is a folder" if path.is_dir() else "there is no such file"
            raise ModelError(f"{path}: {given}; give the path of a robot's file.")
        size = path.stat().st_size
        if not 0 < size <= _LARGEST:
            raise ModelError(
                f"{path}: the file has {size} bytes; a robot's has some, and at most {_LARGEST}."
            )
        return path.read_bytes()
    except OSError as problem:
        raise ModelError(f"{path}: the file cannot be read: {problem.strerror}.") from None


def by_name(parent: Element, kind: str) -> dict[str, Element]:
    """The children of a kind, each under its own name."""
    found: dict[str, Element] = {}
    for element in parent.iterchildren(f"{{*}}{kind}"):
        first: Element = found.setdefault(attribute(element, "name"), element)
        if first is not element:
            raise fault(
                element, f"the {kind} on line {first.sourceline} has the same name; change one."
            )
        if len(found) > _MOST:
            raise fault(
                parent, f"there are more <{kind}> than {_MOST}; expected those of one robot."
            )
    return found


def child(element: Element, kind: str) -> Element | None:
    """The one child of a kind, if there is one."""
    found = [*element.iterchildren(f"{{*}}{kind}")]
    if len(found) > 1:
        raise fault(
            found[1], f"<{kind}> is given again, first on line {found[0].sourceline}; keep one."
        )
    return found[0] if found else None


def needed(element: Element, kind: str) -> Element:
    """The one child of a kind."""
    found = child(element, kind)
    if found is None:
        raise fault(element, f"<{tag(element)}> has no <{kind}>; add one.")
    return found


def attribute(element: Element, key: str) -> str:
    """An element's attribute; refused if it is missing."""
    text = element.get(key)
    if not text:
        raise fault(element, f'<{tag(element)}> has no {key}; write <{tag(element)} {key}="...">.')
    return text


def known(element: Element, key: str, names: Mapping[str, Element]) -> str:
    """An attribute that must be one of these names."""
    name = attribute(element, key)
    if name not in names:
        near = nearest(name, names)
        there = shorten(", ".join(names), 1000)
        cure = f"did you mean '{near}'?" if near else f"the file has {there}."
        raise fault(
            element, f"<{tag(element)}> names {key} '{shorten(name)}', which is not there; {cure}"
        )
    return name


def numbers(
    element: Element | None, key: str, count: int, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    """The numbers of an attribute; the default where the attribute or its element is missing."""
    if default is not None and (element is None or element.get(key) is None):
        return default
    text = attribute(element, key)
    try:
        found = tuple(map(float, text.split(maxsplit=count)))
    except ValueError:
        found = ()
    if len(found) != count or not all(map(isfinite, found)):
        expected = f"{count} finite numbers" if count > 1 else "a finite number"
        raise fault(element, f'<{tag(element)} {key}="{shorten(text)}">: expected {expected}.')
    return found


def number(element: Element | None, key: str, default: float | None = None) -> float:
    """An attribute that is one number."""
    return numbers(element, key, 1, None if default is None else (default,))[0]


def magnitude(element: Element | None, key: str, default: float) -> float:
    """A number that is not negative."""
    found = number(element, key, default)
    if found < 0:
        raise fault(element, f'<{tag(element)} {key}="{found:g}">: expected 0 or more.')
    return found


def origin_of(element: Element) -> tuple[Any, Any]:
    """The rotation Rz(yaw) Ry(pitch) Rx(roll) and the position of <origin>."""
    origin = child(element, "origin")
    return from_rpy(numbers(origin, "rpy", 3, _ZEROS)), np.array(numbers(origin, "xyz", 3, _ZEROS))


def fault(element: Element, problem: str) -> ModelError:
    """An error that names the file, the line, and the link or joint (a child of the root)."""
    owner = [element, *element.iterancestors()][-2:][0]
    name = shorten(owner.get("name", ""))
    return ModelError(f"{place(element)}: {tag(owner)} '{name}': {problem}")


def place(element: Element) -> str:
    """file:line."""
    return f"{element.getroottree().docinfo.URL}:{element.sourceline}"


def tag(element: Element) -> str:
    """The kind of an element, whatever namespace the file declares."""
    return str(element.tag).rpartition("}")[2]
