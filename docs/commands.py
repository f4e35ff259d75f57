"""Writes docs/commands.md from the commands themselves: python docs/commands.py"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from typer.main import get_command

from appell.cli import app

PAGE = Path(__file__).with_suffix(".md")

HEAD = """# Commands

`appell COMMAND --help` (or `-h`) prints what is on this page; `python docs/commands.py` makes it.

- The robot is always the first argument: a name that `appell list` knows, or the path of a `.urdf`
  file.
- `--loops FILE` closes the loops of a `.urdf` file, wherever robots with loops are taken.
- `-o`, `--output` names what is written. What is there already is never overwritten: a number is
  added to the name, or a file that would be replaced is refused. `--force` replaces what is there.
- `-q`, `--quiet` prints only the paths of what was written (or names, where nothing is); `-v`,
  `--verbose` prints more. `--json` prints one JSON document for programs, in SI units, and nothing
  else, on the standard output; notes and warnings go to the standard error output.
- Positions are in degrees on the command line, and in m for joints that slide; so are speeds and
  accelerations, per s and s^2. In files they are in rad and m, unless the name of a column says
  otherwise: `q1 [deg]`.
- Motions are CSV files with named columns: `t`, `q1`, ..., and perhaps `v1`, ..., `a1`, ...,
  `tau1`, .... What `appell run` and `appell identify excite` write, `appell control follow` moves
  along, and `appell identify fit` reads.
- The status is 0 if all went well, 1 if the result is not what it should be (a fault, a row out of
  bounds), 2 for what was refused, 130 after Ctrl-C. What was done until Ctrl-C is kept where
  useful, and marked as incomplete.
- `appell --install-completion` lets the shell complete commands, options, and values: robots,
  laws, papers, and files of the right kind.
"""


def commands(command: Any, path: str = "") -> dict[str, Any]:
    """All commands by what one types, without groups."""
    if not hasattr(command, "commands"):
        return {path: command}
    found: dict[str, Any] = {}
    for name in command.list_commands(None):  # as help lists them
        found |= commands(command.commands[name], f"{path} {name}".strip())
    return found


def examples(command: Any) -> list[str]:
    """The examples at the end of a command's help."""
    return (command.epilog or "").removeprefix("Example: ").split("; ")


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for path, command in commands(get_command(app)).items():
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
        usage = " ".join(["appell", path, *map(_metavar, arguments), "[OPTIONS]"])
        parts.append(f"## appell {path}\n\n    {usage}\n")
        parts.append(re.sub(r"\s+", " ", command.help or "").strip() + "\n")
        rows = [(f"`{_metavar(p)}`", p) for p in arguments]
        rows += [(", ".join(f"`{x}`" for x in p.opts + p.secondary_opts), p) for p in options]
        if rows:
            parts.append("| argument or option | meaning |\n| --- | --- |")
            parts.append("\n".join(f"| {name} | {_meaning(p)} |" for name, p in rows) + "\n")
        parts.append("\n".join(f"    {line}" for line in examples(command) if line) + "\n")
    return "\n".join(parts)


def _metavar(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _meaning(parameter: Any) -> str:
    text = (getattr(parameter, "help", None) or "").replace("|", r"\|").replace(r"\[", "[")
    default = parameter.default
    if isinstance(default, bool) or default in (None, "", (), []) or callable(default):
        return text
    return f"{text} (default: {default})"


if __name__ == "__main__":
    PAGE.write_text(page())
