"""Code is that of the source as it is now: edited between two processes that share a cache, or
changed within one. Walls, laws and constraints have more tests of this beside their own."""

from __future__ import annotations

import sys
from functools import wraps
from pathlib import Path

import numpy as np
import pytest

import appell
from appell.compile.fuse import fused
from appell.compile.make import kernel_of
from appell.control.laws.pd_gravity import pd_with_gravity
from appell.equations.energy import potential_energy
from appell.equations.quantities import QUANTITIES
from appell.equations.quantity import flow
from appell.walls import Plane

# The library's own source

PROGRAM = "import appell, numpy as np\nrobot = appell.load('two_link')\nx = np.array([0.3, 0.2])\n"
EDITS = {
    "equation": (
        potential_energy,
        "    return U\n",
        "    return 0 * U\n",
        "print(robot.potential_energy(x))",
    ),
    "law": (
        pd_with_gravity,
        "plus(gravity(model, q, formulation), pd(model, q, v, desired, kp, kd))",
        "pd(model, q, v, desired, kp, kd)",
        "print(*appell.control.PDGravity(robot)(x, x, x, x, x)[0])",
    ),
    "wall": (
        Plane,
        "c * z - self.offset",
        "c * z + 9",
        "side = appell.walls.Plane((1, 0), 0)\n"
        "print(len(appell.simulate(robot, x, [9, 0], until=0.5, walls=[side]).impacts))",
    ),
    "recording": (
        flow,
        "return [*dq, *a]",
        "return [*dq, *dq]",
        "print(*appell.simulate(robot, x, until=1e-3).v[-1])",
    ),
    "compiler": (
        fused,
        "    return Tape(tape.inputs, tape.outputs, kept, results)\n",
        "    kept = tuple(s._replace(a=0.0) if s.op == 'constant' else s for s in kept)\n"
        "    return Tape(tape.inputs, tape.outputs, kept, results)\n",
        "print(*robot.gravity(x))",
    ),
}


def edit(copied: Path, what: str) -> str:
    """The program whose numbers are zero from now on."""
    thing, text, other, program = EDITS[what]
    package = Path(appell.__file__).parent
    path = copied / Path(sys.modules[thing.__module__].__file__).relative_to(package)
    assert path.read_text().count(text) == 1
    path.write_text(path.read_text().replace(text, other))
    return PROGRAM + program


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_source_runs(copied, fresh, what):
    assert np.abs(fresh(PROGRAM + EDITS[what][-1])).min() > 0
    assert not np.any(fresh(edit(copied, what)))


def test_source_that_is_edited_while_a_process_runs_is_the_new_one_in_the_next(copied, fresh):
    """The first has read the file before the edit, and hashes it after."""
    thing, text, other, last = EDITS["equation"]
    path = copied / Path(sys.modules[thing.__module__].__file__).relative_to(
        Path(appell.__file__).parent
    )
    editing = f"""
from pathlib import Path
path = Path({str(path)!r})
path.write_text(path.read_text().replace({text!r}, {other!r}))
"""
    (before,) = fresh(PROGRAM + editing + last)
    assert before != 0
    assert fresh(PROGRAM + last) == [0]


# An equation that a user wrote

KERNEL = """
import mine
from appell.compile.make import kernel_of
kernel = kernel_of("scaled", mine.equation, {"x": (2,)}, {"y": (2,)})
print(*kernel([1.0, 2.0]), kernel.cached)
""".replace("kernel.cached", "int(kernel.cached)")
FORMULATION = """
import appell, mine
from appell.equations.quantities import QUANTITIES
QUANTITIES["gravity"].formulations["mine"] = mine.gravity
robot = appell.load("two_link")
print(*robot.kernel("gravity", formulation="mine")([0.3, 0.2]))
"""
SOURCES = {
    "function": "def equation(x):\n    return [{k} * y for y in x]\n",
    "variable": "k = {k}\ndef equation(x):\n    return [k * y for y in x]\n",
    "closure": """
def scaled(k):
    def equation(x):
        return [k * y for y in x]
    return equation
equation = scaled({k})
""",
    "default": "def equation(x, k={k}):\n    return [k * y for y in x]\n",
    "partial": """
from functools import partial
def scaled(k, x):
    return [k * y for y in x]
equation = partial(scaled, {k})
""",
    "class attribute": """
class Scaled:
    k = {k}
    def __call__(self, x):
        return [self.k * y for y in x]
equation = Scaled()
""",
    "method of a base": """
class Base:
    def k(self):
        return {k}
class Scaled(Base):
    def equation(self, x):
        return [self.k() * y for y in x]
equation = Scaled().equation
""",
    "wrapped": """
from functools import wraps
from appell.maths.scalar import sin
def scaled(function):
    @wraps(function)
    def equation(x):
        return [{k} * y for y in x]
    return equation
equation = scaled(sin)
""",
    "file": """
from pathlib import Path
def equation(x):
    return [float(Path(__file__).read_text().split("# ")[-1]) * y for y in x]
# {k}
""",
}


@pytest.mark.parametrize("what", SOURCES)
def test_an_equation_that_is_edited_is_the_new_one(fresh, what):
    found = [fresh(KERNEL, mine=SOURCES[what].format(k=k)) for k in (3.0, 5.0, 3.0)]
    assert found == [[3, 6, 0], [5, 10, 0], [3, 6, 1]]  # and code for the same one is found again


