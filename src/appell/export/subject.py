"""What is exported: a robot's equation, a law, or any kernel."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.elementary import ROUTINES
from appell.compile.fuse import fused
from appell.compile.kernel import Kernel
from appell.compile.make import kernel_of
from appell.compile.native import fuses
from appell.control.laws.law import Law
from appell.errors import InputError

_LANGUAGE = """auto break case char const continue default do double else enum extern float for goto
if inline int long register restrict return short signed sizeof static struct switch typedef union
unsigned void volatile while main"""
_CODE = """INSTRUCTION HAS_FMA FMA_BY_PRAGMA NOINLINE Either Pair Wide bits_of fused kept
leading_zeros magnitude number_of rounded shifted_left shifted_right split square_root two_over_pi
zeros_before"""
_TEST = "compare largest place"
_LIBRARY = """abort abs atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv
llabs lldiv malloc mblen mbstowcs mbtowc qsort rand realloc srand strtod strtof strtol strtold
strtoll strtoul strtoull system wcstombs wctomb clearerr fclose feof ferror fflush fgetc fgetpos
fgets fopen fprintf fputc fputs fread freopen fscanf fseek fsetpos ftell fwrite getc getchar gets
perror printf putc putchar puts remove rename rewind scanf setbuf setvbuf snprintf sprintf sscanf
stderr stdin stdout tmpfile tmpnam ungetc vfprintf vfscanf vprintf vscanf vsnprintf vsprintf
vsscanf memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strerror
strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtok strxfrm asctime clock ctime
difftime gmtime localtime mktime strftime time isalnum isalpha isblank iscntrl isdigit isgraph
islower isprint ispunct isspace isupper isxdigit tolower toupper localeconv longjmp raise setjmp
setlocale signal"""
_MATHEMATICS = """acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp
exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log
log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo
rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc"""

_ROUTINES = {function.__name__ for function in ROUTINES.values()}
TAKEN = {*_LANGUAGE.split(), *_CODE.split(), *_ROUTINES}  # for whatever it is
OF_FUNCTIONS = {
    *_TEST.split(),
    *_LIBRARY.split(),
    *(name + kind for name in _MATHEMATICS.split() for kind in ("", "f", "l")),
}  # for a function, besides

if TYPE_CHECKING:
    from appell.compile.count import Operations
    from appell.compile.tape import Tape

USUAL = "inverse_dynamics"
_STATES = 16
_LONGEST = 63  # characters of a name


@dataclass(frozen=True)
class Subject:
    """An equation under the name of its C function, with arrays of numbers that go with it."""

    name: str
    about: str
    kernel: Kernel
    tape: Tape  # fused
    operations: Operations
    constants: dict[str, list[float]]

    @property
    def dtype(self) -> str:
        return self.kernel.dtype.name

    def examples(self, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Random states, and the kernel's results there."""
        draw = np.random.default_rng(seed)
        kernel = self.kernel if fuses() else self._fused_kernel()
        tried = {x: self._drawn(x, shape, draw) for x, shape in kernel.inputs.items()}
        given = {x: values.astype(self.dtype) for x, values in tried.items()}
        with np.errstate(all="ignore"):
            results = kernel(*given.values())
        many = results if len(kernel.outputs) > 1 else (results,)
        made = dict(zip(kernel.outputs, many, strict=True))
        finite = np.ones(len(next(iter(made.values()))), bool)
        for y in made.values():
            finite &= np.isfinite(y).reshape(len(y), -1).all(axis=1)
        chosen = np.argsort(~finite, kind="stable")[:_STATES]
        return {x: y[chosen] for x, y in given.items()}, {x: y[chosen] for x, y in made.items()}

    def _drawn(self, name: str, shape: tuple[int, ...], draw: np.random.Generator) -> Any:
        count = 4 * _STATES
        if name == "period":
            return draw.uniform(1e-3, 1e-2, (count, *shape))
        if name in self.kernel.defaults:
            return self.kernel.defaults[name] * draw.uniform(0.9, 1.1, (count, *shape))
        return draw.uniform(-2, 2, (count, *shape))

    def _fused_kernel(self) -> Kernel:
        """Where the processor does not fuse, kernels do not: this one does, slowly."""
        shapes = self.tape.inputs, self.tape.outputs
        return kernel_of(self.name, self.tape, *shapes, dtype=self.dtype)


