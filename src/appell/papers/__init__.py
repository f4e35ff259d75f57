"""The papers' tables and figures, computed: what each prints, what we get, why they differ."""

from __future__ import annotations

from importlib import import_module

from appell.errors import InputError
from appell.show.document import Document

PAPERS = ("valera2003", "mata2002", "lee1982", "shafei2018", "abedloo2014")


def reproduce(name: str) -> Document:
    """A paper's tables and figures, computed.

    Args:
        name: One of `PAPERS`.

    Returns:
        A document: ``tables``, ``pictures``, and ``failures``, the rows that had to come out and
        did not.

    Examples:
        >>> document = appell.papers.reproduce("mata2002")
        >>> document.failures
        []
    """
    if name not in PAPERS:
        raise InputError(f"no paper {name!r}; there are {', '.join(PAPERS)}.")
    document: Document = import_module(f"appell.papers.{name}").document()
    return document


__all__ = ["PAPERS", "reproduce"]
