"""What five_bar_workspace.toml maximises: how much of a wanted workspace a five-bar linkage has."""

import numpy as np

import appell

# Where the tool is wanted: 0.8 m by 0.3 m, seen from the middle between the motors.
WANTED = np.stack(np.meshgrid(np.linspace(-0.4, 0.4, 13), np.linspace(0.3, 0.6, 5)), -1)
NIMBLE = 0.5  # of the least over the largest gain from motors to tool; 1 is best
STEP = 1e-6  # m, of differences


def workspace(ground, arm, forearm):
    """The share of wanted places that are reached with dexterity, and the length of all bars, m."""
    robot = appell.load("five_bar", ground=ground, arm=arm, forearm=forearm)
    places = WANTED.reshape(-1, 2) + [ground / 2, 0]
    nimble = np.array([dexterity(robot, place) for place in places])
    return {
        "share": np.mean(nimble > NIMBLE),
        "dexterity": np.mean(nimble),
        "bars": 2 * (arm + forearm),
    }


def dexterity(robot, place):
    """The least over the largest singular value of the map from motors to tool: 0 where the place
    is out of reach, or at its edge."""
    around = place + STEP * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    try:
        q = robot.inverse_kinematics(around)[:, robot.coordinates()]
    except appell.InputError:
        return 0.0
    least, largest = np.linalg.svd(np.stack([q[0] - q[1], q[2] - q[3]]), compute_uv=False)[::-1]
    return least / largest
