"""Arms with spherical wrists of many builds, as URDF files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import appell

LINK = """<link name="{}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1"
iyz="0" izz="1"/></inertial></link>"""


@dataclass(frozen=True)
class Build:
    """Where each joint sits on the one before, at rest: an elbow arm that points along x."""

    base_rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    base_xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    shoulder: tuple[float, float, float] = (0.0, 0.0, 0.4)
    elbow: tuple[float, float, float] = (0.0, 0.0, 0.5)
    wrist: tuple[float, float, float] = (0.45, 0.0, 0.03)
    bend: float = 0.0  # of axis 6 from axis 4
    signs: tuple[int, ...] = (1, 1, 1, 1, 1, 1)
    slide: bool = False
    tool_xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    tool_rpy: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def urdf(self) -> str:
        kinds = ["revolute"] * 6
        axes = ["z", "y", "y", "x", "y", "x"]
        if self.slide:
            kinds[2], axes[2] = "prismatic", "x"
        places = [self.base_xyz, self.shoulder, self.elbow, self.wrist, (0, 0, 0), (0, 0, 0)]
        turns = [self.base_rpy, *[(0, 0, 0)] * 4, (0, self.bend, 0)]
        text = ['<robot name="arm">', LINK.format("l0")]
        for i in range(6):
            axis = [str(self.signs[i] * (axes[i] == c)) for c in "xyz"]
            text += [
                f'<joint name="j{i + 1}" type="{kinds[i]}"><parent link="l{i}"/>'
                f'<child link="l{i + 1}"/>{_origin(places[i], turns[i])}'
                f'<axis xyz="{" ".join(axis)}"/>'
                '<limit lower="-100" upper="100" effort="100" velocity="10"/></joint>',
                LINK.format(f"l{i + 1}"),
            ]
        text += [
            '<joint name="grip" type="fixed"><parent link="l6"/><child link="tool"/>'
            f'{_origin(self.tool_xyz, self.tool_rpy)}</joint><link name="tool"/></robot>'
        ]
        return "\n".join(text)

    def load(self, folder: Path) -> appell.Robot:
        file = folder / "arm.urdf"
        file.write_text(self.urdf())
        return appell.load(file)


def _origin(xyz: tuple[float, ...], rpy: tuple[float, ...]) -> str:
    numbers = [" ".join(map(repr, map(float, x))) for x in (xyz, rpy)]
    return f'<origin xyz="{numbers[0]}" rpy="{numbers[1]}"/>'


PLAIN = Build()
BUILDS = {
    "plain": PLAIN,
    "shoulder off the base's axis": replace(PLAIN, shoulder=(0.15, 0.0, 0.4)),
    "behind it, and beside": replace(PLAIN, shoulder=(-0.1, 0.2, 0.4), elbow=(0.1, -0.05, 0.5)),
    "beside to the right": replace(PLAIN, shoulder=(0.0, -0.2, 0.4)),
    "turned joints": replace(PLAIN, signs=(-1, -1, 1, -1, -1, 1), shoulder=(0.1, 0.1, 0.3)),
    "more turned joints": replace(PLAIN, signs=(1, 1, -1, 1, -1, -1), shoulder=(0.1, 0.1, 0.3)),
    "a bent hand": replace(PLAIN, bend=0.7),
    "a tool": replace(PLAIN, tool_xyz=(0.1, -0.05, 0.2), tool_rpy=(0.4, -0.3, 1.1)),
    "on a wall": replace(PLAIN, base_rpy=(0.3, -1.2, 0.5), base_xyz=(1.0, -2.0, 0.5)),
    "a slide": replace(PLAIN, slide=True, elbow=(0.3, 0.1, 0.05), wrist=(0.1, 0.0, 0.0)),
    "a slide and all": replace(
        PLAIN, slide=True, shoulder=(0.1, 0.15, 0.4), elbow=(0.3, 0.1, 0.05), bend=-0.4,
        signs=(-1, 1, -1, 1, -1, 1), tool_xyz=(0.1, 0.0, 0.1), base_rpy=(1.0, 2.0, 3.0),
    ),
}  # fmt: skip


def random_positions(robot: appell.Robot, n: int, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng(seed)
    q = draw.uniform(-np.pi, np.pi, (n, robot.nv))
    slides = [joint.kind == "prismatic" for joint in robot.model.joints]
    q[:, slides] = draw.uniform(0.1, 0.9, (n, sum(slides)))
    return q
