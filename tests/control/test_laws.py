"""Laws as equations and as code: written once, the same everywhere."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
import weakref
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from moves import bars

import appell
from appell.control import (
    Adaptive,
    CartesianImpedance,
    ComputedTorque,
    Feedforward,
    JointImpedance,
    Law,
    PDGravity,
    PointToPoint,
    SlidingMode,
    Tracking,
    TrackingIntegral,
)
from appell.control.laws.compiled import of_state
from appell.control.laws.gains import STIFFNESS
from appell.errors import InputError
from appell.maths.lists import clipped
from appell.model.library.planar import planar_chain
from appell.model.library.random import random_tree
from appell.robots.robot import Robot

TREE = Robot(random_tree(3, 41, branching=0.5, prismatic=0.4, rotors=True))
CHAIN = bars(2)
NAMES = ("q", "v", "qd", "vd", "ad")
MATRIX = [[9.0, 1.0], [1.0, 4.0]]


def laws_of(robot: Robot) -> list[Law]:
    n = robot.nv
    several = np.linspace(1.0, 2.0, n)
    tool = robot.link_names[-1]
    return [
        PDGravity(robot, kp=30 * several, kd=5),
        Feedforward(robot, kp=30, kd=5 * several),
        ComputedTorque(robot),
        PointToPoint(robot, 50, 10),
        Tracking(robot, 50, 10),
        TrackingIntegral(robot, 50, 10, 20),
        TrackingIntegral(robot, 50, 10, 20, limit=4 * several),
        Adaptive(robot, rate=3, kd=2, gamma=0.5),
        SlidingMode(robot, rate=3, k=5 * several, layer=2.0),
        JointImpedance(robot, 20 * several, 4),
        CartesianImpedance(robot, [9, 8, 7, 3, 2, 1], [2, 2, 2, 1, 1, 1], 0.5, tool),
    ]


def name_of(law: Law) -> str:
    return type(law).__name__ + ("_limited" if getattr(law, "limit", None) is not None else "")


def arguments(law: Law, count: int = 2) -> list[np.ndarray]:
    """States to try a law on, (count, n) each, its own state and the period with them."""
    rng = np.random.default_rng(5)
    states = list(rng.normal(size=(5, count, law.robot.nv)))
    if law.nstate:
        states += [
            law.initial + 0.1 * rng.normal(size=(count, law.nstate)),
            np.full((count, 1), 0.02),
        ]
    return states


def on_scalars(law: Law, states: Any) -> list[Any]:
    results = of_state(law, gains=False)(*states)
    return [x for part in results for x in part] if law.nstate else list(results)


def on_floats(law: Law) -> np.ndarray:
    rows = zip(*(x.tolist() for x in arguments(law)), strict=True)
    return np.array([on_scalars(law, state) for state in rows], dtype=float)


def on_numpy_arrays(law: Law) -> np.ndarray:
    columns = on_scalars(law, [list(x.T) for x in arguments(law)])
    return np.stack([np.broadcast_to(x, 2) for x in columns], axis=1)


def on_casadi(law: Law) -> np.ndarray:
    states = arguments(law)
    symbols = [casadi.SX.sym(f"x{k}", x.shape[1]) for k, x in enumerate(states)]
    results = casadi.vertcat(*on_scalars(law, [casadi.vertsplit(x) for x in symbols]))
    function = casadi.Function("f", symbols, [results])
    return np.array([function(*row) for row in zip(*states, strict=True)])[..., 0]


def on_jax(law: Law) -> np.ndarray:
    rows = zip(*map(jnp.asarray, arguments(law)), strict=True)
    return np.array([jnp.stack([jnp.asarray(x) for x in on_scalars(law, r)]) for r in rows])


def compiled(law: Law, **options: Any) -> np.ndarray:
    made = law.kernel(**options)(*(x.astype(options.get("dtype", float)) for x in arguments(law)))
    return np.concatenate(made, axis=-1) if law.nstate else made


def compiled_in_float32(law: Law) -> np.ndarray:
    return compiled(law, dtype="float32")


def with_gains_as_inputs(law: Law) -> np.ndarray:
    return compiled(law, gains=True)


def one_state_at_a_time(law: Law) -> np.ndarray:
    rows = []
    for row in zip(*arguments(law), strict=True):
        tau, state = law(*row[:6], period=0.02)
        rows.append(np.concatenate([tau, state]) if law.nstate else tau)
    return np.array(rows)


def called_on_a_batch(law: Law) -> np.ndarray:
    tau, state = law(*arguments(law)[:6], period=0.02)
    return np.concatenate([tau, state], axis=-1) if law.nstate else tau


KINDS = [
    on_numpy_arrays,
    on_casadi,
    on_jax,
    compiled,
    compiled_in_float32,
    with_gains_as_inputs,
    one_state_at_a_time,
    called_on_a_batch,
]


@pytest.fixture(autouse=True)
def _double_precision_in_jax():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("law", laws_of(TREE), ids=name_of)
def test_a_law_gives_the_same_on_every_kind_of_scalar(law):
    expected = on_floats(law)
    for kind in KINDS:
        tolerance = 1e-5 if kind is compiled_in_float32 else 1e-12
        np.testing.assert_allclose(
            kind(law),
            expected,
            rtol=0,
            atol=tolerance * np.abs(expected).max(),
            err_msg=kind.__name__,
        )


@pytest.mark.parametrize("law", laws_of(CHAIN), ids=name_of)
def test_a_law_takes_symbols(law):
    state = {"q": (0, 0), "v": (0.2, 0.1), "qd": (0.1, -0.1), "vd": (0.3, 0.2), "ad": (1.0, 2.0)}
    a = sympy.Symbol("a", real=True)  # one of many: expressions grow with every symbol
    given: list[Any] = [list(state[name]) for name in NAMES]
    given[4][0] = a
    if law.nstate:
        given += [law.initial.tolist(), [0.02]]
    results = [sympy.sympify(x).xreplace({a: sympy.Float(1.0)}) for x in on_scalars(law, given)]
    given[4][0] = 1.0
    np.testing.assert_allclose([float(x) for x in results], on_scalars(law, given), atol=1e-11)


def test_laws_are_those_of_their_formulas():
    """Against M, C and g of the robot's other equations."""
    robot = TREE
    q, v, qd, vd, ad = np.random.default_rng(1).normal(size=(5, 3))
    M, C, g = robot.mass_matrix(q), robot.coriolis_matrix(q, v), robot.gravity(q)
    e, de = qd - q, vd - v
    formulas = {
        PDGravity: g + 30 * e + 5 * de,
        Feedforward: robot.inverse_dynamics(qd, vd, ad) + 30 * e + 5 * de,
        ComputedTorque: M @ (ad + 5 * de + 30 * e) + C @ v + g,
        PointToPoint: M @ (30 * e - 5 * v) + C @ v + g,
        Tracking: M @ (ad + 5 * de + 30 * e) + C @ v + g,
        JointImpedance: M @ ad + C @ vd + g + 30 * e + 5 * de,
    }
    for kind, expected in formulas.items():
        tau, _ = kind(robot, 30, 5)(q, v, qd, vd, ad)
        np.testing.assert_allclose(tau, expected, atol=1e-11, err_msg=kind.__name__)
    v_r, a_r, s = vd + 3 * e, ad + 3 * de, de + 3 * e
    passive = M @ a_r + C @ v_r + g
    tau, _ = SlidingMode(robot, rate=3, k=7, layer=0.5)(q, v, qd, vd, ad)
    np.testing.assert_allclose(tau, passive + 7 * np.clip(s / 0.5, -1, 1), atol=1e-11)
    tau, learned = Adaptive(robot, rate=3, kd=2, gamma=0)(q, v, qd, vd, ad)
    np.testing.assert_allclose(tau, passive + 2 * s, atol=1e-11)
    np.testing.assert_array_equal(learned, robot.parameters)


