"""Exported C, compiled by gcc, is the kernel bit for bit, and needs nothing else."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

import appell
from appell import export
from appell.compile.elementary import ROUTINES
from appell.compile.kernel import Kernel
from appell.compile.make import kernel_of
from appell.maths.scalar import sqrt
from tests.compile.test_lowering import one_of_each
from tests.export.compiled_c import STRICT, Compiled, gcc, results, same_bits, shared, states

FLAGS = [
    ("-O0",),
    ("-O2",),
    ("-O3", "-march=native", "-std=gnu17", "-ffp-contract=fast"),
    ("-O2", "-DAPPELL_NO_FMA"),
]


def puma() -> appell.Robot:
    return appell.load("puma560")


def closed_law() -> appell.control.Law:
    return appell.control.ComputedTorque(appell.load("planar_3rrr"))


SUBJECTS = {
    "forward dynamics": lambda: puma().kernel("forward_dynamics"),
    "three outputs": lambda: puma().kernel("inverse_dynamics_derivatives", dtype="float32"),
    "a scalar": lambda: puma().kernel("kinetic_energy"),
    "robot's numbers as inputs": lambda: puma().kernel("gravity", parameters=["mass", "gravity"]),
    "a free base": lambda: appell.load("ten_link_tree").kernel("inverse_dynamics"),
    "square roots": lambda: appell.load("agile_wrist").kernel("inverse_dynamics"),
    "square roots, float32": lambda: appell.load("agile_wrist").kernel("bias", dtype="float32"),
    "loops": lambda: appell.load("five_bar").kernel("forward_dynamics"),
    "arctangents": lambda: appell.control.closed_form(puma()),
    "signs": lambda: appell.control.SlidingMode(puma()).kernel(gains=True),
    "a state": lambda: appell.control.TrackingIntegral(puma()).kernel(),
    "a law of a closed robot": lambda: closed_law().kernel(),
    "a law of a wrist": lambda: appell.control.Tracking(appell.load("agile_wrist")).kernel(),
    "a long law": lambda: appell.control.Adaptive(puma()).kernel(gains=True),
    "every function": lambda: one_of_each("float64"),
    "every function, float32": lambda: one_of_each("float32"),
}


def agrees(kernel, folder, flags, count=1000):
    made = export.c(kernel, folder, name="f")
    compiled = Compiled(shared(made.folder / "f.c", *flags), "f", kernel)
    inputs = states(kernel, count)
    for x, y in zip(compiled(*inputs), results(kernel, inputs), strict=True):
        same_bits(x, y)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_pumas_inverse_dynamics_is_the_kernels_however_it_is_compiled(tmp_path, dtype, flags):
    agrees(puma().kernel("inverse_dynamics", dtype=dtype), tmp_path, flags)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_anything_that_a_kernel_computes_is_the_same_in_c(tmp_path, subject):
    agrees(SUBJECTS[subject](), tmp_path, ("-O1",))


@pytest.mark.parametrize(
    "subject",
    [
        "square roots", "square roots, float32", "arctangents",
        "every function", "every function, float32",
    ],
)  # fmt: skip
def test_without_the_instructions_whole_numbers_give_the_same(tmp_path, subject):
    agrees(SUBJECTS[subject](), tmp_path, ("-O1", "-DAPPELL_NO_FMA"), count=300)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_any_angle_and_no_number_are_taken_as_the_kernel_takes_them(tmp_path, dtype):
    kernel = puma().kernel("inverse_dynamics", dtype=dtype)
    made = export.c(kernel, tmp_path, name="f")
    compiled = Compiled(shared(made.folder / "f.c", "-O2"), "f", kernel)
    draw = np.random.default_rng(3)
    q, v, a = states(kernel, 2000)
    largest = np.log10(float(np.finfo(dtype).max))
    q[:1000] = 10 ** draw.uniform(0, largest, (1000, 6)) * draw.choice([-1, 1], (1000, 6))
    q[1000:1100] = draw.choice([0.0, -0.0, np.pi, 1e-300, 2.0**30, 2.0**16], (100, 6))
    for x in (q, v, a):
        spoiled = draw.random(x.shape) < 0.05
        spoiled[:1200] = False
        x[spoiled] = draw.choice([np.nan, np.inf, -np.inf], spoiled.sum())
    inputs = [x.astype(dtype) for x in (q, v, a)]
    (expected,) = results(kernel, inputs)
    assert np.isnan(expected).any(axis=1).sum() > 300
    same_bits(compiled(*inputs)[0], expected)


@pytest.mark.parametrize("flags", [*FLAGS, ("-Os", "-fstack-protector-all")], ids=" ".join)
def test_nothing_outside_is_needed(tmp_path, flags):
    """No library, and so no heap either."""
    made = export.c(appell.load("agile_wrist"), tmp_path)
    gcc(*STRICT, *flags, "-c", str(tmp_path / f"{made.name}.c"), "-o", str(tmp_path / "f.o"))
    told = subprocess.run(["nm", tmp_path / "f.o"], capture_output=True, text=True, check=True)
    symbols = [line.split()[-2:] for line in told.stdout.splitlines()]
    assert not [name for kind, name in symbols if kind == "U"]
    assert not [name for kind, name in symbols if kind in "bBdDC"]  # nothing that can be written
    assert [name for kind, name in symbols if kind == "T"] == [made.name]


def test_the_self_test_passes_and_fails_when_a_number_is_changed(tmp_path):
    made = export.c(puma(), tmp_path, dtype="float32")
    source = tmp_path / f"{made.name}.c"

    def run() -> subprocess.CompletedProcess[str]:
        gcc(*STRICT, "-O1", str(source), f"{source.with_suffix('')}_test.c", "-o", f"{tmp_path}/t")
        return subprocess.run([tmp_path / "t"], capture_output=True, text=True, check=False)

    right = run()
    assert (right.returncode, right.stdout) == (
        0,
        f"{made.name}: 16 states, at most 0 units in the last place from the kernel\n",
    )
    text = source.read_text()
    body = text.index("_part0")
    number = re.compile(r"0x1\.(\w+)p").search(text, body)
    changed = f"{int(number[1], 16) ^ 0x1000:0{len(number[1])}x}"
    source.write_text(text[: number.start(1)] + changed + text[number.end(1) :])
    wrong = run()
    assert wrong.returncode == 1
    assert "the kernel gave" in wrong.stdout


@pytest.mark.parametrize(
    "subject", ["forward dynamics", "square roots", "a long law", "every function"]
)
@pytest.mark.parametrize("flags", [("-O0",), ("-O3",), ("-O0", "-DAPPELL_NO_FMA")], ids=" ".join)
def test_the_stack_is_bounded_as_the_header_says(tmp_path, subject, flags):
    """By the frames that gcc reports: the function, the largest of its parts, and the longest way
    down from there."""
    made = export.c(SUBJECTS[subject](), tmp_path, name="f")
    assert f"#define F_STACK {made.stack}\n" in (tmp_path / "f.h").read_text()
    gcc(*STRICT, *flags, "-fstack-usage", "-c", str(tmp_path / "f.c"), "-o", str(tmp_path / "f.o"))
    frames = {}
    for line in (tmp_path / "f.su").read_text().splitlines():
        where, size, kind = line.split("\t")
        assert kind in ("static", "dynamic,bounded")
        frames[where.rpartition(":")[2]] = int(size)
    part = max(size for name, size in frames.items() if "_part" in name)
    routine = max((frames.get(function.__name__, 0) for function in ROUTINES.values()), default=0)
    down = ("fused", "rounded", "number_of", "square_root", "leading_zeros")
    calls = 3 + len(down)
    below = sum(frames.get(x, 0) for x in down)
    assert frames["f"] + part + routine + below + 8 * calls <= made.stack


def test_the_same_robot_gives_the_same_files(tmp_path):
    one, two = (export.c(puma(), tmp_path / x) for x in ("one", "two"))
    for a, b in zip(one.files, two.files, strict=True):
        assert a.read_bytes() == b.read_bytes()


def test_a_compiler_told_to_be_careless_is_refused(tmp_path):
    made = export.c(appell.load("two_link"), tmp_path)
    command = ["gcc", "-O2", "-ffast-math", "-fsyntax-only", made.files[1]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "-ffast-math changes results" in done.stderr


def roots(equation) -> Kernel:
    inputs, outputs = {"z": (1,)}, {"y": (1,)}
    return kernel_of("roots", lambda z: [equation(*z)], inputs, outputs)


def test_results_that_are_no_numbers_are_expected_so(tmp_path):
    """The square root of a negative number, wherever it is taken."""
    made = export.c(roots(lambda z: sqrt(-1 - z * z)), tmp_path)
    sources = [str(path) for path in made.files if path.suffix == ".c"]
    assert "0.0 / 0.0" in (tmp_path / "roots_test.c").read_text()
    gcc(*STRICT, "-O2", *sources, "-o", f"{tmp_path}/roots_test")
    assert subprocess.run([tmp_path / "roots_test"], check=False).returncode == 0


def test_an_infinite_constant_is_refused(tmp_path):
    with pytest.raises(appell.InputError, match="a constant is inf"):
        export.c(roots(lambda z: z + 1 / (z - z)), tmp_path)
