"""Object code for other processors: of the right kind, self-contained, and run in an emulator."""

from __future__ import annotations

import io
import re
import shutil
import subprocess

import capstone
import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

import appell
from appell import export
from appell.export.elf import undefined
from tests.compile.test_lowering import one_of_each
from tests.export.compiled_c import Compiled, results, same_bits, shared, states
from tests.export.emulator import Emulated

PROCESSORS = ("aarch64", "cortex-m7", "riscv64", "riscv32")
KIND = {
    "aarch64": ("EM_AARCH64", 64), "cortex-m7": ("EM_ARM", 32),
    "riscv64": ("EM_RISCV", 64), "riscv32": ("EM_RISCV", 32), "x86-64": ("EM_X86_64", 64),
}  # fmt: skip
DISASSEMBLERS = {
    "aarch64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
    "cortex-m7": (capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_V8),
    "riscv64": (capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC),
    "riscv32": (capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCVC),
    "x86-64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
}
FUSED = {
    "aarch64": "fmadd", "cortex-m7": "vfma.f64", "riscv64": "fmadd.d", "riscv32": "fmadd.d",
    "x86-64": "vfmadd",
}  # fmt: skip


def puma() -> appell.Robot:
    return appell.load("puma560")


KERNELS = {
    "float64": lambda: puma().kernel("inverse_dynamics"),
    "float32": lambda: puma().kernel("inverse_dynamics", dtype="float32"),
    "square roots": lambda: appell.load("agile_wrist").kernel("inverse_dynamics"),
    "a law with a state": lambda: appell.control.TrackingIntegral(puma()).kernel(gains=True),
    "arctangents": lambda: appell.control.closed_form(puma()),
    "every function": lambda: one_of_each("float64"),
}


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Files for every processor, made once."""
    made = {}

    def of(target: str, what: str):
        if (target, what) not in made:
            kernel = KERNELS[what]()
            folder = tmp_path_factory.mktemp("object")
            made[target, what] = kernel, export.object(kernel, folder, target=target, name="f")
        return made[target, what]

    return of


@pytest.mark.parametrize("target", export.TARGETS)
def test_code_is_of_its_processor_and_needs_nothing_else(objects, target):
    _, made = objects(target, "float64")
    code = (made.folder / "f.o").read_bytes()
    assert undefined(code) == []
    elf = ELFFile(io.BytesIO(code))
    assert (elf["e_machine"], elf.elfclass, elf["e_type"]) == (*KIND[target], "ET_REL")
    outside = [s.name for s in elf.get_section_by_name(".symtab").iter_symbols()
               if s["st_shndx"] == "SHN_UNDEF"]  # fmt: skip
    assert outside == [""]
    if target.startswith("riscv"):
        assert elf["e_flags"] & 0x7 == 0x5  # numbers of 64 bits in registers; short instructions
    if target == "cortex-m7":
        told = elf.get_section_by_name(".ARM.attributes").data()
        assert b"cortex-m7" in told
        assert bytes([28, 1]) in told  # Tag_ABI_VFP_args: arguments in registers
        assert elf["e_flags"] >> 24 == 5
    writable = [s.name for s in elf.iter_sections() if s["sh_flags"] & 1 and s["sh_size"]]
    assert writable == []


@pytest.mark.parametrize("target", export.TARGETS)
def test_every_instruction_is_one_of_the_processor(objects, target):
    _, made = objects(target, "float64")
    elf = ELFFile(io.BytesIO((made.folder / "f.o").read_bytes()))
    data = elf.get_section_by_name(".text").data()
    read = list(capstone.Cs(*DISASSEMBLERS[target]).disasm(data, 0))
    assert sum(x.size for x in read) == len(data)
    assert sum(x.mnemonic.startswith(FUSED[target]) for x in read) > 50
    other = "riscv64" if target == "aarch64" else "aarch64"
    wrong = list(capstone.Cs(*DISASSEMBLERS[other]).disasm(data, 0))
    assert sum(x.size for x in wrong) < len(data)


@pytest.mark.parametrize("what", KERNELS)
@pytest.mark.parametrize("target", PROCESSORS)
def test_other_processors_compute_what_the_kernel_computes(objects, target, what):
    """Bit for bit, by an emulator of the processor, within the stack that the header tells."""
    kernel, made = objects(target, what)
    emulated = Emulated(made.folder / "f.o", target, "f", kernel.dtype.name)
    count = 1000 if what.startswith("float") else 100
    inputs = states(kernel, count)
    if what != "arctangents":
        inputs[0][:20] *= 1e15  # beyond the polynomials of sine and cosine
        rows = inputs[0].reshape(count, -1)
        rows[20, -1] = np.nan
        rows[21, -1] = np.inf
    shapes = list(kernel.outputs.values())
    got = [emulated([x[k] for x in inputs], shapes) for k in range(count)]
    for y, expected in zip(zip(*got, strict=True), results(kernel, inputs), strict=True):
        same_bits(np.stack(y), expected)
    assert 0 < emulated.stack_used() <= made.stack


def test_code_for_x86_64_runs_here(objects, tmp_path):
    kernel, made = objects("x86-64", "float64")
    (tmp_path / "empty.c").write_text("extern int nothing;\n")
    library = shared(tmp_path / "empty.c", others=(made.folder / "f.o",))
    inputs = states(kernel, 1000)
    same_bits(Compiled(library, "f", kernel)(*inputs)[0], results(kernel, inputs)[0])


def test_the_self_test_of_an_object_is_made_and_can_fail(objects, tmp_path):
    _, made = objects("x86-64", "float64")
    shutil.copytree(made.folder, tmp_path, dirs_exist_ok=True)
    make = ["make", "-C", str(tmp_path), "test"]
    done = subprocess.run(make, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "at most 0 units in the last place" in done.stdout
    test = tmp_path / "f_test.c"
    first = r"(expected_tau\[\d+\]\[\d+\] = \{\s*\{)"
    wrong, changed = re.subn(first, r"\g<1>1.0 + ", test.read_text())
    assert changed == 1
    test.write_text(wrong)
    failed = subprocess.run(make, capture_output=True, text=True, check=False)
    assert failed.returncode != 0
    assert "state 0, tau[0]" in failed.stdout


def test_constants_go_with_the_code(objects):
    kernel, made = objects("aarch64", "a law with a state")
    elf = ELFFile(io.BytesIO((made.folder / "f.o").read_bytes()))
    (symbol,) = elf.get_section_by_name(".symtab").get_symbol_by_name("f_kp")
    data = elf.get_section(symbol["st_shndx"]).data()[symbol["st_value"] :]
    kept = np.frombuffer(data[: symbol["st_size"]])
    np.testing.assert_array_equal(kept, kernel.defaults["kp"].ravel())
    assert "extern const double f_kp[6];" in (made.folder / "f.h").read_text()


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("z80", {}, ("z80", "cortex-m7")),
        ("a-b-c", {}, ("a-b-c", "LLVM")),
        ("cortex-m7", {"cpu": "cortex-m4"}, ("cpu", "triple")),
        ("thumbv7em-none-eabihf", {"cpu": "cortex-m4"}, ("__aeabi_dmul", "float32")),
        ("powerpc64-unknown-linux-gnu", {}, ("powerpc64",)),
        ("x86_64-linux-gnu", {"cpu": "nope"}, ("cpu='nope'", "LLVM")),  # which would end us
        ("riscv64-unknown-none-elf", {"features": "+nope"}, ("'+nope'", "not a recognized")),
    ],
)
def test_processors_that_cannot_are_refused(tmp_path, target, options, words):
    with pytest.raises(appell.InputError) as refusal:
        export.object(appell.load("two_link"), tmp_path / "x", target=target, **options)
    assert all(word in str(refusal.value) for word in words)
    assert not (tmp_path / "x").exists()


def test_an_llvm_triple_names_any_processor(tmp_path):
    robot = appell.load("two_link")
    made = export.object(
        robot, tmp_path, target="thumbv7em-none-eabihf", cpu="cortex-m4", dtype="float32"
    )
    elf = ELFFile(io.BytesIO((tmp_path / f"{made.name}.o").read_bytes()))
    assert elf["e_machine"] == "EM_ARM"
