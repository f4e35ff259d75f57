"""Robots of the package example-robot-data (https://github.com/Gepetto/example-robot-data), by the
names it gives them. It holds files only; ``pip install example-robot-data`` brings them. The
package robot_descriptions, if it is there instead, clones the same files when it is first asked."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from appell.errors import ModelError

PACKAGE = "example-robot-data"


class ExampleRobot(NamedTuple):
    """Its file in the package, and whether it stands on no ground."""

    file: str
    free: bool = False


EXAMPLES = {
    "a1": ExampleRobot("a1_description/urdf/a1.urdf", free=True),
    "allegro_left_hand": ExampleRobot("allegro_hand_description/urdf/allegro_left_hand.urdf"),
    "allegro_right_hand": ExampleRobot("allegro_hand_description/urdf/allegro_right_hand.urdf"),
    "anymal": ExampleRobot("anymal_b_simple_description/robots/anymal.urdf", free=True),
    "anymal_c": ExampleRobot("anymal_c_simple_description/urdf/anymal.urdf", free=True),
    "anymal_kinova": ExampleRobot("anymal_b_simple_description/robots/anymal-kinova.urdf", True),
    "asr_twodof": ExampleRobot("asr_twodof_description/urdf/TwoDofs.urdf"),
    "b1": ExampleRobot("b1_description/urdf/b1.urdf", free=True),
    "b1_z1": ExampleRobot("b1_description/urdf/b1-z1.urdf", free=True),
    "baxter": ExampleRobot("baxter_description/urdf/baxter.urdf"),
    "bolt": ExampleRobot("bolt_description/robots/bolt.urdf", free=True),
    "borinot": ExampleRobot("borinot_description/urdf/borinot_flying_arm_2.urdf", free=True),
    "centauro": ExampleRobot("centauro_description/urdf/centauro.urdf", free=True),
    "double_pendulum": ExampleRobot("double_pendulum_description/urdf/double_pendulum.urdf"),
    "finger_edu": ExampleRobot("finger_edu_description/robots/finger_edu.urdf"),
    "g1": ExampleRobot("g1_description/urdf/g1_29dof_rev_1_0.urdf", free=True),
    "g1_with_hands": ExampleRobot("g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf", free=True),
    "go1": ExampleRobot("go1_description/urdf/go1.urdf", free=True),
    "go2": ExampleRobot("go2_description/urdf/go2.urdf", free=True),
    "hector": ExampleRobot("hector_description/robots/quadrotor_base.urdf", free=True),
    "hextilt": ExampleRobot("hextilt_description/urdf/hextilt_flying_arm_5.urdf", free=True),
    "human": ExampleRobot("human_description/robots/human.urdf", free=True),
    "hyq": ExampleRobot("hyq_description/robots/hyq_no_sensors.urdf", free=True),
    "icub": ExampleRobot("icub_description/robots/icub.urdf", free=True),
    "icub_reduced": ExampleRobot("icub_description/robots/icub_reduced.urdf", free=True),
    "iris": ExampleRobot("iris_description/robots/iris_simple.urdf", free=True),
    "kinova": ExampleRobot("kinova_description/robots/kinova.urdf"),
    "laikago": ExampleRobot("laikago_description/urdf/laikago.urdf", free=True),
    "panda": ExampleRobot("panda_description/urdf/panda.urdf"),
    "pr2": ExampleRobot("pr2_description/urdf/pr2.urdf", free=True),
    "quadruped": ExampleRobot("quadruped_description/urdf/quadruped.urdf", free=True),
    "romeo": ExampleRobot("romeo_description/urdf/romeo.urdf", free=True),
    "simple_humanoid": ExampleRobot("simple_humanoid_description/urdf/simple_humanoid.urdf", True),
    "so100": ExampleRobot("so_arm_description/urdf/so100.urdf"),
    "so101": ExampleRobot("so_arm_description/urdf/so101.urdf"),
    "solo8": ExampleRobot("solo_description/robots/solo.urdf", free=True),
    "solo12": ExampleRobot("solo_description/robots/solo12.urdf", free=True),
    "talos": ExampleRobot("talos_data/robots/talos_reduced.urdf", free=True),
    "talos_arm": ExampleRobot("talos_data/robots/talos_left_arm.urdf"),
    "talos_full": ExampleRobot("talos_data/robots/talos_full_v2.urdf", free=True),
    "tiago": ExampleRobot("tiago_description/robots/tiago.urdf"),
    "tiago_dual": ExampleRobot("tiago_description/robots/tiago_dual.urdf"),
    "tiago_no_hand": ExampleRobot("tiago_description/robots/tiago_no_hand.urdf"),
    "tiago_pro": ExampleRobot("tiago_pro_description/robots/tiago_pro.urdf"),
    "ur3": ExampleRobot("ur_description/urdf/ur3_robot.urdf"),
    "ur5": ExampleRobot("ur_description/urdf/ur5_robot.urdf"),
    "ur5_gripper": ExampleRobot("ur_description/urdf/ur5_gripper.urdf"),
    "ur10": ExampleRobot("ur_description/urdf/ur10_robot.urdf"),
    "xarm7": ExampleRobot("xarm_description/urdf/xarm7.urdf"),
    "z1": ExampleRobot("z1_description/urdf/z1.urdf"),
}


def packaged_file(name: str) -> Path | None:
    """The file of a robot, if the package is installed and has it."""
    paths = (folder / EXAMPLES[name].file for folder in robot_folders())
    return next((path for path in paths if path.is_file()), None)


def example_file(name: str) -> Path:
    """The file of a robot of the package; refused if neither the package nor robot_descriptions is
    there."""
    path = packaged_file(name) or _cloned_file(name)
    if path is not None:
        return path
    there = any(folder.is_dir() for folder in robot_folders())
    why = (
        f"the release that is installed has no {EXAMPLES[name].file}"
        if there
        else ("which is not installed")
    )
    raise ModelError(
        f"'{name}' is a robot of the package {PACKAGE}, {why}; pip install -U {PACKAGE}, or give "
        "the path of a .urdf file."
    )


def _cloned_file(name: str) -> Path | None:
    """The file as robot_descriptions has it, if that is installed."""
    try:
        panda = import_module("robot_descriptions.panda_description")
    except ImportError:
        return None
    except Exception as problem:  # of the network, or of git
        raise ModelError(
            f"'{name}': robot_descriptions cannot get its files ({problem}); pip install {PACKAGE} "
            "brings them."
        ) from None
    path = Path(panda.REPOSITORY_PATH) / "robots" / EXAMPLES[name].file
    return path if path.is_file() else None


def robot_folders() -> list[Path]:
    """The folders where the package may have put its robots."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        own = [Path(str(distribution(PACKAGE).locate_file("cmeel.prefix")))]
    except PackageNotFoundError:
        own = []
    return [folder / "share" / PACKAGE / "robots" for folder in (*own, Path(sys.prefix))]