def subject(
    what: Any, quantity: str | None, name: str | None, dtype: Any, options: dict[str, Any]
) -> Subject:
    """The equation that is meant, recorded."""
    from appell.compile.count import count

    kernel, constants = _kernel(what, quantity, dtype, options)
    label = usual_name(what, quantity) if name is None else c_name(name, given=True)
    recorded = kernel.tape()
    for x in (*recorded.inputs, *recorded.outputs):
        _refuse_unspeakable("input or output", x)
    both = set(recorded.inputs) & set(recorded.outputs)
    if both:
        raise InputError(f"{label}: {min(both)} is the name of an input and of an output.")
    return Subject(
        label,
        kernel.doc or kernel.name,
        kernel,
        fused(recorded),
        count(recorded),
        {f"{label}_{x}": values for x, values in constants.items()},
    )


def usual_name(what: Any, quantity: str | None = None) -> str:
    """The name of the C function if none is given.

    Args:
        what: A robot, a law or a kernel.
        quantity: Of a robot.

    Returns:
        The name.

    Examples:
        >>> appell.export.usual_name(appell.load("two_link"), "gravity")
        'two_link_gravity'
    """
    if isinstance(what, Kernel):
        return c_name(what.name, given=False)
    if isinstance(what, Law):
        return c_name(f"{what.robot.name}_{type(what).__name__}", given=False)
    return c_name(f"{what.name}_{quantity or USUAL}", given=False)


def _kernel(
    what: Any, quantity: str | None, dtype: Any, options: dict[str, Any]
) -> tuple[Kernel, dict[str, list[float]]]:
    """The kernel, and numbers that go with it."""
    if isinstance(what, Kernel):
        if quantity is not None or dtype is not None or options:
            raise InputError("a kernel is exported as it is; leave out quantity, dtype and others.")
        return what, _defaults(what)
    kind = "float64" if dtype is None else dtype
    if isinstance(what, Law):
        if quantity is not None:
            raise InputError(f"quantity={quantity!r}: a law is exported as it is; leave it out.")
        _only(options, ("gains",), "a law")
        kernel = what.kernel(dtype=kind, **options)
        numbers = {"initial": what.initial.tolist()} if what.nstate else {}
        return kernel, numbers | _defaults(kernel)
    if not hasattr(what, "kernel"):
        raise InputError(
            f"export of {what!r}: expected a robot, a law or a kernel; appell.load gives a robot."
        )
    _only(options, ("formulation", "frame", "parameters", "wrt", "regroup"), "a robot")
    kernel = what.kernel(quantity or USUAL, dtype=kind, **options)
    return kernel, _defaults(kernel)


def _defaults(kernel: Kernel) -> dict[str, list[float]]:
    return {x: np.ravel(values).tolist() for x, values in kernel.defaults.items()}


def _only(options: dict[str, Any], known: tuple[str, ...], whose: str) -> None:
    for option in options:
        if option not in known:
            raise InputError(
                f"{option}={options[option]!r}: export of {whose} takes {', '.join(known)}."
            )


def c_name(name: str, *, given: bool) -> str:
    """A name of a C function; one that is not given is made to fit."""
    if not isinstance(name, str):
        raise InputError(f"name={name!r}: expected a text, a name for C.")
    if not given:
        name = re.sub(r"\W", "_", name, flags=re.ASCII)
        name = (name if re.match(r"[A-Za-z]", name) else f"robot_{name}")[:_LONGEST]
    _refuse_unspeakable("name", name, TAKEN | OF_FUNCTIONS)
    return name


def _refuse_unspeakable(what: str, name: str, taken: Set[str] = TAKEN) -> None:
    fits = re.fullmatch(rf"[A-Za-z][A-Za-z0-9_]{{0,{_LONGEST - 1}}}", name)
    if not fits or name in taken or re.fullmatch(r"x\d+", name):
        raise InputError(
            f"{what}={name!r}: expected a name for C: letters, digits and underscores, "
            f"{_LONGEST} at most, a letter first; no word of C or function of its library, and "
            "none that the code itself uses."
        )
