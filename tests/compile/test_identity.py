"""What code is compiled from has a name of its own, or none; never another's."""

from __future__ import annotations

import os
import shutil
import sys
from copy import deepcopy
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path

import numpy as np
import pytest

import appell
from appell.compile import identity as identities
from appell.compile.identity import Unidentified, identity, is_current
from appell.equations import gibbs_lean, gibbs_tensor
from appell.equations.quantities import QUANTITIES
from appell.maths.vector import Vector
from appell.model.model import Joint
from appell.robots.closed import Custom
from appell.robots.closed.closed_system import CLOSED_QUANTITIES as CLOSED
from appell.walls import Plane

PACKAGE = Path(appell.__file__).parent
DYNAMICS = QUANTITIES["inverse_dynamics"].formulations
MODEL = appell.load("two_link").model

DIFFERENT = [
    None, 0, 0.0, -0.0, 1, True, 1.0, "1", b"1", "", (), [], {}, (1,), [1], (1, (1,)), ((1, 1),),
    ((1,), 1), {"a": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, ("a", "b"), ("a\0b",), "'a'",
    np.float64(1.0), np.zeros(2), np.zeros((2, 1)), np.zeros(2, "f4"),
    np.array([0.0, 1.0]), Vector(1, 2, 3), (1, 2, 3), Vector(1, 2, 3.0), Joint("a"), Joint("b"),
    MODEL, appell.load("two_link").with_gravity((0, 0, -9.8)).model,
    gibbs_lean.inverse_dynamics, gibbs_tensor.inverse_dynamics, *DYNAMICS.values(),
    *(CLOSED[x].formulations["gibbs_lean"] for x in ("motion", "motion_with_friction", "flow")),
    partial(gibbs_lean.gravity, MODEL), partial(gibbs_lean.gravity, model=MODEL),
    partial(gibbs_lean.gravity, MODEL, 1),
]  # fmt: skip


def test_different_things_have_different_names():
    by_name = {}
    for thing in DIFFERENT:
        by_name.setdefault(identity(thing), []).append(thing)
    assert [same for same in by_name.values() if len(same) > 1] == []


def test_equal_things_have_the_same_name():
    for thing in DIFFERENT:
        assert identity(deepcopy(thing)) == identity(thing)
    assert identity(appell.load("two_link").model) == identity(MODEL)


def test_names_are_the_same_in_every_process(fresh):
    program = (
        "import appell\n"
        "from appell.compile.identity import identity\n"
        "from appell.equations.quantities import QUANTITIES\n"
        "parts = QUANTITIES['inverse_dynamics'].formulations, appell.load('two_link').model\n"
        "print(int(identity(*parts), 16) % 2**50)\n"
    )
    here = int(identity(dict(DYNAMICS), MODEL), 16) % 2**50
    assert fresh(program) == [here]


@dataclass(frozen=True)
class Mine:
    x: float = 1.0

    def method(self):
        return self.x


class Plain(Plane):
    pass


def outer(value):
    def inner():
        return value

    return inner


def endless():
    held = []
    held.append(held)
    return held


namesake = type("Plane", (Plane,), {"__module__": "appell.walls"})


@pytest.mark.parametrize(
    "thing",
    [
        np.sin, print, outer, outer(1), lambda: 0, len, object(), type, sys, open, iter([]), {1, 2},
        Mine(), Mine().method, Mine, Plain((0, 1)), namesake((0, 1)), partial(outer, 1),
        wraps(gibbs_lean.gravity)(lambda *arguments: 0), partial(gibbs_lean.gravity, Mine()),
        Custom(lambda q, v: [v[0]]), np.array([object()]), np.float32(1), MODEL.frame,
        (1, [{"a": outer}]), endless(), QUANTITIES["friction"].default,
    ],
)  # fmt: skip
def test_what_others_wrote_has_no_name(thing):
    with pytest.raises(Unidentified):
        identity(thing)


def test_a_library_function_that_was_replaced_has_no_name(monkeypatch):
    plain = gibbs_lean.gravity

    @wraps(plain)
    def heavier(*arguments):
        return [2 * x for x in plain(*arguments)]

    monkeypatch.setattr(gibbs_lean, "gravity", heavier)
    with pytest.raises(Unidentified):
        identity(gibbs_lean.gravity)


def test_names_depend_on_every_file_of_the_source(copied, monkeypatch):
    monkeypatch.setattr(identities, "__file__", str(copied / "compile" / "identity.py"))
    source = identities.source_identity.__wrapped__
    whole = source()
    assert whole == identities.source_identity()
    hashes = set()
    for path in sorted(copied.rglob("*.py")):
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        hashes.add(source())
        path.write_bytes(text)
    assert len(hashes - {whole}) == len(list(PACKAGE.rglob("*.py")))
    (copied / "rig" / "new.py").write_text("")
    assert source() not in {whole, *hashes}


def test_source_that_is_changed_while_it_runs_is_not_what_runs(copied, monkeypatch):
    monkeypatch.setattr(identities, "__file__", str(copied / "compile" / "identity.py"))
    assert not is_current()  # it was copied after this process began
    monkeypatch.setattr(appell, "_imported", appell._imported + 1e6)
    assert is_current()
    path = copied / "walls.py"
    os.utime(path, (2e10, 2e10))
    assert not is_current()
    path.unlink()
    assert is_current()
    shutil.rmtree(copied)  # as in a program that was frozen into one file
    assert not is_current()
