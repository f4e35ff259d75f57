"""The benchmark's plumbing, on a few states; nothing here asserts a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = [sys.executable, "-m", "benchmarks"]
README = "# Robot\n\n<!-- speed:begin -->\nold\n<!-- speed:end -->\n\nThe rest.\n"

# What each library's peers need in order to take part.
NEEDS = {
    "Appell": True,
    "CasADi": which("gcc") is not None,
    "JAX": find_spec("jax") is not None,
    "Pinocchio": find_spec("pinocchio") is not None,
    "MuJoCo": find_spec("mujoco") is not None,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What a quick run on 100 states leaves behind."""
    into = tmp_path_factory.mktemp("benchmarks")
    (into / "README.md").write_text(README)
    subprocess.run(
        [*BENCHMARKS, "--quick", "--states", "100", "--rounds", "2", "--into", into],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return into


@pytest.fixture(scope="module")
def results(folder):
    return json.loads((folder / "benchmarks" / "results.json").read_text())


def test_results_describe_the_machine_but_do_not_name_it(results):
    assert set(results) == {
        "date", "machine", "versions", "rounds", "cases", "first call", "operations",
        "formulations", "figures",
    }  # fmt: skip
    assert set(results["machine"]) == {"cpu", "cores", "system", "load"}


def test_every_section_is_measured(results):
    sections = [case["section"] for case in results["cases"]]
    assert sections == ["PUMA 560", "chains", "derivatives", "one state"]


def test_installed_peers_agree_with_ours_and_are_timed(results):
    for case in results["cases"]:
        for peer, entry in case["peers"].items():
            alone = os.cpu_count() == 1 and "2 threads" in peer
            if alone or not NEEDS[peer.partition(",")[0]]:
                continue
            assert len(entry.get("rounds", ())) == 2, (case["quantity"], peer, entry)
            assert set(entry["seconds"]) == set(entry["ratio"]) == {"median", "low", "high"}


def test_our_own_ratio_is_one(results):
    for case in results["cases"]:
        assert case["peers"]["Appell"]["ratio"] == {"median": 1.0, "low": 1.0, "high": 1.0}


def test_documents_hold_the_results(folder):
    document = (folder / "docs" / "speed.md").read_text()
    readme = (folder / "README.md").read_text()
    assert "| Appell |" in document
    assert "Pinocchio, batch call" in document
    assert "| Appell |" in readme
    assert "old" not in readme
    assert readme.startswith("# Robot\n\n<!-- speed:begin -->\n")
    assert readme.endswith("<!-- speed:end -->\n\nThe rest.\n")
    assert "</svg>" in (folder / "docs" / "images" / "speed.svg").read_text()


def test_committed_documents_are_those_of_the_committed_results(tmp_path):
    for name in ("benchmarks/results.json", "README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    subprocess.run(
        [*BENCHMARKS, "--again", "--into", tmp_path],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    for name in ("docs/speed.md", "README.md"):
        assert (tmp_path / name).read_text() == (ROOT / name).read_text(), (
            "python -m benchmarks --again"
        )


def test_an_interrupt_leaves_no_process():
    # In a process group of its own, whose members are then all of the benchmark's processes.
    run = subprocess.Popen(
        [*BENCHMARKS, "--quick", "--states", "100"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # A shell's background job, and so perhaps this process, ignores interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(5)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=60) != 0
    # A child that was killed is gone once its new parent has asked for its status.
    for _ in range(600):
        try:
            os.killpg(run.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a process of the benchmark still runs a minute after the interrupt")
