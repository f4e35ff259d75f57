"""``appell.export.c``: an equation as dependency-free C99."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from appell.compile.lower import REALS
from appell.errors import AppellError
from appell.export.body import FunctionBody, literal
from appell.export.header import header
from appell.export.runtime import filled, runtime, template
from appell.export.selftest import selftest
from appell.export.subject import Subject, subject
from appell.export.whole_folder import place_of, write

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

    The code takes no memory and calls no library; it gives the kernel's results bit for bit.

    Args:
        what: A robot, a law or a kernel.
        folder: Where to write; one with other files in it is refused.
        quantity: Of a robot, as in ``robot.kernel``.
        name: Of the C function; `usual_name` without it.
        dtype: "float64" or "float32"; float64, or the kernel's own, without it.
        seed: Draws the self-test's states.
        **options: Those of ``robot.kernel``; ``gains=True`` of a law, whose gains are then inputs.

    Returns:
        An `Exported`: the files, and what they cost.

    Examples:
        >>> done = appell.export.c(appell.load("two_link"), tmp / "c", "inverse_dynamics")
        >>> done.name, any(file.suffix == ".h" for file in done.files)
        ('two_link_inverse_dynamics', True)
    """
    place = place_of(folder)
    of = subject(what, quantity, name, dtype, options)
    body = FunctionBody(of.tape, REALS[of.dtype], of.name)
    made_as = "Compile it with any C99 compiler, without -ffast-math."
    files = {
        f"{of.name}.h": header(of, body.stack, made_as),
        f"{of.name}.c": _source(of, body),
        f"{of.name}_test.c": selftest(of, seed),
    }
    files |= guides("README.md", {"NAME": of.name, "CODE": f"{of.name}.c", "COMPILER": ""})
    paths = write(place, of.name, files)
    return Exported(of.name, of.dtype, "c", place, paths, of.operations, body.stack)


def guides(readme: str, told: Mapping[str, str]) -> dict[str, str]:
    """How to build the self-test: a Makefile, and a README from a template."""
    return {"Makefile": template("Makefile", told), "README.md": template(readme, told)}


def _source(of: Subject, body: FunctionBody) -> str:
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


PAPER = {"Pentium, 150 MHz": 0.225e-3, "Pentium II, 350 MHz": 0.061e-3}


def seconds_per_step(exported: Exported) -> float | None:
    """The self-test's time, compiled by $CC or cc with -O2; None if there is no compiler."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if not compiler or not shutil.which(compiler[0]):
        return None
    sources = [str(path.resolve()) for path in exported.files if path.suffix == ".c"]
    with TemporaryDirectory(prefix="appell-export-") as folder:
        program = str(Path(folder) / "test")
        flags = ["-std=c99", "-O2", "-DTIMING", "-o", program]
        _run([*compiler, *flags, *sources])
        told = _run([program]).splitlines()[-1]
    return float(told.split()[0]) * 1e-9


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        told = (done.stderr or done.stdout).strip()
        raise AppellError(f"{command[0]} failed with status {done.returncode}: {told}")
    return done.stdout
