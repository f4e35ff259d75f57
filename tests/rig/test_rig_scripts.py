"""Laws that are defined in the script that runs them: the loop, in another process, knows them."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np
import appell
from appell import rig
from appell.control import TrackingIntegral, quintic
from beside import WORD

print("read")

class Mine(TrackingIntegral):
    word = ""

    def __call__(self, *arguments, **options):
        raise ValueError(self.word)

def main():
    law = Mine(appell.load("puma560"))
    law.word = WORD
    start = np.radians([0, -45, 60, 0, 30, 0])
    report = rig.run(law, quintic(start, start + 0.1, 1.0), channel="shm")
    print(report.reason)

"""
GUARD = "if __name__ == '__main__':"


@pytest.fixture
def said(tmp_path):
    """What a script with such a last line says; a module lies beside it."""
    (tmp_path / "beside.py").write_text("WORD = 'own law, own word'")

    def run(last, *how):
        for name in ("script.py", "__main__.py"):
            (tmp_path / name).write_text(SCRIPT + last)
        shutil.make_archive(tmp_path.parent / f"{tmp_path.name}-all", "zip", tmp_path)
        (tmp_path.parent / f"{tmp_path.name}-all.zip").rename(tmp_path / "all.zip")
        command = [sys.executable, *(how or (tmp_path / "script.py",))]
        where = tmp_path if how else None
        options = {"capture_output": True, "text": True, "timeout": 300, "cwd": where}
        return subprocess.run(command, **options)

    return run


@pytest.mark.parametrize("how", [(), ("-m", "script"), (".",), ("all.zip",)])
def test_a_law_of_the_script_that_runs(said, how):
    result = said(f"{GUARD} main()", *how)
    assert result.stdout == "read\nlaw: ValueError: own law, own word\n", result.stderr


def test_a_script_that_would_run_again_is_told_how_not_to(said):
    result = said("main()")
    assert result.returncode == 1
    assert f"put what the script does under {GUARD}." in result.stderr


def test_a_law_of_a_session_is_refused(said):
    result = said("", "-c", f"{SCRIPT}main()")
    assert "put it in a file, and import it from there" in result.stderr
