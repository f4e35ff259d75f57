"""Sweeps on workers of Dask: the same bits, whoever dies."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from appell.compile.threads import cores
from appell.errors import AppellError
from appell.study import Study, open_sweep, sweep
from appell.study.sweeps.bundle import versions
from appell.study.sweeps.engine import dask_engine
from appell.study.sweeps.engine.local_cluster import local_cluster
from appell.study.sweeps.sweep_progress import Progress
from benchmarks.unkind import Cluster, same, survive

ARM = {
    "robot": {"model": "planar_chain", "options": {"n": 2}},
    "start": {"q": [0.2, -0.4]},
    "task": {"kind": "moves", "moves": [{"to": [0.7, 0.3], "duration": 0.2}]},
    "law": {"name": "computed-torque", "believes": {"payload": {"mass": 0.0}}},
}
VARY = {"robot.payload.mass": {"uniform": (-0.1, 2.0)}}


class Heard(Progress):
    """Keeps what is told."""

    def __init__(self):
        self.lines = []

    def show(self, text):
        self.lines.append(text)


def test_a_sweep_on_a_cluster_survives_whatever_dies(tmp_path):
    """Workers, client and scheduler; python -m benchmarks.unkind has 20,000 points."""
    told = survive(400, 4, tmp_path, say=lambda text: None)
    assert told["points"] == 400
    assert told["kills"] == {"worker": 2, "client": 1, "scheduler": 1}
    assert 0 < told["failed"] < 400


DEADLY = """
import os, signal

def f(x):
    if x == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * x
"""


def test_a_point_that_kills_its_workers_is_found_and_the_others_run(tmp_path, monkeypatch):
    (tmp_path / "deadly.py").write_text(DEADLY)
    monkeypatch.chdir(tmp_path)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("DASK_TEMPORARY_DIRECTORY", str(scratch))
    study = Study(function="deadly:f", vary={"x": {"whole": (0, 3)}}, sampling="grid", block=2)
    heard = Heard()
    found = sweep(study, workers=1, progress=heard)
    assert found["point"][found.failed].tolist() == [2]
    assert found.reasons() == {"the workers that ran it died": 1}
    assert found["f"][~found.failed].tolist() == [0, 2, 6]
    assert [x for x in heard.lines if x.startswith("point ")] == [
        "point 2: the workers that ran it died"
    ]
    assert not [*scratch.glob("appell-workers-*")]
    # The dead had opened the study's files; what is left are those of this process.
    assert len([*scratch.rglob("appell-study-*")]) == 1


def test_a_scheduler_that_does_not_answer_is_told(tmp_path):
    study = Study(scenario=ARM, vary=VARY, points=8)
    with pytest.raises(AppellError, match=r"no scheduler of Dask answers at tcp://127\.0\.0\.1:9"):
        sweep(study, tmp_path / "x", scheduler="tcp://127.0.0.1:9", patience=1.0)
    with pytest.raises(AppellError, match="scheduler"):
        sweep(study, tmp_path / "x", scheduler="nonsense://x", patience=1.0)


def test_workers_with_other_versions_are_refused(monkeypatch):
    study = Study(scenario=ARM, vary=VARY, points=8)
    cluster = Cluster(1)
    try:
        real = dask_engine.differing
        monkeypatch.setattr(
            dask_engine, "differing", lambda ours, theirs: real(ours, theirs | {"numpy": "1.0"})
        )
        with pytest.raises(AppellError, match=r"worker at tcp.* has numpy 1\.0 instead of"):
            sweep(study, scheduler=cluster.address, patience=60)
        # A worker that comes later compares by itself.
        monkeypatch.setattr(dask_engine._Session, "run", _unchecked(dask_engine._Session.run))
        monkeypatch.setattr(
            "appell.study.sweeps.bundle.versions", lambda: {"appell": "0.0", "python": "2.7"}
        )
        with pytest.raises(AppellError, match=r"a worker has appell .* instead of 0\.0"):
            sweep(study, scheduler=cluster.address, patience=60)
    finally:
        cluster.close()


def test_workers_with_processors_of_another_kind_are_reported(monkeypatch):
    monkeypatch.setattr(dask_engine, "processor", lambda: "x86_64 with AVX2")
    ours = versions()
    bundle, points, heard = SimpleNamespace(versions=ours), SimpleNamespace(), Heard()
    engine = dask_engine.DaskEngine(
        bundle, points, workers=2, scheduler=None, security=None, target="cpu", patience=1.0,
        note=heard.note,
    )  # fmt: skip
    kinds = iter(["x86_64 with AVX2", "aarch64", "aarch64", "x86_64 with AVX2"])

    class Client:
        def run(self, function, workers, on_error):
            return {worker: (ours, next(kinds)) for worker in workers}

    engine._check_workers(Client(), ["one"])
    assert heard.lines == []
    engine._check_workers(Client(), ["two", "three"])
    engine._check_workers(Client(), ["four"])
    (line,) = heard.lines
    assert "another kind (aarch64; so far: x86_64 with AVX2)" in line


def _unchecked(run):
    def go(self, waiting):
        self.engine._check_workers = lambda client, workers: None
        return run(self, waiting)

    return go


LISTENING = """
import json, os, socket, sys
from appell.study import Study, sweep