def test_the_tool_is_drawn_by_a_wrench():
    """Displaced a little, by the Jacobian's transpose; desired and actual pose alike, by none."""
    puma = appell.load("puma560")
    q = np.array([0.1, -0.5, 0.4, 0.3, 0.8, -0.2])
    still = np.zeros(6)
    K = np.diag([900.0, 800.0, 700.0, 30.0, 20.0, 10.0]) + 0.5
    law = CartesianImpedance(puma, K, np.eye(6))
    tau, _ = law(q, still, q, still, still)
    np.testing.assert_allclose(tau, puma.gravity(q), atol=1e-12)
    dq = 1e-6 * np.array([1.0, -2.0, 3.0, 1.0, 2.0, -1.0])
    tau, _ = law(q, still, q + dq, still, still)
    J = puma.jacobian(q)
    np.testing.assert_allclose(tau - puma.gravity(q), J.T @ K @ J @ dq, rtol=1e-4, atol=1e-7)


def test_gains_are_numbers_vectors_or_matrices():
    state = np.random.default_rng(2).normal(size=(5, 2))
    q, v, qd, vd, _ = state
    tau, _ = PDGravity(CHAIN, kp=MATRIX, kd=(2.0, 3.0))(*state)
    by_hand = CHAIN.gravity(q) + MATRIX @ (qd - q) + [2.0, 3.0] * (vd - v)
    np.testing.assert_allclose(tau, by_hand, atol=1e-12)
    same, _ = PDGravity(CHAIN, kp=7.0, kd=np.full(2, 3.0))(*state)
    other, _ = PDGravity(CHAIN, kp=7 * np.eye(2), kd=3)(*state)
    np.testing.assert_allclose(same, other, atol=1e-12)


