"""What all tests share: a cache of their own, how many of the drawn cases run, how much hypothesis
searches, fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from math import ceil
from zlib import crc32

import pytest
from hypothesis import settings

from appell import set_threads
from appell.compile import cache

# `make test` draws the same examples every time, and `make soak` more of them. To look further:
# --hypothesis-profile=search
settings.register_profile("ci", deadline=None, max_examples=6, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=15, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=200)
settings.load_profile("ci")


# Comparisons of many robots, states, equations and laws: of each test with several such cases
# `make test` runs one case in eight, the same ones every time, and `make soak` all of them. What
# users see one by one (commands, pages, papers, reports, hostile files) is always tried whole.
DRAWN = (
    "tests/compile/",
    "tests/control/",
    "tests/engines/",
    "tests/equations/",
    "tests/export/",
    "tests/identify/",
    "tests/laws/",
    "tests/model/",
    "tests/papers/test_formulations_can_fail.py",
    "tests/papers/test_lee_control.py",
    "tests/rig/",
    "tests/robots/",
    "tests/simulation/",
    "tests/study/",
)
SEVERAL, ONE_IN, MOST = 4, 8, 16


def pytest_addoption(parser):
    parser.addoption(
        "--all",
        action="store_true",
        help="all drawn cases, not one in eight, and tests of a minute",
    )


def pytest_configure(config):
    if config.getoption("--all"):
        settings.load_profile("soak")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--all"):
        return
    named = tuple(x for x in config.args if "::" in x)  # such a test is wanted as it is
    cases = defaultdict(list)
    for x in items:
        if x.nodeid.startswith(DRAWN) and not x.nodeid.startswith(named):
            cases[x.nodeid.partition("[")[0]].append(x)
    long = [x for x in items if x.get_closest_marker("minute")]
    left_out = {x for x in long if not x.nodeid.startswith(named)}
    for of_test in cases.values():
        if len(of_test) >= SEVERAL:
            of_test.sort(key=lambda x: crc32(x.nodeid.encode()))
            left_out.update(of_test[min(ceil(len(of_test) / ONE_IN), MOST) :])
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [x for x in items if x not in left_out]


# How many threads large batches use, as tests/machines.py varies it.
set_threads(int(os.environ["APPELL_TEST_THREADS"]) if "APPELL_TEST_THREADS" in os.environ else None)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Compiled code goes to a folder of this session, which its workers share, never to the
    user's cache."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APPELL_CACHE", str(folder / "kernels"))
        cache.folder.cache_clear()
        yield
    cache.folder.cache_clear()


@pytest.fixture
def nothing_kept(monkeypatch):
    """Without a cache: everything is compiled in this test."""
    with monkeypatch.context() as patch:
        patch.setenv("APPELL_CACHE", "off")
        cache.folder.cache_clear()
        yield
    cache.folder.cache_clear()


@pytest.fixture
def fresh(tmp_path, request):
    """Runs a program in a fresh process, beside the test's own helpers, with the given modules
    and a cache that all its runs share, and returns the numbers that it prints."""

    def ran(program: str, **modules: str) -> list[float]:
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text)
        paths = [str(tmp_path), str(request.path.parent), os.environ.get("PYTHONPATH", "")]
        settings = {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",  # a module edited within a second is read again
            "APPELL_CACHE": str(tmp_path / "cache"),
        }
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **settings}, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [float(number) for number in done.stdout.split()]

    return ran
