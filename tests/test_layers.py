"""The documentation's table of layers is the contract that import-linter checks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # which import-linter brings

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = SETTINGS["tool"]["importlinter"]["contracts"]


def test_the_table_of_layers_is_the_contract():
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.partition("\n## Layers\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| `(\w+)` \|", table)
    [contract] = [c for c in CONTRACTS if c["containers"] == ["appell"]]
    assert contract["layers"] == rows[::-1]


def test_no_module_escapes_its_contract():
    assert all(c["exhaustive"] for c in CONTRACTS)
