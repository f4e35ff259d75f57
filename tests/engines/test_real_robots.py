"""Real robots, read from their URDF files by Appell and by Pinocchio, are and move alike.

Joints are matched by name. Pinocchio is not told of <mimic>: its joints follow ours by
q' = G q + s, with G and s taken from the file here, and forces come back by G^T.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio
import pytest
from batches import evaluate

import appell
from appell.errors import ModelError
from appell.model import configuration
from appell.model.description.urdf import read_urdf
from appell.model.model import BASE, Model

# Two computations in float64, of sums over at most 50 bodies; forward dynamics loses digits to
# the condition of M, derivatives to one product more with it.
CLOSE, CLOSE_DERIVATIVE = 1e-10, 1e-8
STATES = 5

ROBOTS = {
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "panda": "panda_description/urdf/panda.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "laikago": "laikago_description/urdf/laikago.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "icub": "icub_description/robots/icub_reduced.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "allegro": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "tiago": "tiago_description/robots/tiago_no_hand.urdf",
    "pr2": "pr2_description/urdf/pr2.urdf",
    "romeo": "romeo_description/urdf/romeo_small.urdf",
}

# Files with a body whose inertia no body has, and the first such link.
UNPHYSICAL = {
    "romeo_description/urdf/romeo_laas_small.urdf": "LShoulderYaw_link",
    "romeo_description/urdf/romeo_small.urdf": "RShoulderYawLink",
}

# Files that are read with repairs, and what is said of them.
REPAIRED = {
    "alex_description/urdf/alex_psyonic_hands.urdf": "joint 'Left_index_q2' mimics 'index_q1'",
}

# Files that describe no robot that moves, and what their errors say.
UNREADABLE = {
    "bluevolta_description/urdf/bluevolta.urdf": "no moving joint",
    "falcon_description/urdf/falcon.urdf": "<child> names link 'Z_propeller'",
    "hector_description/robots/quadrotor_base.urdf": "no moving joint",
    "iris_description/robots/iris_simple.urdf": "no moving joint",
    "ur_description/urdf/ur3.urdf": "<robot> has no name",
}


@cache
def robots() -> dict[str, Path]:
    """The files of the package example-robot-data, by their paths in its folder of robots.

    Its releases differ in their files: what a test names is looked up among those there are.
    """
    files = importlib.metadata.files("example-robot-data") or ()
    found = [Path(str(f.locate())) for f in files if f.suffix == ".urdf"]
    assert found, "example-robot-data brought no URDF files; install appell[test]"
    return {f.as_posix().partition("/example-robot-data/robots/")[2]: f for f in found}


@dataclass(frozen=True)
class Pair:
    """One robot in both libraries, at random states; G and s take our coordinates to theirs."""

    robot: appell.Robot
    model: pinocchio.Model
    G: np.ndarray
    s: np.ndarray
    link: str
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    @classmethod
    def read(cls, path: Path) -> Pair:
        robot = appell.load(path, physical=False)
        model = pinocchio.buildModelFromUrdf(str(path))
        G, s = following(path, robot.joint_names, [*model.names][1:])
        states = np.random.default_rng(robot.nv).uniform(-np.pi, np.pi, (3, STATES, robot.nv))
        return cls(robot, model, G, s, farthest(robot), *states)

    def ask(self, function, *arguments) -> np.ndarray:
        """What a function of Pinocchio's model, data, q and more returns for each state."""
        data = self.model.createData()
        q = [self.coordinates(self.G @ x + self.s) for x in self.q]
        rest = [x @ self.G.T for x in arguments]
        answers = [np.array(function(self.model, data, *x)) for x in zip(q, *rest, strict=True)]
        return np.array(answers)

    def coordinates(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio's configuration: a joint without limits is the cosine and sine of its angle."""
        parts = [
            [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
            for joint, x in zip([*self.model.joints][1:], q, strict=True)
        ]
        return np.concatenate(parts)

    def contracted(self, function, *arguments) -> np.ndarray:
        """Matrices in our coordinates; where there are several, the first axis counts them."""
        return np.moveaxis(self.G.T @ self.ask(function, *arguments) @ self.G, 0, -3)

    @property
    def rnea(self) -> np.ndarray:
        return self.ask(pinocchio.rnea, self.v, self.a) @ self.G

    @property
    def rnea_derivatives(self) -> np.ndarray:
        return self.contracted(pinocchio.computeRNEADerivatives, self.v, self.a)

    @property
    def crba(self) -> np.ndarray:
        return self.contracted(pinocchio.crba)


def following(
    path: Path, ours: tuple[str, ...], theirs: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    mimics = {
        joint.get("name"): joint.find("mimic").attrib
        for joint in ElementTree.parse(path).iterfind("joint[mimic]")
    }
    G, s = np.zeros((len(theirs), len(ours))), np.zeros(len(theirs))
    for i, name in enumerate(theirs):
        mimic = {} if name in ours else mimics[name]
        G[i, ours.index(mimic.get("joint", name))] = float(mimic.get("multiplier", 1))
        s[i] = float(mimic.get("offset", 0))
    return G, s


def farthest(robot: appell.Robot) -> str:
    """The link that most joints move."""
    ancestors = robot.model.ancestors
    moving = [frame for frame in robot.model.frames if frame.body != BASE]
    return max(moving, key=lambda frame: len(ancestors[frame.body])).name


@pytest.fixture(scope="module", params=ROBOTS)
def pair(request) -> Pair:
    return Pair.read(robots()[ROBOTS[request.param]])


def assert_close(ours: np.ndarray, theirs: np.ndarray, tolerance: float = CLOSE) -> None:
    """To a part of the largest magnitude."""
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= tolerance * np.abs(theirs).max()


def test_inverse_dynamics_agrees(pair):
    assert_close(pair.robot.inverse_dynamics(pair.q, pair.v, pair.a), pair.rnea)


def test_forward_dynamics_agrees(pair):
    tau = pair.rnea
    if pair.robot.model.mimics:
        bias = pair.ask(pinocchio.nonLinearEffects, pair.v) @ pair.G
        theirs = np.linalg.solve(pair.crba, (tau - bias)[..., None])[..., 0]
    else:
        theirs = pair.ask(pinocchio.aba, pair.v, tau) @ pair.G
    assert_close(pair.robot.forward_dynamics(pair.q, pair.v, tau), theirs)


def test_mass_matrix_agrees(pair):
    assert_close(pair.robot.mass_matrix(pair.q), pair.crba)


def test_coriolis_forces_agree(pair):
    C = pair.robot.coriolis_matrix(pair.q, pair.v)
    theirs = pair.ask(pinocchio.computeCoriolisMatrix, pair.v) @ (pair.v @ pair.G.T)[..., None]
    assert_close(C @ pair.v[..., None], pair.G.T @ theirs)


def test_gravity_agrees(pair):
    theirs = pair.ask(pinocchio.computeGeneralizedGravity) @ pair.G
    assert_close(pair.robot.gravity(pair.q), theirs)


def test_energies_agree(pair):
    theirs = pair.ask(pinocchio.computeKineticEnergy, pair.v)
    assert_close(pair.robot.kinetic_energy(pair.q, pair.v), theirs)
    theirs = pair.ask(pinocchio.computePotentialEnergy)
    assert_close(pair.robot.potential_energy(pair.q), theirs)


def test_forward_kinematics_agrees(pair):
    frame = pair.model.getFrameId(pair.link, pinocchio.FrameType.BODY)

    def pose(model, data, q):
        pinocchio.framesForwardKinematics(model, data, q)
        return data.oMf[frame].homogeneous

    assert_close(pair.robot.forward_kinematics(pair.q, pair.link), pair.ask(pose))


def test_jacobian_agrees(pair):
    frame = pair.model.getFrameId(pair.link, pinocchio.FrameType.BODY)

    def jacobian(model, data, q):
        axes = pinocchio.LOCAL_WORLD_ALIGNED
        return pinocchio.computeFrameJacobian(model, data, q, frame, axes)

    assert_close(pair.robot.jacobian(pair.q, pair.link), pair.ask(jacobian) @ pair.G)


@pytest.mark.parametrize("pair", ["ur5", "panda"], indirect=True)
def test_inverse_dynamics_derivatives_agree(pair):
    ours = pair.robot.inverse_dynamics_derivatives(pair.q, pair.v, pair.a)
    for x, y in zip(ours, pair.rnea_derivatives, strict=True):
        assert_close(x, y, CLOSE_DERIVATIVE)


@pytest.mark.parametrize("pair", ["ur5", "panda"], indirect=True)
def test_forward_dynamics_derivatives_agree(pair):
    tau = pair.rnea
    if pair.robot.model.mimics:
        # a(q, v, tau) is the inverse of tau(q, v, a), at the acceleration that tau gives.
        dq, dv, M = pair.rnea_derivatives
        theirs = -np.linalg.solve(M, dq), -np.linalg.solve(M, dv), np.linalg.inv(M)
    else:
        theirs = pair.contracted(pinocchio.computeABADerivatives, pair.v, tau)
    ours = pair.robot.forward_dynamics_derivatives(pair.q, pair.v, tau)
    for x, y in zip(ours, theirs, strict=True):
        assert_close(x, y, CLOSE_DERIVATIVE)


def test_the_panda_with_a_mimic_is_the_one_without_contracted(tmp_path):
    """With q' = G q + s: M = G^T M' G and tau = G^T tau'; and M is the Hessian of T."""
    path = robots()[ROBOTS["panda"]]
    free = ElementTree.parse(path)
    for joint in free.iterfind("joint[mimic]"):
        joint.remove(joint.find("mimic"))
    free.write(tmp_path / "free.urdf")
    robot, other = appell.load(path), appell.load(tmp_path / "free.urdf")
    assert (robot.nv, other.nv) == (8, 9)
    G, s = following(path, robot.joint_names, [*other.joint_names])
    q, v, a = np.random.default_rng(8).uniform(-1, 1, (3, STATES, 8))
    M = robot.mass_matrix(q)
    assert_close(M, G.T @ other.mass_matrix(q @ G.T + s) @ G)
    tau = other.inverse_dynamics(q @ G.T + s, v @ G.T, a @ G.T)
    assert_close(robot.inverse_dynamics(q, v, a), tau @ G)
    e = np.eye(8)
    T = partial(robot.kinetic_energy, q[:, None, None])
    assert_close(T(e[:, None] + e) - T(e[:, None]) - T(e), M)


@pytest.mark.parametrize("file", sorted(UNPHYSICAL.keys() & robots().keys()))
def test_an_inertia_that_no_body_has_is_warned_of_or_refused(file):
    with pytest.warns(appell.PhysicalWarning, match=f"link '{UNPHYSICAL[file]}'"):
        read_urdf(robots()[file])
    with pytest.raises(ModelError, match="physical=False") as refused:
        read_urdf(robots()[file], physical=True)
    assert f"{file}:" in str(refused.value)
    assert f"link '{UNPHYSICAL[file]}'" in str(refused.value)


@pytest.mark.parametrize("file", sorted(REPAIRED.keys() & robots().keys()))
def test_a_file_with_a_mistake_is_repaired_with_a_warning(file):
    with pytest.warns(appell.UrdfWarning, match=REPAIRED[file]):
        read_urdf(robots()[file])


@pytest.mark.parametrize("file", sorted(UNREADABLE.keys() & robots().keys()))
def test_a_file_without_a_robot_that_moves_is_refused(file):
    with pytest.raises(ModelError, match=UNREADABLE[file]):
        read_urdf(robots()[file], physical=False)


def read_quietly(file: str, **options) -> Model:
    """Warnings are errors here: what is not named above is read without."""
    with warnings.catch_warnings():
        if file in REPAIRED:
            warnings.simplefilter("ignore", appell.UrdfWarning)
        if file in UNPHYSICAL:
            warnings.simplefilter("ignore", appell.PhysicalWarning)
        return read_urdf(robots()[file], **options)


BROKEN = [file for file, why in UNREADABLE.items() if why != "no moving joint"]


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("file", sorted(robots().keys() - {*BROKEN}))
def test_every_robot_moves_as_pinocchios_does(file, base):
    """Inverse dynamics on a fixed and a free base, from the uncompiled equations."""
    if base == "fixed" and file in UNREADABLE:
        return  # there nothing moves
    path, free = robots()[file], base == "free"
    ours = read_quietly(file, base=base)
    flyer = (pinocchio.JointModelFreeFlyer(),) if free else ()
    theirs = pinocchio.buildModelFromUrdf(str(path), *flyer)
    n = 6 if free else 0
    names = tuple(joint.name for joint in ours.joints[n:])
    G, s = following(path, names, [*theirs.names][2 if free else 1 :])
    draw = np.random.default_rng(ours.nv)
    q = configuration.random(ours, draw, (2,), limited=False)
    v, a = draw.normal(size=(2, 2, ours.nv))
    data, expected = theirs.createData(), []
    for x, y, z in zip(q, v, a, strict=True):
        joints = zip([*theirs.joints][2 if free else 1 :], G @ x[n + free :] + s, strict=True)
        turned = [[np.cos(p), np.sin(p)] if j.nq == 2 else [p] for j, p in joints]
        there = np.concatenate([x[: n + free], *turned])
        motion = (np.concatenate([w[:n], G @ w[n:]]) for w in (y, z))
        tau = pinocchio.rnea(theirs, data, there, *motion)
        expected.append(np.concatenate([tau[:n], tau[n:] @ G]))
    assert_close(evaluate(ours, "inverse_dynamics", q, v, a), np.array(expected))


@pytest.mark.parametrize("file", sorted(robots().keys() - UNREADABLE.keys()))
def test_every_robot_is_read_as_pinocchio_reads_it(file):
    """Masses, limits, friction and the order of joints, without compiling anything."""
    path = robots()[file]
    ours = read_quietly(file)
    model = pinocchio.buildModelFromUrdf(str(path))
    assert {b.joint.name for b in ours.bodies} == {*model.names} - {"universe"}
    for body in ours.bodies:
        joint, i = body.joint, model.getJointId(body.joint.name)
        assert np.isclose(body.mass, model.inertias[i].mass, rtol=1e-12)
        k, v = model.joints[i].idx_q, model.joints[i].idx_v
        if model.joints[i].nq == 1 and joint.lower > -np.inf:
            limits = model.lowerPositionLimit[k], model.upperPositionLimit[k]
            assert (joint.lower, joint.upper) == limits
        theirs = model.upperVelocityLimit[v], model.upperEffortLimit[v], model.damping[v]
        assert (joint.speed, joint.effort, joint.viscous) == theirs
        assert joint.coulomb == model.upperDryFrictionLimit[v]
