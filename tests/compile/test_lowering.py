"""Every emitter knows every primitive, and thereby every function: a new one is a table."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import appell
from appell.compile import instructions
from appell.compile.elementary import ROUTINES, routine
from appell.compile.emit import llvm
from appell.compile.emit.emitter import Emitter
from appell.compile.emit.trigonometry import two_over_pi
from appell.compile.fuse import fused
from appell.compile.lower import PRIMITIVES, REALS
from appell.compile.make import kernel_of
from appell.compile.native import fuses
from appell.compile.plan import Plan
from appell.compile.record import record
from appell.compile.tape import FUSED, LEAVES, Builder, Tape, _operations
from appell.export import body
from appell.maths.scalar import sign
from tests.export.compiled_c import same_bits
from tests.export.test_exported_arithmetic import exact

EMITTERS = {"LLVM": instructions.TABLE, "C": body.TABLE}


def _fma(x, y, c):
    """Rounded once: by fractions, which are exact."""

    def one(a, b, c):
        finite = np.isfinite([a, b, c]).all()
        return exact(float(a), float(b), float(c), x.dtype.name) if finite else a * b + c

    rows = zip(*np.broadcast_arrays(x, y, c), strict=True)
    return np.array([one(*row) for row in rows], x.dtype)


def _zeros(words):
    return np.array([64 - int(word).bit_length() for word in words], np.uint64)


NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt,
    "fma": _fma, "fms": lambda x, y, c: _fma(x, y, -c), "fnma": lambda x, y, c: _fma(-x, y, c),
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "not": np.logical_not,
    "nonzero": lambda x: x != 0, "select": np.where,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "plus": np.add, "minus": np.subtract, "times": np.multiply,
    "shl": np.left_shift, "shr": np.right_shift,
    "wide": lambda x: x.astype(np.uint64), "narrow": lambda x: x.astype(np.uint32),
    "zeros": _zeros,
}  # fmt: skip


class ByNumpy(Emitter):
    """An emitter whose values are arrays: it computes at once what others write."""

    def __init__(self, tape, dtype, inputs):
        super().__init__(tape, Plan(tape, 100))
        self.real, self.dtype = REALS[dtype], np.dtype(dtype)
        self.word = np.dtype(f"u{self.dtype.itemsize}")
        self.given = [np.reshape(x, (len(x), -1)) for x in inputs]
        self.made = [np.empty((len(inputs[0]), prod(s)), dtype) for s in tape.outputs.values()]
        self.memory = {}
        look = np.array(two_over_pi(self.real), np.uint64)
        self.table = NUMPY | {
            "bits": lambda x: x.view(self.word), "number": lambda x: x.view(self.dtype),
            "mask": lambda x: np.where(x, ~self.word.type(0), self.word.type(0)),
            "look": lambda k: look[k],
        }  # fmt: skip
        with np.errstate(all="ignore"):
            for number in range(len(self.plan.parts)):
                self.walk(number)

    def constant(self, x):
        return np.array([x], self.dtype)

    def whole(self, x, kind):
        return np.array([x], self.word if kind == "i" else np.uint64)

    def line(self, op, kind, operands, once=False):
        return self.table[op](*operands)

    def input(self, operand, element):
        return self.given[operand][:, element].copy()

    def keep(self, place):
        self.memory[self.plan.slots[place]] = self.names[place]

    def kept(self, place):
        return self.memory[self.plan.slots[place]]

    def store(self, window):
        for element, place in enumerate(window.places, start=window.first):
            self.made[window.operand][:, element] = self.value(place)

    def call(self, op, operands):
        return self.replay(routine(op, self.real), operands)

    def rare(self, condition, usual, mend):
        return mend() if np.any(condition) else usual


def functions(x, y):
    """One of each that a tape can have."""
    names = ("sin", "cos", "tan", "arctan", "exp", "sinh", "cosh", "tanh", "sqrt")
    some = [getattr(np, name)(x) for name in names]
    some += [np.arctan2(x, y), np.arcsin(y / 4), np.arccos(y / 4), np.log(abs(x)), abs(x) ** y]
    return [*some, sign(x), 1 / x, np.sin(np.cos(y)), np.exp(x) * y + 1 / y]


def one_of_each(dtype):
    inputs, outputs = {"x": (), "y": (), "unread": ()}, {"z": (18,)}
    tape = record(lambda x, y, _: functions(x, y), inputs, outputs)
    return kernel_of("each", tape, inputs, outputs, dtype=dtype)


def wrist(dtype):
    return appell.load("agile_wrist").kernel("bias", dtype=dtype)


def puma(dtype):
    return appell.load("puma560").kernel("inverse_dynamics", dtype=dtype)


@pytest.mark.parametrize("name", EMITTERS)
def test_an_emitter_knows_every_primitive(name):
    assert not PRIMITIVES.keys() - EMITTERS[name].keys()
    assert EMITTERS[name].keys() - PRIMITIVES.keys() <= {*FUSED, *ROUTINES}


def test_what_a_tape_can_have_is_a_primitive_or_a_routine():
    """Or it is made of others while recording."""
    known = {*PRIMITIVES, *ROUTINES, *FUSED, *LEAVES, "sin", "cos", "output"}
    rules = {op for op in _operations().values() if hasattr(Builder, op)}
    assert set(_operations().values()) <= known | rules
    for op in rules - known:
        builder = Builder()
        a, b = (builder.step("input", 0, k) for k in range(2))
        binary = op in ("div", "pow")
        builder.apply(op, a, *([b] if binary else []))
        assert {step.op for step in builder.steps} <= known


@pytest.mark.parametrize("real", REALS.values(), ids=REALS)
@pytest.mark.parametrize("op", ROUTINES)
def test_a_routine_is_made_of_primitives(op, real):
    of = routine(op, real)
    assert {step.op for step in of.steps} <= {*PRIMITIVES, *LEAVES}
    assert all(p < k for k, step in enumerate(of.steps) for p in step.operands)
    assert {*of.kinds} <= {*"riwc"}
    assert all(of.kinds[k] == "r" for k in of.results)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("kernel", [puma, wrist, one_of_each])
def test_a_new_emitter_is_a_table_and_gives_the_same_bits(kernel, dtype):
    made = kernel(dtype)
    draw = np.random.default_rng(2)
    inputs = [draw.uniform(-3, 3, (24, *shape)).astype(dtype) for shape in made.inputs.values()]
    inputs[0][:6] *= (dtype == "float64" and 1e20) or 1e7  # beyond the polynomials
    inputs[0][6].flat[-1] = np.nan
    inputs[0][7].flat[-1] = np.inf
    inputs[-1][8].flat[-1] = np.nan
    tape = fused(made.tape()) if fuses() else made.tape()
    by_numpy = ByNumpy(tape, dtype, inputs)
    with np.errstate(all="ignore"):
        expected = made(*inputs)
    assert np.isfinite(expected).all(axis=-1).sum() > 8
    assert np.isnan(expected).any(axis=-1).sum() > 1
    same_bits(by_numpy.made[0], expected.reshape(24, -1))


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("dtype", REALS)
def test_a_routine_may_be_written_in_place_or_called(dtype, monkeypatch):
    draw = np.random.default_rng(5)
    inputs = [draw.uniform(-3, 3, 61).astype(dtype) for _ in range(3)]
    results = []
    for inline in (10**9, -1):
        monkeypatch.setattr(llvm, "INLINE", inline)
        kernel = one_of_each(dtype)
        text = llvm.emit(kernel.tape(), dtype, 4)
        assert ("@exponential(" in text) == (inline < 0)
        with np.errstate(all="ignore"):
            results.append(kernel(*inputs))
    same_bits(*results)


def test_an_operation_without_a_compiled_form_is_named():
    import casadi

    x = casadi.SX.sym("x")
    function = casadi.Function("f", [x], [casadi.erf(x)])
    with pytest.raises(appell.InputError, match=f"operation {casadi.OP_ERF}"):
        Tape.from_casadi(function, {"x": ()}, {"y": ()})
