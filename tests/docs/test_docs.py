"""What README and the documentation show runs, and gives what they say it gives."""

from __future__ import annotations

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
NAMES = (
    "tutorial",
    "models",
    "recipes",
    "scenarios",
    "simulation",
    "viewer",
    "contacts",
    "control",
    "inverse_kinematics",
    "identification",
    "reports",
    "rig",
    "export",
    "closed",
    "spherical",
    "counting",
    "lee1982",
    "valera2003",
)
PAGES = ["README.md", *(f"docs/{name}.md" for name in NAMES)]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
CLAIM = re.compile(r"^(?:(?P<name>\w+) = )?(?P<expression>.+?)\s+# (?P<claim>True|\([\d, ]+\))$")

URDF = """
<robot name="my_robot">
  <link name="base"/>
  <link name="arm">
    <inertial>
      <origin xyz="0.2 0 0"/>
      <mass value="1"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/>
    </inertial>
  </link>
  <joint name="shoulder" type="continuous">
    <parent link="base"/>
    <child link="arm"/>
    <axis xyz="0 1 0"/>
  </joint>
</robot>
"""


def printed_claims(block: str) -> list[str]:
    """Comment lines below a print: what it printed."""
    lines = block.splitlines()
    return [
        line[2:]
        for above, line in pairwise(lines)
        if line.startswith("# ") and above.startswith(("print(", "# "))
    ]


@pytest.mark.parametrize("page", PAGES)
def test_code_on_the_page_runs_and_gives_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my_robot.urdf").write_text(URDF)
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert blocks
    names: dict = {}
    for block in blocks:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(block, str(page), "exec", dont_inherit=True), names)
        assert output.getvalue().splitlines() == printed_claims(block)
        for line in block.splitlines():
            found = CLAIM.match(line)
            if found:
                value = eval(found["name"] or found["expression"], names)
                got = value if isinstance(value, bool) else np.shape(value)
                assert str(got) == found["claim"], line
