"""The header of exported code: what it computes, from what, and what it costs."""

from __future__ import annotations

from textwrap import wrap

from appell import __version__
from appell.compile.lower import REALS
from appell.export.body import declared, parameters
from appell.export.subject import Subject


def header(of: Subject, stack: int, made_as: str) -> str:
    """``name.h``."""
    real, guard = REALS[of.dtype], of.name.upper()
    lines = [
        f"/* {of.name}",
        " *",
        *_told(_harmless(of.about)),
        " *",
        *_arrays("in ", of.tape.inputs),
        *_arrays("out", of.tape.outputs),
        " *",
        *_told(
            "Matrices are row by row, units SI and radians. Arrays must not overlap. It needs no "
            "memory and no library and keeps nothing, so that any thread or interrupt may call it."
        ),
        *_told(f"{of.operations}. Stack: at most {stack} bytes. {made_as}"),
        f" * Written by Appell {__version__}. */",
        f"#ifndef {guard}_H",
        f"#define {guard}_H",
        "",
        f"#define {guard}_STACK {stack}",
        "",
        "#if defined(__cplusplus)",
        'extern "C" {',
        "#endif",
        "",
        *declared(of.name, parameters(of.tape, real, ""), ";"),
    ]
    if of.constants:
        lines += ["", "/* The state to start with, and the robot's or the law's own values. */"]
    lines += [f"extern const {real.name} {x}[{len(v)}];" for x, v in of.constants.items()]
    lines += ["", "#if defined(__cplusplus)", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _arrays(label: str, shapes: dict[str, tuple[int, ...]]) -> list[str]:
    named = [x + "".join(f"[{n}]" for n in shape or (1,)) for x, shape in shapes.items()]
    return [f" * {label} {', '.join(named)}"]


def _told(text: str) -> list[str]:
    return [f" * {line}" for line in wrap(text, 96)]


def _harmless(text: str) -> str:
    """Within a comment, whatever a robot is called."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\\", "/").replace("??", "? ?")
