"""Every public name is in the reference with arguments, returns, units and an example, which runs.

What a quantity's unit is stands after a comma, as in "Speeds, (..., nv), rad/s or m/s."; what has
none says "no unit".
"""

from __future__ import annotations

import doctest
import inspect
import pydoc
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import appell
from appell.robots.registry import makers

PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference").glob("*.md"))
TEXT = "\n".join(page.read_text() for page in PAGES)
LISTED = set(re.findall(r"(?m)^::: (\S+)$", TEXT))
BLOCKS = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
MODULES = (
    "appell", "appell.inertia", "appell.walls", "appell.simulation", "appell.robots.closed",
    "appell.control", "appell.rig", "appell.identify", "appell.export", "appell.study",
    "appell.papers", "appell.learning",
)  # fmt: skip
ELSEWHERE = {
    "appell.robots.closed.close": "appell.close",
    "appell.simulation.simulate": "appell.simulate",
}


def module(path):
    return appell.inertia if path == "appell.inertia" else import_module(path)


NAMES = {
    f"{path}.{name}": getattr(module(path), name)
    for path in MODULES
    for name in module(path).__all__
    if not inspect.ismodule(getattr(module(path), name))
}
THINGS = {path: x for path, x in NAMES.items() if inspect.isclass(x) or inspect.isroutine(x)}
OTHERS = {
    path: x
    for path, x in THINGS.items()
    if path not in ELSEWHERE and not (inspect.isclass(x) and issubclass(x, Exception))
}
FUNCTIONS = {path: x for path, x in OTHERS.items() if inspect.isroutine(x)}
CLASSES = {path: x for path, x in OTHERS.items() if inspect.isclass(x)}


def own(cls):
    """Public methods and properties that Appell wrote, by name."""
    for name in dir(cls):
        homes = [c.__module__ for c in cls.__mro__ if name in vars(c)]
        if not name.startswith("_") and homes and homes[0].startswith("appell"):
            yield name, inspect.getattr_static(cls, name)


# Classes whose objects users get, and do not make: they are on a page by where they live.
APART = sorted(LISTED - {*NAMES})
HANDED_OUT = {path: cls for path in APART if inspect.isclass(cls := pydoc.locate(path))}
DESCRIBED = CLASSES | HANDED_OUT
METHODS = {
    f"{path}.{name}": getattr(cls, name)
    for path, cls in DESCRIBED.items()
    for name, x in own(cls)
    if callable(getattr(cls, name)) and not isinstance(x, property) and not inspect.isclass(x)
}
PROPERTIES = {
    f"{path}.{name}": x
    for path, cls in DESCRIBED.items()
    for name, x in own(cls)
    if isinstance(x, property | cached_property)
}


def examples():
    """Those of public names and their methods, each once, by where they stand."""
    finder = doctest.DocTestFinder(exclude_empty=True, recurse=False)
    found, known = {}, set()
    for path, thing in (THINGS | HANDED_OUT | METHODS).items():
        for test in finder.find(thing, path, module=False):
            if test.examples and path not in ELSEWHERE and test.docstring not in known:
                known.add(test.docstring)
                found[test.name] = test
    return found


EXAMPLES = examples()
SHOWN = BLOCKS + "".join(x.source + x.want for test in EXAMPLES.values() for x in test.examples)


def test_every_module_with_public_names_is_looked_at():
    known = {name for name in appell.__all__ if inspect.ismodule(getattr(appell, name))}
    assert {f"appell.{name}" for name in known} <= {*MODULES, "appell.robots"}


def test_every_public_name_is_on_a_page_by_the_path_one_types():
    assert {ELSEWHERE.get(path, path) for path in NAMES} - LISTED == set()


def test_every_robot_of_the_library_is_on_a_page():
    assert {f"{make.__module__}.{make.__name__}" for make in makers().values()} - LISTED == set()


def test_every_method_of_a_robot_is_on_a_page():
    assert {f"appell.Robot.{name}" for name, _ in own(appell.Robot)} - LISTED == set()


@pytest.mark.parametrize("path", FUNCTIONS)
def test_a_function_tells_its_arguments_and_what_it_returns_and_has_an_example(path):
    signature, text = inspect.signature(FUNCTIONS[path]), inspect.getdoc(FUNCTIONS[path])
    for name in signature.parameters:
        assert re.search(rf"(?m)^    \**{name}: \S", text), f"nothing is said of {name}"
    assert signature.return_annotation == "None" or "\nReturns:\n" in text
    assert path in EXAMPLES


