"""Small pictures of text: the README's badges, from pyproject.toml, and a page of exported C."""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import appell
from appell.show.svg import element, text, whole

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_LETTER = 6.6  # pixels, of a letter of 11 pixels


def facts() -> dict[str, str]:
    """What the badges say, by their names."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    return {
        "version": appell.__version__,
        "licence": project["license"],
        "python": re.sub(r"^>=\s*([\d.]+)$", r"\1 or newer", project["requires-python"]),
    }


def badge(name: str, value: str) -> str:
    """A badge, as the text of an SVG file."""
    label = name.capitalize()
    left, right = (12 + _LETTER * len(x) for x in (label, value))
    clip = element("clipPath", element("rect", width=left + right, height=20, rx=4), id="round")
    boxes = element("rect", width=left, height=20, fill="#454d57")
    boxes += element("rect", x=left, width=right, height=20, fill="#2463a6")
    look = {"fill": "#ffffff", "text_anchor": "middle"}
    words = text(label, left / 2, 14, **look) + text(value, left + right / 2, 14, **look)
    return element(
        "svg", clip + element("g", boxes, clip_path="url(#round)") + words,
        xmlns="http://www.w3.org/2000/svg", role="img", aria_label=f"{label}: {value}",
        width=f"{left + right:g}", height=20, font_family="Verdana, DejaVu Sans, sans-serif",
        font_size=11,
    ) + "\n"  # fmt: skip


def badges() -> dict[str, str]:
    """The badges by the names of their files."""
    return {f"badge_{name}.svg": badge(name, value) for name, value in facts().items()}


def exported(lines: int = 9) -> str:
    """The end of a two-link arm's equations as C, as the text of an SVG file."""
    with TemporaryDirectory() as folder:
        appell.export.c(appell.load("two_link"), folder, "inverse_dynamics")
        source = max(Path(folder).glob("*.c"), key=lambda x: x.stat().st_size).read_text()
    code = source.splitlines()
    last = next(k for k, line in enumerate(code) if line.startswith("    tau[1]"))
    shown = [
        "void two_link_inverse_dynamics(q, v, a, tau)",
        "    ...",
        *code[last - lines : last + 2],
    ]
    drawn = "".join(
        text(line.replace(" ", "\N{NO-BREAK SPACE}"), 16, 28 + 18 * k)
        for k, line in enumerate(shown)
    )
    height = 28 + 18 * len(shown)
    return whole(
        element("svg", drawn, role="img", aria_label="Inverse dynamics as C",
                viewBox=f"0 0 420 {height}", font_family="ui-monospace, monospace",
                font_size=11)
    )  # fmt: skip