def test_gains_that_are_not_given_fit_the_joints():
    puma = appell.load("puma560")
    law = PDGravity(puma)
    np.testing.assert_allclose(law.kp, 100 * np.diagonal(puma.mass_matrix(np.zeros(6))))
    np.testing.assert_allclose(law.kd, 0.2 * law.kp)


def test_a_law_says_what_it_is():
    assert repr(ComputedTorque(CHAIN)) == "<ComputedTorque of planar_chain(2): kp=100, kd=20>"
    shown = repr(TrackingIntegral(CHAIN, kp=MATRIX, ki=50, limit=(5, 7)))
    assert shown == (
        "<TrackingIntegral of planar_chain(2): kp=matrix 2 x 2, kd=30, ki=50, limit=(5, 7)>"
    )


def test_a_law_is_frozen_and_can_be_pickled():
    law = TrackingIntegral(CHAIN, ki=7.0)
    with pytest.raises(AttributeError):
        law.ki = 8.0
    with pytest.raises(ValueError, match="read-only"):
        law.ki[0] = 8.0
    states = [row[0] for row in arguments(law)][:6]
    again = pickle.loads(pickle.dumps(law))
    np.testing.assert_array_equal(again(*states)[0], law(*states)[0])
    kernel = pickle.loads(pickle.dumps(law.kernel()))
    assert kernel.outputs == {"tau": (2,), "next_state": (2,)}


class Own(ComputedTorque):
    """With attributes that are no gains, and a way of its own to be made."""

    def __init__(self, robot):
        super().__init__(robot, kp=7.0)
        self.count = 3


def test_a_law_keeps_its_own_attributes_in_a_pickle():
    law = Own(CHAIN)
    law.mode = "careful"
    law(*[np.zeros(2)] * 5)
    again = pickle.loads(pickle.dumps(law))
    assert (again.mode, again.count, again.kp.tolist()) == ("careful", 3, [7.0, 7.0])
    assert not again.kp.flags.writeable
    assert again._caches("_fast")
    assert "_fast" not in vars(again)


def test_a_law_does_not_outlive_its_use():
    law = ComputedTorque(CHAIN)
    law(*np.zeros((5, 2)))
    gone = weakref.ref(law)
    del law
    gc.collect()
    assert gone() is None


def test_a_law_with_a_state_takes_any_period_and_keeps_none_but_the_latest():
    """Measured periods are all different: 220 bytes for each are 0.8 GB an hour at 1 kHz."""
    law = TrackingIntegral(appell.load("two_link"))
    q, v, error = np.zeros(2), np.zeros(2), np.array([0.1, -0.2])
    periods = np.random.default_rng(0).uniform(0.5e-3, 1.5e-3, 2000).tolist()

    def called(period: float) -> None:
        _, state = law(q, v, error, v, v, period=period)
        # The state is the integral of the error; one product is rounded.
        np.testing.assert_allclose(state, period * error, rtol=1e-15)

    for period in (0.01, 0.01, *periods[:10], 0.01, periods[0]):
        called(period)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for period in periods[10:]:
            called(period)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    # One array of a hundred bytes for each period would be 200 kB.
    assert grown < 50_000


@pytest.mark.parametrize("period", [0, -0.01, np.nan, np.inf, None, "fast", [0.01, 0.02], True])
def test_a_period_that_is_no_time_is_refused(period):
    law = TrackingIntegral(appell.load("two_link"))
    n = np.zeros(2)
    with pytest.raises(InputError, match="expected a time in s"):
        law(n, n, n, n, n, period=period)


def test_other_gains_need_no_other_code():
    first, second = ComputedTorque(CHAIN, 7, 3), ComputedTorque(CHAIN, 8, 4)
    states = np.random.default_rng(3).normal(size=(5, 2))
    kernel = first.kernel(gains=True)
    np.testing.assert_allclose(kernel(*states), first(*states)[0], atol=1e-12)
    np.testing.assert_allclose(kernel(*states, kp=second.kp, kd=second.kd), second(*states)[0])
    many = kernel(
        *states, kp=np.array([[7.0, 7.0], [8.0, 8.0]]), kd=np.array([[3.0] * 2, [4.0] * 2])
    )
    np.testing.assert_allclose(many, [first(*states)[0], second(*states)[0]], atol=1e-12)