@pytest.mark.parametrize("path", CLASSES)
def test_a_class_tells_what_it_is_and_is_in_an_example(path):
    cls, name = CLASSES[path], path.rpartition(".")[2]
    text = inspect.getdoc(cls) or ""
    assert text[:1].isupper()
    fields = re.search(r"(?m)^    \w+(: [^=#\n]+)?( = [^#\n]+)?  # \S", inspect.getsource(cls))
    assert fields or re.search(r"\n(Args|Attributes):\n", text) or name in WITHOUT_ARGUMENTS
    assert re.search(rf"\b{name}\b", SHOWN) or name in RETURNED


# Made by others: by a function that is there, or by a user as a subclass.
RETURNED = {"Exceeded", "Impact", "Linear", "Margins", "Regulator", "Wall"}
WITHOUT_ARGUMENTS = {"ClosedRobot", "Hardware", "Report", "SphericalRobot", "State", "Trajectory"}


def test_every_method_has_a_docstring_and_is_in_an_example():
    missing = {path for path, x in METHODS.items() if not inspect.getdoc(x)}
    unseen = {path for path in METHODS if not re.search(rf"\b{path.rpartition('.')[2]}\(", SHOWN)}
    unseen = {path for path in unseen if path.rpartition(".")[0] in CLASSES}
    assert missing == set()
    assert {x for x in unseen if not inner(x)} == set()


# What closing a robot asks of its constraints and their places, what pydantic adds, and the
# equations of laws, whose arguments appell.control.Law and the page on control tell; what needs a
# graphics card.
INNER = re.compile(
    r"robots\.closed\.\w+\.(check|on|position|velocity)|model_post_init|control\.\w+\.equation"
    r"|GpuKernel\.\w+|DeviceArray\.\w+"
)


def inner(path):
    return INNER.search(path) is not None


def parameters(x):
    """Those of a method or function, by name, without itself."""
    signature = inspect.signature(x)
    return {k: p for k, p in signature.parameters.items() if k not in ("self", "cls")}


TOLD = {path: x for path, x in METHODS.items() if parameters(x) and not inner(path)}


@pytest.mark.parametrize("path", TOLD)
def test_a_method_tells_its_arguments_and_what_it_returns_and_has_an_example(path):
    x, (home, _, name) = TOLD[path], path.rpartition(".")
    text = inspect.getdoc(x)
    for parameter in parameters(x):
        assert entry(text, parameter), f"nothing is said of {parameter}"
    assert "\nReturns:\n" in text or inspect.signature(x).return_annotation == "None"
    of_class = inspect.getdoc(DESCRIBED[home]).partition("\nExamples:\n")[2]
    refused = text.startswith("Refused: ")
    assert "\nExamples:\n" in text or re.search(rf"\b{name}\(", of_class + BLOCKS) or refused


def entry(text, name):
    """What a docstring says of an argument, or with "Returns" of what is returned."""
    if name == "Returns":
        found = re.search(r"(?ms)^Returns:\n(.+?)(?=^\S|\Z)", text)
    else:
        found = re.search(rf"(?ms)^    \**{name}: (\S.*?)(?=^ {{0,4}}\S|\Z)", text)
    return found and re.sub(r"\s+", " ", found[1])


NUMERIC = re.compile(r"\b(Numbers|ArrayLike|Array|float|Scalar)\b")
UNIT = re.compile(
    r"(?:, |in |of |and |or |: |\()(?:1/)?(?:rad|m|s|kg|N|J|V|µs|ohm|Hz|degrees|\(m)\b(?!\.\w)"
    r"|\bunits?\b|\b[Aa]s for\b|Another name for|\b0 to 1\b|\b[Pp]er\b|Refused"
)


@pytest.mark.parametrize("path", TOLD | FUNCTIONS)
def test_quantities_have_units(path):
    x = (TOLD | FUNCTIONS)[path]
    text = inspect.getdoc(x)
    quantities = {k: p.annotation for k, p in parameters(x).items()}
    quantities["Returns"] = inspect.signature(x).return_annotation
    for name, annotation in quantities.items():
        if NUMERIC.search(re.sub(r"Callable\[.*\]", "", str(annotation))):
            said = entry(text, name)
            assert UNIT.search(f", {said}"), f"{name}: {said}"


@pytest.mark.parametrize("path", PROPERTIES)
def test_a_property_tells_what_it_is_and_its_unit(path):
    x = PROPERTIES[path]
    text, get = inspect.getdoc(x), x.func if isinstance(x, cached_property) else x.fget
    assert text
    if NUMERIC.search(str(inspect.signature(get).return_annotation)):
        assert UNIT.search(f", {text}"), text


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_gives_what_it_says(name, tmp_path):
    test = EXAMPLES[name]
    test.globs = {"appell": appell, "np": np, "tmp": tmp_path}
    told: list[str] = []
    doctest.DocTestRunner().run(test, out=told.append)
    assert not told, "".join(told)


def test_pages_have_no_roles_of_another_language():
    for path, thing in (THINGS | METHODS).items():
        assert not re.search(r":\w+:`", inspect.getdoc(thing) or ""), path
