"""Gradients of rollouts against differences of rollouts, in the arguments' names and shapes."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.control import ComputedTorque, Payload, PDGravity, quintic
from appell.control.laws.compiled import of_state
from appell.errors import InputError
from appell.robots.recipe import equation_of, recipe_for

START = np.array([0.2, -0.4, 0.3, 0.1, 0.5, -0.2])


@pytest.fixture(scope="module")
def puma():
    return appell.load("puma560")


@pytest.fixture(scope="module")
def arguments(puma):
    """Of a short move with a wrong model, two runs."""
    draw = np.random.default_rng(0)
    mass = puma.system.values("mass") * draw.uniform(0.8, 1.2, (2, 1))
    return {
        "law": ComputedTorque(puma, kp=100, kd=20),
        "trajectory": quintic(START, START + 0.4, 0.03),
        "q0": START + 0.02 * draw.normal(size=(2, 6)),
        "v0": 0.1 * draw.normal(size=(2, 6)),
        "gains": {"kp": np.full(6, 100.0), "kd": np.full((2, 6), 20.0)},
        "parameters": {"mass": mass},
        "viscous": np.full(6, 0.1),
        "external": draw.normal(size=(2, 30, 6)),
    }


def changed(arguments, name, change):
    """The arguments with a change of one of them."""
    found = dict(arguments)
    for group in ("gains", "parameters"):
        if name in found[group]:
            found[group] = {**found[group], name: found[group][name] + change}
            return found
    found[name] = found[name] + change
    return found


@pytest.mark.parametrize("of", ["cost", "rms_error", "worst_error", "effort", "q"])
def test_they_are_those_of_differences(puma, arguments, of):
    given = {**arguments, "reduce": ["rms_error", "worst_error", "effort"]}

    def cost(t, q, v, tau, qd, vd):
        return sum((x - y) ** 2 for x, y in zip(q, qd, strict=True)) + 1e-6 * tau[1] * tau[1]

    def total(found):
        return getattr(found, of).reshape(2, -1).sum(1)

    back = appell.rollout(puma, **given, cost=cost, gradient=of)
    names = {"q0", "v0", "kp", "kd", "mass", "viscous", "coulomb", "external"}
    assert set(back.gradient) == names
    plain = appell.rollout(puma, **given, cost=cost)
    assert getattr(back, of) == pytest.approx(getattr(plain, of), rel=1e-12)
    draw = np.random.default_rng(1)
    for name in names - {"coulomb"}:
        gradient = back.gradient[name]
        way = draw.normal(size=gradient.shape[1:])
        h = 1e-6 * (100 if name in ("kp", "kd") else 1)
        both = [
            total(appell.rollout(puma, **changed(given, name, sign * h * way), cost=cost))
            for sign in (1, -1)
        ]
        by_differences = (both[0] - both[1]) / (2 * h)
        along = (gradient * way).reshape(2, -1).sum(1)
        # Differences of doubles err by 1e-16 / 1e-6 of the value, and by the square of h.
        size = np.abs(total(plain)).max() * 1e-8 + 1e-6 * np.abs(along).max()
        assert along == pytest.approx(by_differences, abs=size), name


def test_an_objective_of_ones_own(puma, arguments):
    weight = np.random.default_rng(2).normal(size=(2, 6))
    found = appell.rollout(puma, **arguments, gradient={"q": weight, "v": 0.1}, by=["q0"])
    assert list(found.gradient) == ["q0"]
    one = appell.rollout(puma, **arguments, gradient={"q": weight}, by="q0").gradient["q0"]
    other = appell.rollout(puma, **arguments, gradient={"v": 0.1}, by="q0").gradient["q0"]
    assert found.gradient["q0"] == pytest.approx(one + other, rel=1e-11, abs=1e-14)


def test_torques_of_every_step():
    chain = appell.load("planar_chain")
    tau = np.random.default_rng(3).normal(size=(2, 12, 3))

    def cost(t, q, v, tau):
        return q[0] * q[0] + 1e-3 * tau[2] * tau[2]

    def run(tau, **how):
        return appell.rollout(chain, None, None, [0.1, 0.2, 0.3], steps=12, dt=0.01, tau=tau,
                              cost=cost, **how)  # fmt: skip

    gradient = run(tau, gradient="cost").gradient["tau"]
    assert gradient.shape == (2, 12, 3)
    h = 1e-5
    for k, j in ((0, 0), (5, 1), (11, 2)):
        step = np.zeros((12, 3))
        step[k, j] = h
        by_differences = (run(tau + step).cost - run(tau - step).cost) / (2 * h)
        assert gradient[:, k, j] == pytest.approx(by_differences, rel=1e-5, abs=1e-10)


def test_tangents_are_products_with_gradients(puma, arguments):
    draw = np.random.default_rng(4)
    along = {
        "q0": draw.normal(size=(2, 6)), "kp": draw.normal(size=6),
        "mass": draw.normal(size=(2, 6)), "external": draw.normal(size=(2, 30, 6)),
    }  # fmt: skip
    given = {**arguments, "reduce": ["rms_error", "energy"]}
    found = appell.rollout(puma, **given, tangent=along)
    assert set(found.tangent) == {"q", "v", "rms_error", "energy"}
    for of in ("rms_error", "energy", "q"):
        back = appell.rollout(puma, **given, gradient=of, by=list(along))
        assert getattr(back, of) == pytest.approx(getattr(found, of), rel=1e-12)
        expected = sum((back.gradient[x] * along[x]).reshape(2, -1).sum(1) for x in along)
        assert found.tangent[of].sum(1) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"gradient": "settling_time", "reduce": "settling_time"}, "expected one of q, v"),
        ({"gradient": "worst_error"}, "expected one of q, v"),
        ({"gradient": {}}, "expected some of q, v"),
        ({"gradient": "q", "by": ["ki"]}, "by = 'ki'; expected one of q0"),
        ({"gradient": "q", "every": 2}, "leave every out"),
        ({"tangent": {"ki": 1.0}}, "tangent = 'ki'; expected one of q0"),
        ({"tangent": {"q0": np.ones(6)}, "gradient": "q"}, "ask for one"),
        ({"gradient": {"q": np.ones(5)}}, r"gradient: q has shape \(5,\)"),
    ],
)
def test_what_has_no_gradient_is_refused(puma, arguments, how, said):
    with pytest.raises(InputError, match=said):
        appell.rollout(puma, **arguments, **how)


def test_what_waits_at_first_depends_on_the_start():
    arm = appell.load("planar_chain", n=1)
    law, hold = PDGravity(arm), np.array([0.3])

    def end(q):
        return appell.rollout(arm, law, hold, q, steps=60, delay=40)

    found = appell.rollout(arm, law, hold, [0.5], steps=60, delay=40, gradient="q")
    by_differences = (end([0.5 + 1e-6]).q - end([0.5 - 1e-6]).q) / 2e-6
    assert found.gradient["q0"] == pytest.approx(by_differences, rel=1e-6)


def test_a_load_and_the_masses_of_links_have_gradients(puma, arguments):
    load, com, moments = np.array([1.0, 2.0]), np.array([0.05, -0.02, 0.1]), np.full(3, 0.01)

    def end(load=load, com=com, moments=moments, mass=0.0, **how):
        given = changed(arguments, "mass", mass)
        found = appell.rollout(puma, **given, payload=Payload(load, com, None, moments), **how)
        return found if how else found.q.sum(1)

    names = ["payload.mass", "payload.com", "payload.inertia", "mass"]
    gradient = end(gradient="q", by=names).gradient
    assert [gradient[x].shape for x in names] == [(2,), (2, 3), (2, 3), (2, 6)]
    h = 1e-5
    ahead = {
        "payload.mass": (lambda x: end(load=load + x), gradient["payload.mass"]),
        "payload.com": (lambda x: end(com=com + [0, x, 0]), gradient["payload.com"][:, 1]),
        "payload.inertia": (lambda x: end(moments=moments + x), gradient["payload.inertia"].sum(1)),
        "mass": (lambda x: end(mass=x), gradient["mass"].sum(1)),
    }
    for name, (moved, slope) in ahead.items():
        by_differences = (moved(h) - moved(-h)) / (2 * h)
        # Doubles of 1 differ by 1e-16: their differences over 2e-5 err by some 1e-11.
        assert slope == pytest.approx(by_differences, rel=1e-6, abs=1e-10), name


def test_torques_that_all_runs_share():
    chain = appell.load("planar_chain")
    q0, tau = [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]], np.random.default_rng(3).normal(size=(12, 3))

    def end(tau, **how):
        return appell.rollout(chain, q0=q0, steps=12, tau=tau, **how)

    shared = end(tau, gradient="q").gradient["tau"]
    each = end(np.stack([tau, tau]), gradient="q").gradient["tau"]
    assert shared == pytest.approx(each, rel=1e-12)
    same = np.random.default_rng(4).normal(size=(12, 3))
    for direction in (same, np.stack([same, -2 * same])):
        found = end(tau, tangent={"tau": direction}).tangent["q"].sum(1)
        assert found == pytest.approx((shared * direction).sum((1, 2)), rel=1e-11)
    gusts = np.random.default_rng(5).normal(size=(1, 12, 3))
    slopes = end(tau, external=gusts, gradient="q", by="external").gradient["external"]
    found = end(tau, external=gusts, tangent={"external": same}).tangent["q"].sum(1)
    assert found == pytest.approx((slopes * same).sum((1, 2)), rel=1e-11)


def test_a_thousand_steps_against_complex_steps_of_the_equations(puma):
    """By an imaginary part of 1e-30, through the robot's equations and the law's, called with
    NumPy's complex numbers: none of this is compiled or differentiated. Within 1e-8,
    to which an optimiser's steps are the same; some 1e-14 is seen. The PUMA's wrist is locked: six
    joints take minutes so."""
    arm = puma.locked(dict(zip(puma.joint_names[3:], START[3:], strict=True)))
    steps, dt, draw = 1000, 1e-3, np.random.default_rng(0)
    start, own = START[:3], arm.system.values("mass")
    law, move = ComputedTorque(arm, kp=1.0, kd=1.0), quintic(start, start + 0.4, 0.8)
    values = {
        "q0": start + 0.02 * draw.normal(size=3), "v0": 0.1 * draw.normal(size=3),
        "kp": draw.uniform(50, 150, 3), "kd": draw.uniform(10, 30, 3),
        "mass": own * draw.uniform(0.8, 1.2, 3), "viscous": np.full(3, 0.5),
    }  # fmt: skip
    weight = draw.normal(size=3)
    found = appell.rollout(
        arm, law, move, np.stack([start, values["q0"]]), values["v0"], steps=steps, dt=dt,
        gains={"kp": values["kp"], "kd": values["kd"]}, parameters={"mass": values["mass"]},
        viscous=values["viscous"], reduce="effort", gradient={"q": weight, "effort": 1e-3},
        by=list(values),
    )  # fmt: skip

    tiny, count = 1e-30, 3 * len(values)
    changed = {name: np.tile(x, (count, 1)).astype(complex) for name, x in values.items()}
    for k, name in enumerate(values):
        changed[name][3 * k : 3 * k + 3] += 1j * tiny * np.eye(3)
    q, v, kp, kd, mass, viscous = (list(changed[name].T) for name in values)
    control = of_state(law, gains=True)
    motion = equation_of(
        arm.system, recipe_for(arm.system, "forward_dynamics", parameters=("mass",))
    )
    effort, plan = 0.0, move(dt * np.arange(steps))
    for k in range(steps):
        desired = [list(x[k]) for x in plan]
        tau = control(q, v, *desired, kp, kd)
        effort = effort + dt * sum(x * x for x in tau)

        def rates(q, v, tau=tau):
            rubbed = [x - b * y for x, b, y in zip(tau, viscous, v, strict=True)]
            return [*v, *motion(q, v, rubbed, mass)]

        y = [*q, *v]
        slope = rates(q, v)
        total = [x / 6 for x in slope]
        for part, share in ((0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)):
            stage = [x + part * dt * s for x, s in zip(y, slope, strict=True)]
            slope = rates(stage[:3], stage[3:])
            total = [x + share * s for x, s in zip(total, slope, strict=True)]
        y = [x + dt * s for x, s in zip(y, total, strict=True)]
        q, v = y[:3], y[3:]
    objective = sum(w * x for w, x in zip(weight, q, strict=True)) + 1e-3 * effort
    assert found.q[1] == pytest.approx(np.real([x[0] for x in q]), abs=1e-10)
    for k, name in enumerate(values):
        exact = np.imag(objective[3 * k : 3 * k + 3]) / tiny
        off = np.abs(found.gradient[name][1] - exact).max() / np.abs(exact).max()
        assert off < 1e-8, name
