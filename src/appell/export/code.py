"""``appell.export.c``: an equation as dependency-free C99."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appell.compile.lower import REALS
from appell.export.body import Body, literal
from appell.export.folder import place_of, write
from appell.export.header import header
from appell.export.runtime import filled, runtime, template
from appell.export.selftest import selftest
from appell.export.subject import Subject, subject

if TYPE_CHECKING:
    from appell.compile.count import Operations


@dataclass(frozen=True)
class Exported:
    """What was written."""

    name: str  # of the function
    dtype: str
    target: str
    folder: Path
    files: tuple[Path, ...]
    operations: Operations
    stack: int  # bytes at most


def c(
    what: Any,
    folder: str | Path,
    quantity: str | None = None,
    *,
    name: str | None = None,
    dtype: Any = None,
    seed: int = 0,
    **options: Any,
) -> Exported:
    """Write a robot's equation, a law or a kernel as C99 with header and self-test.

    ``quantity`` and ``options`` are those of ``robot.kernel``, or ``gains=True`` of a law, whose
    gains are then inputs. The code takes no memory and calls no library; it gives the kernel's
    results bit for bit. ``seed`` draws the self-test's states. A folder with other files in it is
    refused.
    """
    place = place_of(folder)
    of = subject(what, quantity, name, dtype, options)
    body = Body(of.tape, REALS[of.dtype], of.name)
    made_as = "Compile it with any C99 compiler, without -ffast-math."
    files = {
        f"{of.name}.h": header(of, body.stack, made_as),
        f"{of.name}.c": _source(of, body),
        f"{of.name}_test.c": selftest(of, seed),
    }
    files |= guides("README.md", {"NAME": of.name, "CODE": f"{of.name}.c", "COMPILER": ""})
    return Exported(
        of.name, of.dtype, "c", place, write(place, of.name, files), of.operations, body.stack
    )  # fmt: skip


def guides(readme: str, told: Mapping[str, str]) -> dict[str, str]:
    """How to build the self-test: a Makefile, and a README from a template."""
    texts = {"Makefile": template("Makefile"), "README.md": template(readme)}
    for key, value in told.items():
        texts = {name: text.replace(f"@{key}@", value) for name, text in texts.items()}
    return texts


def _source(of: Subject, body: Body) -> str:
    real = REALS[of.dtype]
    constants = [
        f"const {real.name} {x}[{len(values)}] = "
        f"{{{', '.join(literal(real, value) for value in values)}}};\n"
        for x, values in of.constants.items()
    ]
    return "\n".join(
        [
            f'#include <stdint.h>\n\n#include "{of.name}.h"\n',
            runtime(body),
            *constants,
            body.text + filled("end", real),
        ]
    )
