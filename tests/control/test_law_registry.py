"""Laws by name: one table for all commands, and laws of the user's own files beside it."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import appell
from appell import control
from appell.cli import app
from appell.control.laws import LAWS, law_named
from appell.rig import read_log

OWN = """
from dataclasses import dataclass
from typing import Any, ClassVar

from appell.control import Law
from appell.control.laws.feedback import gravity, pd
from appell.control.laws.gains import Kind
from appell.maths.lists import plus

@dataclass(frozen=True, eq=False, repr=False)
class Spring(Law):
    k: Any = 30.0
    d: Any = 8.0
    gains: ClassVar = {"k": Kind(), "d": Kind()}

    @staticmethod
    def equation(model, q, v, desired, k, d):
        return plus(gravity(model, q), pd(model, q, v, desired, k, d))
"""


def test_every_law_of_the_library_has_a_name():
    values = [getattr(control, name) for name in control.__all__]  # loaded when they are first used
    public = {x for x in values if isinstance(x, type) and issubclass(x, control.Law)}
    assert set(LAWS.values()) == public - {control.Law}
    for name, law in LAWS.items():
        assert law_named(name) is law_named(law.__name__) is law
        assert name.replace("-", "") == law.__name__.lower()
        file = name.replace("-", "_")
        assert law.__module__ == f"appell.control.laws.{file}"


def test_another_name_is_refused():
    with pytest.raises(appell.InputError, match="law 'magic'; expected one of tracking-integral, "):
        law_named("magic")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A law in a file of the user's own, in the working folder."""
    (tmp_path / "springs.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda *words: CliRunner().invoke(app, [*words])
    sys.modules.pop("springs", None)


def test_a_law_of_a_users_file_tracks_moves_the_rig_and_is_exported(own, tmp_path):
    import springs

    robot = appell.load("two_link")
    pd = control.PDGravity(robot, kp=30.0, kd=8.0)
    law = springs.Spring(robot)
    ours, theirs = (control.track(robot, x, [0.2, 0.1], q0=[0, 0], until=0.5) for x in (law, pd))
    np.testing.assert_array_equal(ours.q, theirs.q)

    chosen = ("--law", "springs:Spring", "--gain", "k=900,900,300,20,20,2", "--gain", "d=99")
    move = ("move", "--to", "5,-40,65,5,35,5", "--channel", "lockstep", "--log", "a.mcap")
    result = own("control", *move, *chosen)
    assert result.exit_code == 0, result.output
    shown = "<Spring of puma560: k=(900, 900, 300, 20, 20, 2), d=99>"
    assert read_log(tmp_path / "a.mcap").metadata["law"] == shown

    result = own("export", "puma560", *chosen)
    assert result.exit_code == 0, result.output
    assert shown in (tmp_path / "puma560_Spring" / "puma560_Spring.h").read_text()
