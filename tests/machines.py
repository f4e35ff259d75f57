"""A chosen part of the suite, run as other processors would run it.

    python tests/machines.py [-n 2]     # options go to pytest
    python tests/machines.py --all      # every part on every machine
    python tests/machines.py --list     # says only what would be run

Results near a tie, a singular configuration or a threshold may depend on how sums are rounded, and
that depends on the processor: on the kernels of BLAS, on the instructions and SIMD lanes of our own
kernels, on the number of threads. Each run below plays another machine. One that this processor
cannot play is reported, and is not a failure; the one that it is was played by the suite itself.
The others share the parts, half of them each, unless all are asked for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Machine(NamedTuple):
    """Which kernels of OpenBLAS, which instructions of ours, and how many threads of each."""

    name: str
    blas: str
    answers: tuple[str, ...]  # what OpenBLAS calls these kernels, by its version
    simd: str
    threads: int
    needs: tuple[str, ...]  # of the processor, in LLVM's words


MACHINES = (
    Machine("before AVX", "Prescott", ("Prescott", "Katmai"), "sse2", 1, ("sse3",)),
    Machine("AVX2", "Haswell", ("Haswell", "Zen"), "avx2", 4, ("avx2", "fma")),
    Machine(
        "AVX-512", "SkylakeX", ("SkylakeX", "Cooperlake", "Sapphirerapids"), "avx512", 2,
        ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "fma"),
    ),
)  # fmt: skip

# What decides by comparing numbers, or claims digits: ranks, events, singular configurations,
# pages of the documentation, and the kernels' own arithmetic.
CHOSEN = (
    "tests/docs/test_capabilities.py",
    "tests/docs/test_reference.py::test_an_example_gives_what_it_says",
    "tests/docs/test_front_pages.py::test_films_are_what_the_programs_draw",
    "tests/robots/closed/test_simulation.py",
    "tests/robots/closed/test_half_turns.py",
    "tests/robots/closed/test_elimination.py",
    "tests/robots/test_contact_dynamics.py",
    "tests/robots/test_contact_forces.py",
    "tests/robots/test_friction_cones.py",
    "tests/simulation/test_physics.py",
    "tests/simulation/test_impacts.py",
    "tests/simulation/test_certainty.py",
    "tests/simulation/test_joint_friction.py",
    "tests/simulation/test_stepper.py",
    "tests/identify/test_base_parameters.py",
    "tests/identify/test_estimators.py",
    "tests/control/test_closed_loop.py",
    "tests/control/test_friction.py",
    "tests/control/test_rollout_bits.py",
    "tests/study/sweeps/test_fields_that_are_no_lanes.py",
    "tests/compile/test_exponential.py",
    "tests/compile/test_trigonometry.py",
    "tests/compile/test_threads.py",
)
PAGE = "tests/docs/test_docs.py::test_code_on_the_page_runs_and_gives_what_it_says"
# Counts of operations; run by tests of their own.
EXEMPT = ("docs/counting.md", "docs/studies.md", "docs/clusters.md")


def main(options: list[str]) -> int:
    reasons = {machine: impossible(machine) or at_hand(machine) for machine in MACHINES}
    others = [machine for machine in MACHINES if not at_hand(machine)]
    failed = []
    for machine, reason in reasons.items():
        print(f"machine '{machine.name}': {reason or described(machine)}", flush=True)
        if reason or "--list" in options:
            continue
        whole = "--all" in options
        share = slice(None) if whole else slice(others.index(machine), None, len(others))
        tests = [*options, *CHOSEN[share], *pages()[share]]
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests]
        if subprocess.run(command, cwd=ROOT, env=environment(machine), check=False).returncode:
            failed.append(machine.name)
    if failed:
        print(f"failed on: {', '.join(failed)}")
    return len(failed)


def pages() -> list[str]:
    """Pages of the documentation whose code is run."""
    sys.path.insert(0, str(ROOT))
    from tests.docs.blocks import pages

    return [f"{PAGE}[{page}]" for page in pages() if page not in EXEMPT]


def described(machine: Machine) -> str:
    return (
        f"OpenBLAS kernels {machine.blas}, {machine.simd} code, {machine.threads} thread"
        f"{'s' * (machine.threads > 1)}"
    )


def environment(machine: Machine) -> dict[str, str]:
    return {
        **os.environ,
        "OPENBLAS_CORETYPE": machine.blas,
        "OPENBLAS_NUM_THREADS": str(machine.threads),
        "APPELL_SIMD": machine.simd,
        "APPELL_TEST_THREADS": str(machine.threads),
    }


def impossible(machine: Machine) -> str:
    """Why this processor cannot play a machine; empty if it can."""
    import llvmlite.binding as llvm

    own = llvm.get_host_cpu_features()
    missing = [name for name in machine.needs if not own.get(name)]
    if missing:
        return f"not possible here, this processor has no {', '.join(missing)}"
    kernels = blas_kernels(environment(machine))
    if not kernels <= set(machine.answers):
        found = ", ".join(sorted(kernels)) or "none that can be chosen"
        return f"not possible here, BLAS kernels asked for: {machine.blas}, in use: {found}"
    return ""


def at_hand(machine: Machine) -> str:
    """Why a machine need not be played: it is the one at hand, whose kernels the suite ran with."""
    import llvmlite.binding as llvm

    plain = {k: x for k, x in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "APPELL_SIMD")}
    own = llvm.get_host_cpu_features()
    better = [x for x in MACHINES if all(own.get(name) for name in x.needs)]
    same = machine is better[-1] and blas_kernels(plain) <= set(machine.answers)
    return "the machine at hand, as which the suite itself runs" if same else ""


def blas_kernels(environment: dict[str, str]) -> set[str]:
    """The kernels that NumPy's and SciPy's BLAS use in an environment."""
    code = (
        "import numpy.linalg, scipy.linalg, threadpoolctl\n"
        "for x in threadpoolctl.threadpool_info():\n"
        "    if x['user_api'] == 'blas':\n"
        "        print(x.get('architecture', x['internal_api']))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.split()) or {"unknown"}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
