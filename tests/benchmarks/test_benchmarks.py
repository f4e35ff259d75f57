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

from appell.compile import native
from benchmarks import gpu, sweeps
from benchmarks.report.batches_section import batches_rows

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
        "date", "machine", "versions", "rounds", "cases", "limits", "batches",
        "first call", "operations", "formulations", "figures", "rollouts",
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


def test_figures_stand_beside_the_limits_of_the_machine(results, folder):
    rows = results["limits"]
    assert {(row["quantity"], row["dtype"]) for row in rows} >= {
        ("inverse_dynamics", "float64"),
        ("inverse_dynamics", "float32"),
        ("inverse_dynamics_derivatives", "float64"),
    }
    for row in rows:
        least = {
            "copy": row["bytes"] / row["bytes per second"],
            "arithmetic": row["operations"] / row["multiply-adds per second"],
        }
        assert row["limit"] == max(least, key=least.get)
        reached = least[row["limit"]] / row["seconds"]["median"]
        assert row["reached"] == pytest.approx(reached, rel=0.01)
    assert (
        f"| {rows[0]['bytes']} | {rows[0]['operations']} |"
        in (folder / "docs" / "speed.md").read_text()
    )


def test_batches_are_timed_on_one_thread_and_on_all(results, folder):
    rows = results["batches"]
    assert {row["quantity"] for row in rows} == {
        "inverse_dynamics", "forward_dynamics", "mass_matrix"
    }  # fmt: skip
    for row in rows:
        assert row["one thread"]["median"] > 0 < row["all threads"]["median"]
    assert "| inverse dynamics | 100 |" in (folder / "docs" / "speed.md").read_text()


def test_operations_are_counted_through_sines_and_fused():
    from appell.compile.make import kernel_of
    from appell.maths.scalar import sin
    from benchmarks.operation_count import floating_point_operations

    def tape(function):
        return kernel_of("f", function, {"x": (3,)}, {"y": (1,)}).tape()

    fused = floating_point_operations(tape(lambda x: [x[0] * x[1] + x[2]]), "float64")
    assert fused == (1 if native.fuses() else 2)
    quotient = floating_point_operations(tape(lambda x: [(x[0] - x[1]) / x[2]]), "float64")
    assert quotient == 3  # a difference, a reciprocal, and their product
    sine = floating_point_operations(tape(lambda x: [sin(x[0])]), "float64")
    assert 10 < sine < 40  # two polynomials and a reduction


def test_our_own_ratio_is_one(results):
    for case in results["cases"]:
        assert case["peers"]["Appell"]["ratio"] == {"median": 1.0, "low": 1.0, "high": 1.0}


def test_documents_hold_the_results(folder):
    document = (folder / "docs" / "speed.md").read_text()
    assert "## On a GPU\n\nNot measured" in document
    readme = (folder / "README.md").read_text()
    assert "| Appell |" in document
    assert "Pinocchio, batch call" in document
    assert "| Appell |" in readme
    assert "old" not in readme
    assert readme.startswith("# Robot\n\n<!-- speed:begin -->\n")
    assert readme.endswith("<!-- speed:end -->\n\nThe rest.\n")
    assert "</svg>" in (folder / "docs" / "images" / "speed.svg").read_text()


def test_committed_documents_are_those_of_the_committed_results(tmp_path):
    for name in ("benchmarks/results.json", "benchmarks/gpu.json", "README.md"):
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


def test_the_gpus_results_hold_what_is_said_of_them():
    """Those that were committed: the same bits, near the memory's bandwidth, started in time."""
    found = json.loads((ROOT / "benchmarks/gpu.json").read_text())
    assert all(x["same"] for x in (*found["equal"], *found["same rollouts"], *found["sweeps"]))
    assert all(x["same"] for x in found["same gradients"])
    assert all(x["seconds"] < x["processor"] / 5 for x in found["gradients"])
    assert {y for x in found["libraries"].values() for y in x.values()} == {"same"}
    shares = [x["share"] for x in found["speed"] if x["quantity"] == "inverse_dynamics"]
    assert min(shares) > 0.93
    assert sum(found["first call"]["compiled"]) < 2
    assert sum(found["first call"]["from the cache"]) < 0.5
    rates = {x["dtype"]: x["steps per second"] for x in found["rollouts"]}
    assert rates["float32"] > 8.5e9
    assert rates["float64"] > 4.2e9
    assert min(x["by jax"] for x in found["rollouts"]) > 5
    (seconds,) = (x["seconds"] for x in found["rollouts"] if x["dtype"] == "float32")
    assert seconds < 0.15  # a million runs of one second


def test_the_gpus_figures_are_compared_with_all_bounds():
    found = json.loads((ROOT / "benchmarks/gpu.json").read_text())
    found["first rollout"] = {"compiled": [1, 2], "from the cache": [0.1]}
    told = list(gpu.checks(found))
    for words in ("runs of 1 s in float32:", "G steps per second", "as fast as JAX", "bandwidth"):
        assert any(x.startswith("PASS") and words in x for x in told), words
    (late,) = (x for x in told if "first rollout in a new process, compiled" in x)
    assert late.startswith("FAIL")


def test_the_memory_of_rollouts_is_what_is_said_of_it(results):
    """That of ten million runs, which was committed, and that of the few of a quick run."""
    committed = json.loads((ROOT / "benchmarks/results.json").read_text())["rollouts"]
    [row] = [x for x in committed if "bytes" in x]
    assert row["what"] == "memory of 10,000,000 runs"
    assert row["bytes"] < 2 * 2**30
    [few] = [x for x in results["rollouts"] if "bytes" in x]
    assert few["what"] == "memory of 200,000 runs"
    assert 2**25 < few["bytes"] < row["bytes"]


def test_the_sweeps_figures_hold_what_is_said_of_them():
    """Those that were committed, and the page that was made of them."""
    found = json.loads((ROOT / "benchmarks/sweeps.json").read_text())
    rollouts, dask, resumed, unkind = (found[x] for x in ("rollouts", "dask", "resumed", "unkind"))
    assert rollouts["points"] == 1_000_000
    assert rollouts["overhead"] < 0.1
    assert rollouts["peak_gib"] < 2
    assert 0 < resumed["blocks_done"] < resumed["blocks"]
    assert dask["gain"] > 1.8
    assert unkind["points"] >= 20_000
    assert unkind["kills"] == {"worker": 2, "client": 1, "scheduler": 1}
    assert 0 < unkind["failed"] < unkind["points"]
    assert len(unkind["sha256"]) == 64
    assert sweeps.page(found) in (ROOT / "docs/sweeps.md").read_text()


def test_a_call_that_noise_hides_is_said_to_be_hidden():
    spread = {"low": 1e-8, "median": 1e-8, "high": 1e-8}
    row = {"quantity": "mass_matrix", "states": 512, "ratio": spread}
    row |= {"one thread": spread, "all threads": spread}
    calls = [batches_rows([row | {"call": call}])[0][-1] for call in (1.5e-6, 0.0, -2e-7)]
    assert calls == ["1.50 µs", "below the noise", "below the noise"]
