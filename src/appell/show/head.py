"""The head of every report: what was asked, what came of it, and what it was made by."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import appell
from appell.robots.robot_data import model_hash

_PACKAGES = {"NumPy": "numpy", "CasADi": "casadi", "llvmlite": "llvmlite"}


@dataclass(frozen=True)
class Head:
    """What stands first in a report. ``verdict`` is one sentence, and ``good`` whether it is what
    one hoped for; ``files`` are those beside the report, with what each holds; ``models`` those
    of the robots, whose hashes are told. ``warnings`` are to be read with a good verdict, too;
    ``failures`` are what makes it a bad one."""

    title: str
    asked: str
    verdict: str = ""
    good: bool = True
    warnings: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    models: Sequence[Any] = ()
    failures: Sequence[str] = ()

    def html(self) -> str:
        """The head as HTML."""
        mark, kind = ("✓", "verdict") if self.good else ("✗", "verdict bad")
        origin = provenance(self.models)
        rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(x)}</dd>" for k, x in origin.items())
        brief = " · ".join(origin[k] for k in ("made by", "date", "command") if k in origin)
        parts = [
            f"<h1>{escape(self.title)}</h1>",
            f'<p class="lead">{escape(self.asked)}</p>' if self.asked else "",
            f'<p class="{kind}"><span aria-hidden="true">{mark}</span> {escape(self.verdict)}</p>'
            if self.verdict else "",
            _list("warnings", self.warnings),
            _list("warnings bad", self.failures),
            f"<p>Data: {', '.join(_link(*pair) for pair in self.files.items())}.</p>"
            if self.files else "",
            f'<details class="origin"><summary>{escape(brief)}</summary><dl>{rows}</dl></details>',
        ]  # fmt: skip
        return f"<header>\n{chr(10).join(filter(None, parts))}\n</header>"

    def markdown(self) -> str:
        """The head as Markdown."""
        named = [f"[{name}]({name}) ({what})" for name, what in self.files.items()]
        parts = [
            f"# {self.title}",
            self.asked,
            f"**{self.verdict}**" if self.verdict else "",
            *(f"Warning: {text}" for text in [*self.warnings, *self.failures]),
            f"Data: {', '.join(named)}." if named else "",
            "; ".join(f"{k}: {x}" for k, x in provenance(self.models).items()) + ".",
        ]
        return "\n\n".join(filter(None, parts))


def provenance(models: Sequence[Any] = ()) -> dict[str, str]:
    """What a result was made by: versions, processor, system, models, date and command."""
    packages = [f"{name} {version(package)}" for name, package in _PACKAGES.items()]
    known = {
        "made by": f"Appell {appell.__version__}",
        "with": ", ".join([f"Python {platform.python_version()}", *packages]),
        "processor": processor(),
        "system": platform.platform(),
        "model": ", ".join(f"{model.name}, sha256 {model_hash(model)}" for model in models),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command(),
    }
    return {name: text for name, text in known.items() if text}


def command() -> str:
    """The command as it was typed; nothing where Python itself was called."""
    program, *arguments = sys.argv or [""]
    known = Path(program).stem in ("appell", "__main__")
    return shlex.join(["appell", *arguments]) if known else ""


def processor() -> str:
    """The processor's name, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _list(kind: str, items: Iterable[str]) -> str:
    told = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f'<ul class="{kind}">{told}</ul>' if told else ""


def _link(name: str, what: str) -> str:
    return f'<a href="{escape(name)}">{escape(name)}</a> ({escape(what)})'