def test_clipping_keeps_what_is_within():
    x = np.array([-3.0, -1.0, -0.2, 0.0, 0.4, 1.0, 9.0])
    np.testing.assert_allclose(clipped(x, 1.0), np.clip(x, -1, 1), atol=1e-15)


def test_a_law_moves_joints_that_mimic_others():
    both = planar_chain(2)
    follower = replace(both.bodies[1], coordinate=0, ratio=0.5)
    robot = Robot(
        replace(both, bodies=(both.bodies[0], follower), joints=both.joints[:1], name="finger")
    )
    assert robot.nv == 1
    q, v, qd, vd, ad = np.random.default_rng(0).normal(size=(5, 1))
    tau, _ = ComputedTorque(robot, 9, 6)(q, v, qd, vd, ad)
    a = robot.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(a, ad + 6 * (vd - v) + 9 * (qd - q), atol=1e-10)
    tau, _ = JointImpedance(robot, 9, 6)(q, v, qd, vd, ad)
    M, C, g = robot.mass_matrix(q), robot.coriolis_matrix(q, v), robot.gravity(q)
    np.testing.assert_allclose(tau, M @ ad + C @ vd + g + 9 * (qd - q) + 6 * (vd - v), atol=1e-11)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ComputedTorque("puma560"), "expected a robot; appell.load gives one"),
        (
            lambda: ComputedTorque(CHAIN, kp=[1, 2, 3]),
            r"kp has shape \(3,\); expected a number, or 2",
        ),
        (lambda: ComputedTorque(CHAIN, kp=-1), "kp = -1; expected zero or more"),
        (lambda: ComputedTorque(CHAIN, kd=[1, -2]), r"kd\[1\] = -2; expected zero or more"),
        (lambda: ComputedTorque(CHAIN, kp=np.nan), "kp is nan; expected finite numbers"),
        (lambda: ComputedTorque(CHAIN, kp="stiff"), "kp = 'stiff'; expected numbers"),
        (lambda: ComputedTorque(CHAIN, kp=[[1, 5], [5, 1]]), "negative eigenvalue, -4"),
        (lambda: TrackingIntegral(CHAIN, limit=0), "limit = 0; expected more than zero"),
        (lambda: TrackingIntegral(CHAIN, limit=np.eye(2)), r"limit has shape \(2, 2\)"),
        (lambda: SlidingMode(CHAIN, layer=0), "layer = 0; expected more than zero"),
        (lambda: Adaptive(CHAIN, gamma=[1, 2]), "or 20, one for each inertial parameter"),
        (lambda: CartesianImpedance(CHAIN, [1, 2], 1), "or 6, one for each direction of the tool"),
        (lambda: CartesianImpedance(CHAIN, 1, 1, frame="hand"), "no frame 'hand'"),
        (lambda: ComputedTorque(CHAIN).kernel(dtype="float16"), "made for float64 and float32"),
        (lambda: ComputedTorque(CHAIN)(*np.zeros((5, 3))), r"q has shape \(3,\); expected"),
        (
            lambda: TrackingIntegral(CHAIN)(*np.zeros((5, 2)), period=-1),
            "period = -1; expected a time in s, more than zero",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(appell.InputError, match=message):
        make()


def test_a_free_base_is_refused():
    with pytest.raises(appell.InputError, match="has a free base, which no motor holds"):
        ComputedTorque(Robot(random_tree(2, 1, base="free")))


def test_a_law_refuses_gains_that_are_none():
    with pytest.raises(appell.InputError, match="kp = None; expected a number"):
        appell.control.ComputedTorque(appell.load("puma560"), kp=None)


class Forgotten(Law):
    """Without @dataclass."""

    kp: Any = 200.0
    gains: ClassVar = {"kp": STIFFNESS}
    equation = staticmethod(lambda model, q, v, desired, kp: list(q))


@dataclass(frozen=True, eq=False, repr=False)
class TooFew(Law):
    """One torque, whatever the robot."""

    kp: Any = 200.0
    gains: ClassVar = {"kp": STIFFNESS}
    equation = staticmethod(lambda model, q, v, desired, kp: [kp[0] * q[0]])


def test_mistakes_in_a_law_of_ones_own_are_told():
    robot = appell.load("planar_chain", n=3)
    with pytest.raises(InputError, match=r"Forgotten: its gain 'kp' is not a field.*@dataclass"):
        Forgotten(robot)
    with pytest.raises(InputError, match="returns 1 number; expected a list of 3 torques"):
        TooFew(robot).kernel()
