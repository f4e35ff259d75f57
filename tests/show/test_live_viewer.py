"""``appell control move --view`` in a real browser, while the simulated arm moves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from tests.viewer_pages import DRAWN, until

# The command in a process of its own, as a user starts it; but with slow cycles and wide limits, so
# that a machine that is busy with other things does not make a fault of its own, and without
# shadows, which take most of the time where there is no graphics card.
COMMAND = """
import signal
from dataclasses import replace
from functools import partial

import viser

from appell.cli import app
from appell.rig import Limits, puma560_machine
from appell.rig.loop import run_setup

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
slow = replace(puma560_machine(), period=0.005, watchdog=200)
wide = Limits(missed=200, late=400, echo=400, state=400, overrun=400)
run_setup.setup = partial(run_setup.setup, machine=slow, limits=wide)
begin = viser.ViserServer.__init__


def begun(server, **options):
    begin(server, **options)
    server.scene.configure_environment_map(None)
    server.scene.configure_default_lights(True, cast_shadow=False)


viser.ViserServer.__init__ = begun
app()
"""
# Longer than a slow machine takes to open the page.
MOVE = "control move puma560 --to 100,-45,60,0,30,0 --duration 600 --log live.mcap --view"


def test_the_arm_is_seen_moving_until_control_c(tmp_path, opened):
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *MOVE.split()], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "BROWSER": "true"},
    ) as process:  # fmt: skip
        try:
            page = opened(process.stderr.readline().strip())
            cells = page.locator('[data-table="live"] td[data-value]')
            cells.last.wait_for()
            canvas = page.locator("canvas[data-engine]").first
            slider = page.get_by_role("slider").first
            numbers, pictures = set(), {}

            def moves():
                position = slider.get_attribute("aria-valuenow")
                if position not in pictures:
                    pictures[position] = canvas.evaluate(DRAWN)
                    numbers.add(cells.first.get_attribute("data-value"))
                return min(len(numbers), len({*pictures.values()})) > 2

            until(moves)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130, errors
    assert "interrupted" in output
    assert (tmp_path / "live.mcap").exists()
