"""Write docs/answers.md, what each kind of robot answers, by asking one of each: ``make pictures``.

python docs/answers.py
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import appell
from appell.errors import AppellError

ROBOTS: dict[str, tuple[str, dict[str, Any]]] = {
    "tree": ("two_link", {}),
    "free tree": ("free_chain", {"n": 1}),
    "closed": ("four_bar", {}),
    "wheels": ("rolling_disc", {}),
    "spherical": ("agile_wrist", {}),
}

HEAD = """# Which robot answers which method

One robot of each kind was asked; where it refuses, the reason is below. `inverse_kinematics`,
`servo` and `track` are functions of `appell.control`, `simulate` is `appell.simulate`, `export` is
`appell.export.c`. Written by `python docs/answers.py`.

"""


def questions() -> dict[str, Callable[[Any], Any]]:
    """What is asked of a robot, by the name that the table shows."""

    def state(robot: Any) -> tuple[Any, Any, Any]:
        q, v, a = robot.states_to_check(1, np.random.default_rng(0))
        return q[0], 0.1 * v[0], a[0]

    def tau(robot: Any) -> list[Any]:
        d = robot.system.size("d")
        return [np.zeros(d)] if d else []

    def push(robot: Any) -> dict[str, Any]:
        return {robot.link_names[-1]: np.ones(6)}

    def quantity(name: str, n: int) -> Callable[[Any], Any]:
        return lambda robot: getattr(robot, name)(*state(robot)[:n])

    def law(robot: Any) -> Any:
        return appell.control.ComputedTorque(robot, kp=100, kd=20)

    asked: dict[str, Callable[[Any], Any]] = {
        name: quantity(name, n)
        for name, n in {
            "inverse_dynamics": 3, "mass_matrix": 1, "coriolis_matrix": 2, "gravity": 1, "bias": 2,
            "regressor": 3, "kinetic_energy": 2, "potential_energy": 1, "gibbs_function": 3,
        }.items()
    }  # fmt: skip
    asked["forward_dynamics"] = lambda r: r.forward_dynamics(*state(r)[:2], *tau(r))
    asked["forward_kinematics"] = lambda r: r.forward_kinematics(state(r)[0], r.link_names[-1])
    asked["jacobian"] = lambda r: r.jacobian(state(r)[0], r.link_names[-1])
    asked["poses"] = quantity("poses", 1)
    for name, n in {"jacobian_rate": 2, "velocity": 2, "acceleration": 3}.items():
        asked[name] = lambda r, name=name, n=n: getattr(r, name)(*state(r)[:n], r.link_names[-1])
    asked["jacobian(axes=, relative_to=)"] = lambda r: r.jacobian(
        state(r)[0], r.link_names[-1], axes="local", relative_to=r.link_names[0]
    )
    asked["inverse_dynamics(forces=)"] = lambda r: r.inverse_dynamics(*state(r), forces=push(r))
    asked["forward_dynamics(forces=)"] = lambda r: r.forward_dynamics(
        *state(r)[:2], *tau(r), forces=push(r)
    )
    for name, n in {
        "centre_of_mass": 1, "centre_of_mass_jacobian": 1, "centre_of_mass_velocity": 2,
        "momentum": 2, "momentum_rate": 3, "momentum_matrix": 1, "momentum_matrix_rate": 2,
        "inverse_mass_matrix": 1, "joint_wrenches": 3, "base_wrench": 3, "momentum_regressor": 2,
        "kinetic_energy_regressor": 2, "potential_energy_regressor": 1,
    }.items():  # fmt: skip
        asked[name] = quantity(name, n)
    asked["operational_inertia(inverse=True)"] = lambda r: r.operational_inertia(
        state(r)[0], r.link_names[-1], inverse=True
    )
    asked["inverse_kinematics"] = lambda r: appell.control.inverse_kinematics(
        r, *_reached(r, state(r)[0]), frame=r.link_names[-1], limits=False
    )
    asked["servo"] = lambda r: appell.control.servo(
        r, state(r)[0], appell.control.FrameTask(r.link_names[-1], velocity=np.zeros(6)), dt=0.01
    )
    asked["inverse_dynamics_derivatives"] = quantity("inverse_dynamics_derivatives", 3)
    asked["forward_dynamics_derivatives"] = lambda r: r.forward_dynamics_derivatives(
        *state(r)[:2], *tau(r)
    )
    asked["kernel(formulation=)"] = lambda r: [
        r.kernel("generalised_forces", formulation=x)
        for x in r.system.quantities["generalised_forces"].formulations
    ]
    asked["kernel(parameters=)"] = lambda r: r.kernel("mass_matrix", parameters="mass")
    asked["kernel(wrt=)"] = lambda r: r.kernel("potential_energy", wrt="q")
    asked["equation"] = lambda r: r.equation("mass_matrix")(state(r)[0].tolist())
    asked["operations"] = lambda r: r.operations("generalised_forces")
    asked["neutral, random"] = lambda r: (r.neutral(), r.random(0))
    asked["integrate"] = lambda r: r.integrate(state(r)[0], np.full(r.nv, 1e-3))
    asked["difference"] = lambda r: r.difference(
        state(r)[0], r.integrate(state(r)[0], np.full(r.nv, 1e-3))
    )
    asked["with_payload"] = lambda r: r.with_payload(
        0.1, **({"link": r.link_names[-1]} if isinstance(r, appell.Robot) else {})
    )
    asked["selfcheck"] = lambda r: r.selfcheck(2)
    asked["to_urdf"] = _written
    asked["simulate"] = lambda r: appell.simulate(r, *state(r)[:2], until=0.01, stops=False)
    asked["simulate(forces=)"] = lambda r: appell.simulate(
        r, *state(r)[:2], until=0.01, stops=False, forces=push(r)
    )
    asked["simulate(walls=)"] = lambda r: appell.simulate(
        r,
        *state(r)[:2],
        until=0.01,
        stops=False,
        walls=appell.walls.Plane((0, 0, 1), -100),
        points={"tip": (r.link_names[-1], (0.1, 0, 0))},
    )
    asked["control laws"] = law
    asked["export"] = _exported
    asked["track"] = lambda r: appell.control.track(
        r, law(r), appell.control.quintic(*_move(r)), until=0.02
    )
    return asked


def _written(robot: Any) -> Any:
    with TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        return robot.to_urdf(Path(folder) / "robot.urdf")


def _reached(robot: Any, q: Any) -> tuple[Any, Any]:
    """A pose of the robot's tip or platform, and coordinates that have it there."""
    return robot.forward_kinematics(q, robot.link_names[-1]), q


def _exported(robot: Any) -> Any:
    with TemporaryDirectory() as folder:
        return appell.export.c(robot.kernel("mass_matrix"), Path(folder) / "out")


def _move(robot: Any) -> tuple[Any, Any, float]:
    here = robot.neutral()[-robot.nv :]
    return here, here + 0.01, 0.5


def table() -> str:
    """The page."""
    robots = {kind: appell.load(name, **options) for kind, (name, options) in ROBOTS.items()}
    lines = [f"| method | {' | '.join(f'{k}: {r.name}' for k, r in robots.items())} |"]
    lines.append("| --- |" + " :---: |" * len(robots))
    reasons: list[str] = []
    for name, ask in questions().items():
        cells = []
        for robot in robots.values():
            try:
                ask(robot)
                cells.append("yes")
            except AppellError as problem:
                text = f"`{name}`: {problem}"
                if text not in reasons:
                    reasons.append(text)
                cells.append(f"no ({reasons.index(text) + 1})")
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    numbered = "\n".join(f"{k}. {text}" for k, text in enumerate(reasons, start=1))
    return HEAD + "\n".join(lines) + "\n\n" + numbered + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "answers.md").write_text(table())
