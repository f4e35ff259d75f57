"""One robot here and in Pinocchio, in the same random state: a random tree, or a known robot."""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi
import numpy as np
import pinocchio as pin

import appell
from appell.model.build import assemble
from appell.model.library.example_robots import example_file
from appell.model.library.random import random_inertia
from appell.robots.recipe import equation_of, recipe_for

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "engines")]

from batches import answer  # noqa: E402  # what tests of engines use lies with the tests
from kinds_of_joints import described, in_pinocchio, orders  # noqa: E402

LINKS = 3  # of each robot whose frames are compared


class Both:
    """One robot here and there, in the same random state."""

    def __init__(self, name: str, robot: appell.Robot, other: Any, draw: Any) -> None:
        self.name, self.robot, self.other, self.data = name, robot, other, other.createData()
        self.q = robot.random(draw)
        self.v, self.a, self.tau = draw.normal(size=(3, robot.nv))
        self.to, self.push = 0.3 * draw.normal(size=robot.nv), draw.normal(size=6)
        self.iv = orders(other, robot.joint_names)[1]
        self.chosen = draw.permutation(sorted(self.links))[:LINKS]

    @classmethod
    def tree(cls, seed: int, base: str) -> Both:
        """A random tree with joints of every kind."""
        links, hinges = described(2 + seed % 5, seed)
        draw = np.random.default_rng(seed)
        links["base"] = random_inertia(draw)
        robot = appell.Robot(assemble(f"tree {seed}", links, hinges, base=base))
        return cls(f"{base} tree {seed}", robot, in_pinocchio(links, hinges, base == "free"), draw)

    @classmethod
    def real(cls, name: str, base: str) -> Both:
        """A robot of example-robot-data; joints that mimic are independent, as they are there."""
        robot = appell.load(name, base=base, mimic=False, physical=False)
        root = (pin.JointModelFreeFlyer(),) if base == "free" else ()
        other = pin.buildModelFromUrdf(str(example_file(name)), *root)
        if root:
            other.names[1] = "free"
        return cls(f"{base} {name}", robot, other, np.random.default_rng(len(name)))

    @cached_property
    def links(self) -> dict[str, int]:
        """The frames that both have: Pinocchio has none of a fixed base."""
        body = pin.FrameType.BODY
        known = {x: self.other.getFrameId(x, body) for x in self.robot.link_names}
        return {x: k for x, k in known.items() if k < self.other.nframes}

    def there(self, *speeds: Any, at: Any = None) -> list[Any]:
        """The state, and what goes with the speeds, in Pinocchio's order."""
        given = [self.v, *speeds]
        moved = [np.empty(self.other.nv) for _ in given]
        for x, y in zip(moved, given, strict=True):
            x[self.iv] = y
        return [self._coordinates(self.q if at is None else at), *moved]

    def _coordinates(self, ours: Any) -> Any:
        """Joint by joint; one without limits has there the cosine and sine of its angle."""
        q, at = np.empty(self.other.nq), 0
        compounds = {c.speed: c for c in self.robot.model.compounds}
        k = 0
        while k < self.robot.nv:
            on = compounds.get(k)
            name, speeds = (on.name, on.size) if on else (self.robot.joint_names[k], 1)
            joint = self.other.joints[self.other.getJointId(name)]
            x = ours[at : (at := at + speeds + (on is not None))]
            if not on and joint.nq == 2:
                x = np.array([np.cos(x[0]), np.sin(x[0])])
            q[joint.idx_q : joint.idx_q + joint.nq] = x
            k += speeds
        return q

    def ask(self, quantity: str, *states: Any, **options: Any) -> Any:
        """Our answer, from the equation as it is written."""
        return answer(self.robot, quantity, *(np.array(x)[None] for x in states), **options)[0]

    def pushed(self, axes: str, links: Any) -> Any:
        """The same wrench on some links, as Pinocchio wants it."""
        model, data = self.other, self.data
        pin.framesForwardKinematics(model, data, self.there()[0])
        on = pin.StdVec_Force()
        on.extend(pin.Force.Zero() for _ in range(model.njoints))
        for link in links:
            k = self.links[link]
            R = data.oMf[k].rotation.T if axes == "base" else np.eye(3)
            w = pin.Force(R @ self.push[:3], R @ self.push[3:])
            joint = model.frames[k].parentJoint
            on[joint] = on[joint] + model.frames[k].placement.act(w)
        return on

    def derivatives(self, quantity: str, by: str, *states: Any, **options: Any) -> list[Any]:
        """Of the equation on CasADi's symbols, by each of the inputs named, along the speeds."""
        system = self.robot.system
        recipe = recipe_for(system, quantity, regroup=False, **options)
        x = [casadi.SX.sym(f"x{k}", len(state)) for k, state in enumerate(states)]
        y = casadi.vertcat(*equation_of(system, recipe)(*map(casadi.vertsplit, x)))
        found = [casadi.jacobian(y, x["qva".index(name)]) for name in by.replace("t", "a")]
        if by[0] == "q" and system.tangent is not None:
            rows = system.tangent(system.subject({}, False), casadi.vertsplit(x[0]))
            found[0] = found[0] @ casadi.vertcat(*(casadi.horzcat(*row) for row in rows))
        return [np.array(z) for z in casadi.Function("derivatives", x, found).call([*states])]
