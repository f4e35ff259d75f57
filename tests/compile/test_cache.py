"""Compiled code on disk: kept, checked, private, and never needed for a right answer."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import appell
from appell.compile import cache, identity, make

STATE = np.linspace(-1, 1, 6)


class Forgetful(dict):
    """Code in use that is not found again, as in another process."""

    def __setitem__(self, key, code):
        pass


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "kernels"
    monkeypatch.setattr(make, "_IN_USE", Forgetful())
    monkeypatch.setattr(identity, "is_current", lambda: True)  # even if it is edited meanwhile
    monkeypatch.setattr(cache, "_LOOK", 1)
    monkeypatch.setenv("APPELL_CACHE", str(place))
    cache.folder.cache_clear()
    yield place
    cache.folder.cache_clear()


def torque() -> tuple[np.ndarray, bool]:
    """Torques of a fresh robot, and whether its code came from the cache."""
    robot = appell.load("puma560")
    kernel = robot.kernel("inverse_dynamics")
    return kernel(STATE, STATE, STATE), kernel.cached


def test_code_is_compiled_once_and_gives_the_same_bits_again(folder):
    first, cached_first = torque()
    second, cached_second = torque()
    assert (cached_first, cached_second) == (False, True)
    np.testing.assert_array_equal(first, second)


def test_folder_and_files_are_private(folder):
    torque()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [f.stat().st_mode & 0o777 for f in folder.iterdir()] == [0o600]


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_damaged_code_is_noticed_and_rebuilt(folder, damage):
    expected, _ = torque()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    rebuilt, cached = torque()
    assert not cached
    np.testing.assert_array_equal(rebuilt, expected)
    assert file.read_bytes() == whole


def test_other_robots_dtypes_and_formulations_get_other_code(folder):
    robot = appell.load("puma560")
    robot.kernel("inverse_dynamics")
    robot.kernel("inverse_dynamics", dtype="float32")
    robot.kernel("forward_dynamics")
    robot.kernel("forward_dynamics", formulation="articulated_body")
    robot.with_payload(1e-9).kernel("inverse_dynamics")
    robot.with_gravity((0, 0, -9.8100001)).kernel("inverse_dynamics")
    assert len(list(folder.iterdir())) == 6


def test_a_folder_others_can_write_to_is_not_trusted(folder):
    folder.mkdir(mode=0o700)
    folder.chmod(0o777)
    with pytest.warns(cache.CacheWarning, match="chmod 700"):
        torque()
    assert list(folder.iterdir()) == []


def test_a_file_others_can_write_to_is_not_run(folder):
    torque()
    (file,) = folder.iterdir()
    file.chmod(0o666)
    with pytest.warns(cache.CacheWarning, match="written by others"):
        _, cached = torque()
    assert not cached


def test_a_full_disk_costs_only_time(folder, monkeypatch):
    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.warns(cache.CacheWarning, match="No space left"):
        result, _ = torque()
    assert np.isfinite(result).all()
    assert not list(folder.glob("[!.]*"))


def test_it_can_be_switched_off(monkeypatch, tmp_path):
    monkeypatch.setenv("APPELL_CACHE", "off")
    cache.folder.cache_clear()
    assert not torque()[1]
    assert not torque()[1]
    cache.folder.cache_clear()


def test_the_longest_unused_code_makes_room(folder, monkeypatch):
    monkeypatch.setattr(cache, "_ROOM", 30_000)
    for payload in range(1, 6):
        appell.load("puma560").with_payload(payload).kernel("inverse_dynamics")
    kept = sum(f.stat().st_size for f in folder.iterdir())
    assert 0 < kept <= 30_000


def test_room_is_made_in_time_though_not_with_every_file(folder, monkeypatch):
    looked = []
    make_room = cache._make_room
    monkeypatch.setattr(cache, "_make_room", lambda place: looked.append(make_room(place)))
    monkeypatch.setattr(cache, "_ROOM", 100_000)
    monkeypatch.setattr(cache, "_LOOK", 16)
    for k in range(400):
        cache.store(sha256(bytes([k % 256, k // 256])).hexdigest(), {}, bytes(1000))
    assert 10 < len(looked) < 50  # 25 are expected of 400 random names
    assert sum(f.stat().st_size for f in folder.iterdir()) < 200_000


def dated(path: Path, content: bytes = b"x" * 1000) -> Path:
    """A file that has not been used for a long time: the first to go, if it were the cache's."""
    path.write_bytes(content)
    os.utime(path, (1e9, 1e9))
    return path


