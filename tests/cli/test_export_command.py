"""``appell export``: what it writes, what it prints, how it refuses."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from appell.cli import app


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["export", *arguments])


def test_c_of_an_equation_with_its_time_beside_the_papers(command, tmp_path):
    result = command("puma560", "mass_matrix", "--output", "here")
    assert result.exit_code == 0, result.output
    for end in (".h", ".c", "_test.c"):
        assert (tmp_path / "here" / f"puma560_mass_matrix{end}").exists()
        assert f"here/puma560_mass_matrix{end}" in result.stdout
    assert "89 multiplications, 75 additions" in result.stdout
    assert "bytes" in result.stdout
    assert "225" in result.stdout
    assert "61" in result.stdout


def test_a_law_with_its_gains(command, tmp_path):
    result = command(
        "two_link", "--law", "computed-torque", "--kp", "100", "--gain", "kd=20,21",
        "--dtype", "float32", "--name", "control_step",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    header = (tmp_path / "control_step" / "control_step.h").read_text()
    assert "const float *qd" in header
    assert "kd=(20, 21)" in header


@pytest.mark.parametrize("name", ["cartesian-impedance", "CartesianImpedance"])
def test_a_law_of_a_frame(command, tmp_path, name):
    gains = ("--gain", "stiffness=9", "--gain", "damping=2", "--name", "step")
    result = command("two_link", "--law", name, *gains, "--frame", "link1")
    assert result.exit_code == 0, result.output
    assert "frame=link1" in (tmp_path / "step" / "step.h").read_text()


def test_a_law_by_a_formulation_of_its_own(command, tmp_path):
    for name in ("newton_euler", "lagrange_euler"):
        chosen = ("--formulation", name, "--name", name)
        result = command("two_link", "--law", "ComputedTorque", *chosen)
        assert result.exit_code == 0, result.output
        assert f"formulation={name}" in (tmp_path / name / f"{name}.h").read_text()
    sizes = [len((tmp_path / n / f"{n}.c").read_text()) for n in ("newton_euler", "lagrange_euler")]
    assert sizes[0] != sizes[1]


def test_object_code(command, tmp_path):
    result = command("two_link", "--target", "cortex-m7")
    assert result.exit_code == 0, result.output
    code = tmp_path / "two_link_inverse_dynamics" / "two_link_inverse_dynamics.o"
    assert code.read_bytes()[:4] == b"\x7fELF"
    readme = (code.parent / "README.md").read_text()
    assert "`make two_link_inverse_dynamics_test` compiles a self-test for cortex-m7" in readme
    makefile = (code.parent / "Makefile").read_text()
    assert "CC = arm-none-eabi-gcc -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard" in makefile
    assert "@" not in (readme + makefile).replace("-o $@", "")


def test_a_triple_with_its_calling_convention(command, tmp_path):
    triple = ("--target", "riscv64-unknown-elf", "--cpu", "generic-rv64", "--features", "+m,+f,+d")
    for abi, flags in (("lp64d", 0x4), ("lp64", 0x0)):
        result = command("two_link", *triple, "--abi", abi, "--output", abi)
        assert result.exit_code == 0, result.output
        code = (tmp_path / abi / "two_link_inverse_dynamics.o").read_bytes()
        assert code[48] & 0x6 == flags  # e_flags: which floats registers pass


def test_without_a_compiler_there_is_no_time(command, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    result = command("two_link")
    assert result.exit_code == 0, result.output
    assert "no C compiler" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["two_link", "--law", "Magic"], ("Magic", "computed-torque")),
        (
            ["two_link", "--law", "ComputedTorque", "--formulation", "kane"],
            ("kane", "newton_euler"),
        ),
        (["two_link", "--law", "ComputedTorque", "--gain", "ki=1"], ("ki", "kp, kd")),
        (["two_link", "--law", "ComputedTorque", "--kp", "much"], ("much", "number")),
        (["two_link", "--law", "ComputedTorque", "--kp", "1", "--gain", "kp=2"], ("twice",)),
        (["two_link", "--law", "adaptive", "--frame", "link1"], ("adaptive has no frame",)),
        (["two_link", "--law", "cartesian-impedance"], ("stiffness", "--gain")),
        (["two_link", "--kp", "1"], ("--law",)),
        (["two_link", "--cpu", "cortex-m4"], ("--target",)),
        (["two_link", "--target", "z80"], ("z80", "riscv64")),
        (["two_link", "--output", "/proc/none"], ("/proc/none", "another folder")),
    ],
)
def test_refusals(command, arguments, words):
    result = command(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert all(word in result.stderr for word in words), result.stderr
