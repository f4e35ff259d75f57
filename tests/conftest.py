"""What all tests share: a cache of their own, how many of the drawn cases run, how much hypothesis
searches, fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from zlib import crc32

import pytest
from hypothesis import settings

from appell import set_threads
from appell.compile import cache

# CI draws the same examples every time. To look further: --hypothesis-profile=search
settings.register_profile("ci", deadline=None, max_examples=15, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=200)
settings.load_profile("ci")


# Comparisons of many drawn robots, states and equations: `make test` runs one case in three of
# each, the same ones every time, and `make soak` all of them.
DRAWN = (
    "tests/compile/test_differentiate.py",
    "tests/compile/test_lanes.py",
    "tests/engines/",
    "tests/equations/test_scalars.py",
    "tests/identify/test_estimators.py",
    "tests/identify/test_regressor_columns.py",
    "tests/laws/",
    "tests/papers/test_formulations_can_fail.py",
    "tests/robots/closed/test_closed_laws.py",
    "tests/robots/closed/test_kinds.py",
    "tests/robots/spherical/",
)
MANY, ONE_IN = 8, 3


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="all drawn cases, not one in three")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--all") or any("::" in x for x in config.args):  # tests that were named
        return
    of_test = Counter(x.nodeid.partition("[")[0] for x in items)
    left_out = [
        x
        for x in items
        if x.nodeid.startswith(DRAWN)
        and of_test[x.nodeid.partition("[")[0]] >= MANY
        and crc32(x.nodeid.encode()) % ONE_IN
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [x for x in items if x not in gone]


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