@pytest.mark.parametrize(
    "name",
    ["notes.txt", ".new-chapter", ".new-draft.txt", "ab" * 32, "AB" * 32 + ".appell-kernel"],
)
def test_files_of_others_neither_make_room_nor_are_cleared(folder, monkeypatch, name):
    folder.mkdir(mode=0o700)
    other = dated(folder / name)
    monkeypatch.setattr(cache, "_ROOM", 1)
    torque()
    assert [f.name for f in folder.iterdir()] == [name]  # the cache's own file has gone
    monkeypatch.setattr(cache, "_ROOM", 10**9)
    torque()
    assert len(list(folder.iterdir())) == 2
    cache.clear()
    assert [f.name for f in folder.iterdir()] == [name]
    assert other.read_bytes() == b"x" * 1000


def test_room_is_counted_without_the_files_of_others(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    (folder / "data.bin").write_bytes(bytes(200_000))
    monkeypatch.setattr(cache, "_ROOM", 100_000)
    torque()
    assert torque()[1]


def test_scratch_files_of_killed_processes_are_cleared(folder):
    folder.mkdir(mode=0o700)
    dated(folder / ".new-abc_1234.appell-kernel")
    cache.clear()
    assert not list(folder.iterdir())


def obstacle(kind: str, path: Path, outside: Path) -> None:
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(outside)
        case "dangling link":
            path.symlink_to(outside.with_name("missing"))


@pytest.mark.parametrize("kind", ["fifo", "folder", "link", "dangling link"])
def test_what_is_no_file_is_not_followed_waited_for_or_removed(folder, tmp_path, monkeypatch, kind):
    """A FIFO has no writer here: whoever opens it as a file waits for ever."""
    expected, _ = torque()
    (kernel,) = folder.iterdir()
    outside = tmp_path / "outside"
    kernel.rename(outside)
    content = outside.read_bytes()
    obstacle(kind, kernel, outside)
    before = kernel.lstat()
    monkeypatch.setattr(cache, "_ROOM", 1)
    for _ in range(2):
        with pytest.warns(cache.CacheWarning, match="compiled code"):
            result, cached = torque()
        assert not cached
        np.testing.assert_array_equal(result, expected)
    cache.clear()
    after = kernel.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert list(folder.iterdir()) == [kernel]
    assert outside.read_bytes() == content


def test_a_tilde_is_the_users_home(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("APPELL_CACHE", "~/x")
    cache.folder.cache_clear()
    assert cache.folder() == tmp_path / "home" / "x"
    assert not (tmp_path / "~").exists()
    cache.folder.cache_clear()


@pytest.mark.parametrize("chosen", ["relative/caches", "", "."])
def test_a_relative_xdg_cache_home_is_ignored(monkeypatch, tmp_path, chosen):
    """As the XDG Base Directory Specification says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", chosen)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("APPELL_CACHE")
    cache.folder.cache_clear()
    assert cache.folder() == tmp_path / "home" / ".cache" / "appell" / "kernels"
    assert [f.name for f in tmp_path.iterdir()] == ["home"]
    cache.folder.cache_clear()


def test_processes_that_compile_at_once_do_not_disturb_each_other(folder):
    script = (
        "import appell, numpy as np\n"
        "x = np.linspace(-1, 1, 6)\n"
        "print(appell.load('puma560').inverse_dynamics(x, x, x).tobytes().hex())\n"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    answers = {run.communicate(timeout=120)[0] for run in runs}
    assert [run.returncode for run in runs] == [0] * 4
    assert len(answers) == 1
    assert [Path(f).name.startswith(".new-") for f in folder.iterdir()] == [False]