def test_a_formulation_that_is_edited_is_the_new_one(fresh):
    source = "def gravity(model, q):\n    return [{k} * x for x in q]\n"
    for k in (1.0, 2.0):
        assert fresh(FORMULATION, mine=source.format(k=k)) == pytest.approx([0.3 * k, 0.2 * k])


FACTOR = 1.0


class Scaled:
    factor = 1.0

    def times(self, x):
        return [self.factor * y for y in x]


def test_an_equation_that_changes_within_a_process_is_the_new_one(monkeypatch):
    factor, scaled = 1.0, Scaled()

    def of_closure(x):
        return [factor * y for y in x]

    def of_variable(x):
        return [FACTOR * y for y in x]

    @wraps(potential_energy)
    def of_wrapper(x):
        return of_closure(x)

    def results():
        for equation in (of_closure, of_variable, of_wrapper, scaled.times):
            kernels.append(kernel_of("same", equation, {"x": (2,)}, {"y": (2,)}))
            yield kernels[-1]([1.0, 2.0]).tolist()

    kernels = []  # all of them stay in use
    assert [*results()] == [[1, 2]] * 4
    factor = 2.0
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    monkeypatch.setattr(Scaled, "factor", 2.0)
    assert [*results()] == [[2, 4]] * 4
    assert [kernel([1.0, 2.0]).tolist() for kernel in kernels] == [[1, 2]] * 4 + [[2, 4]] * 4


def test_a_formulation_that_changes_within_a_process_is_the_new_one(monkeypatch):
    quantity, robot = QUANTITIES["gravity"], appell.load("two_link")
    found = []
    for k in (1.0, 2.0):
        monkeypatch.setitem(quantity.formulations, "mine", lambda model, q, k=k: [k * x for x in q])
        kernel = appell.Robot(robot.model).kernel("gravity", formulation="mine")
        found.append((kernel, kernel([0.3, 0.2]).tolist()))
    assert [forces for _, forces in found] == [[0.3, 0.2], [0.6, 0.4]]


# What is the same is found

COUNTED = """
from appell.compile.tape import Tape
tapes, plain = [], Tape.from_casadi
def from_casadi(*arguments):
    tapes.append(plain(*arguments))
    return tapes[-1]
Tape.from_casadi = from_casadi
"""
FOUND = {
    "robot": "[getattr(robot, f)(*[x] * 3) for f in ('inverse_dynamics', 'forward_dynamics')]\n"
    "robot.kernel('jacobian', frame='link1', wrt='q', parameters=True, dtype='float32')",
    "law": "law = appell.control.TrackingIntegral(robot)\nlaw(x, x, x, x, x), law.kernel()",
    "closed": "appell.load('four_bar').kernel('forward_dynamics')",
    "wrist": "appell.load('agile_wrist').kernel('inverse_dynamics', wrt='q')",
    "kinematics": "appell.control.closed_form(appell.load('puma560'))",
    "simulation": "floor = appell.walls.Plane((0, 1), -1)\n"
    "appell.simulate(robot, x, until=0.1, walls=[floor], stops=True)",
    "implicit wall": "floor = appell.walls.Implicit(lambda x, y, z: y + 1, inside=False)\n"
    "appell.simulate(robot, x, until=0.1, walls=[floor])",
    "friction": "law = appell.control.PDGravity(robot)\n"
    "friction = appell.control.Friction(coulomb=1.0)\n"
    "appell.control.track(robot, law, x, until=0.05, friction=friction)",
    "identification": "from appell.identify.base.entries import entries\n"
    "entries(robot, (0, 9), False, False)",
    "rig": "from appell.rig.controller.observer import observing, unseen\n"
    "observing(2), unseen(robot.model)",
    "paper": "from appell.papers.abedloo2014_simulator import Simulator\n"
    "Simulator(appell.load('agile_wrist').model)",
}


@pytest.mark.parametrize("what", FOUND)
def test_a_process_finds_the_code_of_the_one_before(fresh, what):
    """Without recording any of it again."""
    program = f"{COUNTED}{PROGRAM}{FOUND[what]}\nprint(len(tapes))"
    (first,), (second,) = fresh(program), fresh(program)
    assert first > 0
    assert second == 0


def test_known_code_is_run_without_recording_or_llvm(fresh):
    program = (
        f"{PROGRAM}robot.inverse_dynamics(x, x, x)\nimport sys\n"
        "print(*(int(name in sys.modules) for name in ('casadi', 'llvmlite')))"
    )
    assert fresh(program) == [1, 1]
    assert fresh(program) == [0, 0]


# What takes long to import, and no kernel needs. ``numpy`` is there first: its older versions
# import ``numpy.random`` themselves.
HEAVY = ("numpy.random", "scipy", "lxml", "pydantic", "casadi", "llvmlite")
OTHER_ROBOTS = ("free_chain", "planar", "random", "spherical_robots", "stanford", "tree")


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_known_code_of_a_loaded_robot_imports_little(fresh, target):
    program = (
        "import sys, numpy as np\nbefore = set(sys.modules)\nimport appell\n"
        "robot = appell.load('puma560')\n"
        f"kernel = robot.kernel('forward_dynamics', target={target!r})\n"
        f"kernel(*np.ones((3, 4, 6))) if {target == 'cpu'} else None\n"
        "new = set(sys.modules) - before\n"
        f"print(*(int(x in new) for x in {HEAVY}))\n"
        f"print(*(int('appell.model.library.' + x in new) for x in {OTHER_ROBOTS}))"
    )
    fresh(program)
    assert fresh(program) == [0] * (len(HEAVY) + len(OTHER_ROBOTS))
