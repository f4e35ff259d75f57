"""The worked driver: CiA 402 drives over python-can's virtual bus."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import can
import numpy as np
import pytest

import appell
from appell.rig import Command, Hardware, Order, Status
from appell.rig.machine.simulated_machine import Rig

PATH = Path(__file__).parents[2] / "examples" / "can_driver.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("can_driver", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def pair(example):
    """A driver and simulated drives on one bus."""
    robot = appell.load("planar_chain", n=2, length=0.5, mass=4.0)
    rig = Rig(robot, example.MACHINE, [-1.2, 0.6])
    drives = example.SimulatedDrives(can.Bus("pair", interface="virtual"), rig)
    driver = example.CanDriver(can.Bus("pair", interface="virtual"), example.MACHINE)
    drives.start()
    yield driver, drives
    drives.over.set()
    drives.join()
    driver.close()


def test_an_arm_moves_over_the_bus(example):
    report = example.main("whole")
    assert report.ok, report.reason
    assert report.max_error < 0.1
    assert report.missed_readings == 0


def test_drives_are_led_through_their_states(example, pair):
    driver, drives = pair
    assert isinstance(driver, Hardware)
    zero = example.MACHINE.dac(np.zeros(2))
    words = []
    for k in range(1, 7):
        reading = driver.read(5.0)
        words.append(int(driver.words[0]))
        driver.write(Command(k, 0, Order.ENABLE | Order.RELEASE | Order.TOOL_2, zero))
        assert reading.cycle == k
        assert reading.echo == k - 1
    assert words == [0x40, 0x21, 0x23, 0x27, 0x27, 0x27]
    assert reading.status == Status.POWERED
    assert drives.tools == 2
    driver.write(Command(7, 0, 0, zero))
    driver.read(5.0)
    assert driver.read(5.0).status == Status.BRAKED
    assert drives.rig.safe


def test_codes_become_thousandths_of_the_torque(example, pair):
    driver, drives = pair
    driver.read(5.0)
    driver.write(Command(1, 0, Order.ENABLE, example.MACHINE.dac(np.array([5.0, -10.0]))))
    driver.read(5.0)
    assert drives.torque.tolist() == [500, -1000]


def test_a_drive_in_fault_is_not_switched_on(example, pair):
    driver, _ = pair
    driver.words[:] = [0x08, 0x27]
    assert driver._controlword(0, True) == example.OFF
    assert driver._controlword(1, True) == 0x0F
    assert driver._controlword(1, False) == example.OFF


def test_a_silent_device_is_no_reading(example):
    driver = example.CanDriver(can.Bus("alone", interface="virtual"), example.MACHINE)
    assert driver.read(0.01) is None
    driver.close()
