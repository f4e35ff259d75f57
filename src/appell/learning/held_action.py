"""A few steps of many runs under actions that are held: a rollout that is prepared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.compile.programs import compiled
from appell.control.hardware_numbers import motors
from appell.control.laws.law import Law
from appell.control.rollouts.payload import Payload
from appell.control.rollouts.rollout import SLIP
from appell.control.rollouts.rollout_setup import RolloutSetup, refuse_other_robot
from appell.errors import InputError
from appell.given import number, optional, whole
from appell.robots.dynamics import Array, Dynamics
from appell.walls import Wall

Given = Any  # one for all runs, or one per run


class HeldAction:
    """``steps`` steps of ``dt`` of ``count`` runs, as :func:`appell.rollout` takes them, with the
    kernel and everything that stays made once: a call costs little more than its steps.

    An action is the torques of the actuators, or with a law the positions that it holds. What a
    run's law remembers is kept from call to call, until ``forget`` is told that it starts anew.
    """

    def __init__(
        self,
        robot: Dynamics,
        law: Law | None,
        count: int,
        steps: int,
        dt: float,
        *,
        integrator: str = "rk4",
        substeps: int = 1,
        torque_limit: Given = None,
        parameters: Mapping[str, Given] | None = None,
        payload: Payload | None = None,
        viscous: Given = None,
        coulomb: Given = None,
        slip: float = SLIP,
        walls: Sequence[Wall] | Wall = (),
        points: Any = None,
        stops: bool = False,
        restitution: float = 1.0,
        stop_restitution: float = 0.0,
        mu: float = 0.0,
        formulation: str | None = None,
        dtype: Any = "float64",
    ) -> None:
        optional("VectorEnv: law", law, Law, "one such as ComputedTorque(robot), or None")
        refuse_other_robot("VectorEnv", robot, law)
        setup = RolloutSetup(robot, None, number("dt", dt), count, integrator, dtype)
        still = np.zeros((count, robot.nv))
        q = np.tile(robot.neutral(), (count, 1))
        setup.motion(None, q, still, whole("steps", steps, 1))
        values, program = setup.values, setup.program
        setup.plant(parameters, payload)
        slip, parts = number("slip", slip), whole("substeps", substeps, 1)
        setup.friction(viscous, coulomb, slip, setup.dt / parts)
        if law is None:
            acting = motors(robot)
            self.size = len(acting)
            values.input("asked", np.zeros((count, self.size)), (self.size,), "action")

            def torques(asked: Any) -> Any:
                given = dict(zip(acting, asked, strict=True))
                return [given.get(k, 0.0) for k in range(program.nd)]

            program.each.append(values.tape(torques, ["asked"], ["tau"]))
        else:
            if robot.nq != robot.nv:
                raise InputError(
                    f"actions as positions that a law holds are for robots whose coordinates are "
                    f"their joints; '{robot.name}' has {robot.nq} coordinates and {robot.nv} "
                    "speeds. Leave the law out: actions are then torques."
                )
            self.size = robot.nq
            values.input("qd", q, (robot.nq,), "action")
            values.constant("vd", np.zeros(robot.nv))
            values.constant("ad", np.zeros(robot.nv))
            program.control(law, {})
            if law.nstate:
                values.input("state0", np.tile(law.initial, (count, 1)), (law.nstate,), "state")
                program.begin(("state", "state0"))
                program.outputs.append("state")
        program.drive(0, setup.limited(torque_limit), False)
        watched = [x for x in setup.unasked() if x not in ("first_violation", "failed_at")]
        program.watch(watched, False)
        program.move(
            setup.integrator,
            parts,
            formulation,
            slip,
            setup.struck(walls, points, stops, (restitution, stop_restitution, mu)),
        )
        program.outputs.append("tau")
        made = program.program(())
        self.kernel = compiled(made, setup.dtype, f"compiling steps of {robot.name}")
        kind = self.kernel.dtype
        self._held = {
            name: np.array(x, kind, order="C")  # a copy: the caller's arrays may change
            for name, x in values.inputs.items()
            if name in self.kernel.program.inputs
        }
        self._table = np.concatenate([values.tables[x] for x in made.tables], axis=1).astype(kind)
        self._action = "asked" if law is None else "qd"
        self._initial = None if law is None or not law.nstate else np.array(law.initial)
        self._count, self._steps = count, steps

    def __call__(self, q: Array, v: Array, action: Array) -> tuple[Array, Array, Array, Any]:
        """q, v, the torques in the last step, and which runs failed: (count, ...) each."""
        self._held |= {"q0": q, "v0": v, self._action: action}
        _, found = self.kernel(self._count, self._held, self._table, {}, self._steps)
        if self._initial is not None:
            self._held["state0"] = found["state"]
        q, v = found["q"], found["v"]
        lost = ~(np.isfinite(q).all(1) & np.isfinite(v).all(1))  # what is lost stays lost
        for name in ("singular_at", "unsolved_at"):
            if name in found:
                lost |= np.isfinite(found[name][:, 0])
        return q, v, found["tau"], lost

    def forget(self, runs: npt.NDArray[np.bool_]) -> None:
        """Start the law anew in these runs, True for each."""
        if self._initial is not None:
            self._held["state0"][runs] = self._initial
