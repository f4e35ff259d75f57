"""Results as a table on the terminal, as documents and as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = "benchmarks/results.json"


def write(results: dict[str, Any], root: Path) -> None:
    """Results, docs/speed.md and its picture, and the README's table where it has a place."""
    from benchmarks.report.gpu_section import gpu_section
    from benchmarks.report.markdown import document, refreshed
    from benchmarks.report.picture import draw

    def place(name: str) -> Path:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    place(RESULTS).write_text(json.dumps(results, indent=1) + "\n")
    place("docs/speed.md").write_text(document(results, gpu_section(root)))
    draw(results, place("docs/images/speed.svg"))
    readme = root / "README.md"
    if readme.exists():
        readme.write_text(refreshed(readme.read_text(), results))