def addresses():
    inodes = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(process)) != os.getpgid(0):
                continue
            for fd in os.listdir(f"/proc/{process}/fd"):
                to = os.readlink(f"/proc/{process}/fd/{fd}")
                if to.startswith("socket:["):
                    inodes.add(to[8:-1])
        except OSError:
            pass
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in open(table).readlines()[1:]:
            word = line.split()
            if word[3] == "0A" and word[9] in inodes:
                found.add(word[1].split(":")[0])
    return sorted(found)

def strangers(scheduler):
    # What another user of this machine is told, who speaks plainly, or has no certificate.
    import distributed, ssl
    host, port = scheduler.removeprefix("tls://").split(":")
    told = []
    try:
        distributed.Client(f"tcp://{host}:{port}", timeout=3, set_as_default=False)
    except OSError:
        told.append("refused")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((host, int(port)), 3) as plain:
            with context.wrap_socket(plain) as link:
                link.recv(1)
    except ssl.SSLError:
        told.append("refused")
    return told

def writable(client):
    # what others may do in the folders that workers import from
    found = set()
    for worker in client.scheduler_info()["workers"].values():
        folder = worker["local_directory"]
        while not os.path.basename(folder).startswith("appell-workers-"):
            folder = os.path.dirname(folder)
        found.add(os.stat(folder).st_mode & 0o77)
    return sorted(found)

if __name__ == "__main__":
    from appell.study.sweeps.engine import dask_engine
    seen = []
    run = dask_engine._Session.run
    def watched(self, waiting):
        seen.extend([addresses(), strangers(self.client.scheduler.address), writable(self.client)])
        return run(self, waiting)
    dask_engine._Session.run = watched
    sweep(Study(**json.loads(sys.argv[1])), sys.argv[2], workers=2)
    print(json.dumps(seen))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at Linux's tables")
def test_workers_of_this_machine_give_the_same_bits_and_listen_to_it_alone(tmp_path):
    (tmp_path / "listening.py").write_text(LISTENING)
    study = Study(scenario=ARM, vary=VARY, points=100, block=16, rollout={"compare": 0})
    done = subprocess.run(
        [sys.executable, "listening.py", study.text(), "x"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    listening, told, others_may = json.loads(done.stdout.splitlines()[-1])
    assert listening == ["0100007F"]  # 127.0.0.1
    assert told == ["refused"] * 2
    assert others_may == [0]
    found = open_sweep(tmp_path / "x")
    assert 0 < found.failed.sum() < 100
    same(found.columns, sweep(study).columns)


def test_a_program_that_is_no_scheduler_is_told_in_time():
    """One that takes the connection and says nothing: a client of Dask would wait without end."""
    study = Study(scenario=ARM, vary=VARY, points=8)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(AppellError, match=f"no scheduler of Dask answers at {address}"):
            sweep(study, scheduler=address, patience=0.1)


def test_an_encrypted_scheduler_needs_certificates():
    study = Study(scenario=ARM, vary=VARY, points=8)
    with pytest.raises(AppellError, match="needs certificates: give --tls-ca, --tls-cert"):
        sweep(study, scheduler="tls://127.0.0.1:9", patience=0.1)


def test_more_workers_than_cores_can_use_are_refused():
    most = 8 * cores()
    study = Study(scenario=ARM, vary=VARY, points=8)
    with pytest.raises(AppellError, match=f"workers = {most + 1}; expected {most} at most"):
        sweep(study, workers=most + 1)


def test_other_users_see_no_pages_of_workers():
    with local_cluster(1) as cluster:
        port = cluster.scheduler.http_server.port
        for page in ("info/main/workers.html", "json/counts.json", "metrics", "status"):
            with pytest.raises(HTTPError, match="404"):
                urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10)


@pytest.mark.parametrize("wait", [0.1, 0.5, 1.5])
def test_the_keyboard_ends_a_sweep_on_workers_without_a_trace(wait, tmp_path):
    """Whenever it comes: a terminal sends it to all processes at once."""
    (tmp_path / "slow.py").write_text(
        "import time\ndef f(x):\n    time.sleep(0.05)\n    return x\n"
    )
    (tmp_path / "slow.toml").write_text(
        'function = "slow:f"\npoints = 2000\nblock = 2\n[vary]\nx = {uniform = [0, 1]}\n'
    )
    command = [sys.executable, "-m", "appell", "sweep", "run", "slow.toml", "--workers", "2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr.readline().startswith("points run one by one")
    time.sleep(wait)  # the workers start, or work
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Interrupted" in told
    assert "Traceback" not in told
