"""Rolling robots against solutions in closed form, derived here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell
from appell.robots.closed import KnifeEdge, Place, Rolling

G = 9.81


def leaning_disc(theta, precession, radius, mass, axial, diametral):
    """A disc rolling steadily on a circle: its axle at theta from the vertical, which it goes
    about at a rate.

    With n along the axle, d up the disc from where it touches and f = n x d, z = cos n + sin d.
    The angular velocity is w = wn n + wd d with wd = precession sin, the centre moves by
    w x r d = r wn f, and all turns about z at the rate: the force at the ground is m (r wn
    precession (sin n - cos d) + g z). Its moment -r d x F about the centre must be the rate of
    the angular momentum, precession z x (C wn n + A wd d): along f,

        precession (A wd cos - C wn sin) = m r (r wn precession sin + g cos),

    which gives wn.
    """
    s, c = np.sin(theta), np.cos(theta)
    wd = precession * s
    wn = (diametral * precession * wd * c - mass * G * radius * c) / (
        precession * s * (axial + mass * radius**2)
    )
    force = mass * np.array(
        [radius * wn * precession * s + G * c, 0.0, -radius * wn * precession * c + G * s]
    )
    return wn, wd, force  # the force along n, f and d


def disc_state(theta, wn, wd, radius, spun):
    """Coordinates and body speeds with the disc turned about its axle by an angle."""
    s, c = np.sin(theta), np.cos(theta)
    n, d = np.array([0.0, s, c]), np.array([0.0, -c, s])
    R = np.stack([np.cross(d, n), d, n], axis=1) @ Rotation.from_euler("z", spun).as_matrix()
    q = np.concatenate([[0, 0, radius * s], Rotation.from_matrix(R).as_quat()])
    return q, R.T @ (wn * n + wd * d), R, n, d


@pytest.mark.parametrize("axial", [0.5, 1.0])
@pytest.mark.parametrize("spun", [0.0, 1.1])
def test_a_disc_rolls_steadily_on_a_circle(axial, spun):
    radius, mass, theta, precession = 0.3, 1.7, 1.2, 2.0
    robot = appell.load("rolling_disc", radius=radius, mass=mass, axial=axial)
    C = axial * mass * radius**2
    wn, wd, force = leaning_disc(theta, precession, radius, mass, C, C / 2)
    q, w, R, n, d = disc_state(theta, wn, wd, radius, spun)
    # In the disc's axes, which turn about the axle faster than the precession, w goes round.
    own_spin = wn - precession * np.cos(theta)
    expected = R.T @ (-own_spin * np.cross(n, wn * n + wd * d))
    assert np.abs(robot.forward_dynamics(q, w) - expected).max() < 1e-12
    found = robot.reactions(q, w)
    assert np.abs(found - force).max() < 1e-12 * np.abs(force).max()

    run = robot.simulate(q, w, until=3.0)
    way = radius * wn / precession  # the circle's radius; the centre starts along f
    f = np.cross(n, d)
    centre = np.array([0, 0, radius * np.sin(theta)]) + way * np.cross([0, 0, 1], f)
    apart = run.q[:, :3] - centre
    assert np.abs(np.linalg.norm(apart, axis=1) - abs(way)).max() < 1e-9
    angle = precession * run.t
    turned = Rotation.from_rotvec(np.outer(angle, [0, 0, 1])).apply(q[:3] - centre)
    assert np.abs(apart - turned).max() < 1e-9
    assert run.opening.max() < 1e-10
    assert np.abs(run.energy - run.energy[0]).max() < 1e-10


@pytest.mark.parametrize(("wn", "wd"), [(4.0, 0.0), (0.0, 0.7)])
def test_an_upright_disc_rolls_straight_or_spins_in_place(wn, wd):
    robot = appell.load("rolling_disc")
    q, w, _, n, d = disc_state(np.pi / 2, wn, wd, 0.3, 0.4)
    run = robot.simulate(q, w, until=1.0)
    moved = 0.3 * wn * run.t[:, None] * np.cross(n, d)
    assert np.abs(run.q[:, :3] - q[:3] - moved).max() < 1e-10


def platform(**options):
    """A differential drive whose arm weighs nothing that matters."""
    return appell.load("differential_drive", arm_mass=1e-12, **options)


def test_a_differential_drive_obeys_its_equations():
    """With v ahead and w the rate of turning, b half the track, r the radius, and the platform's
    centre of mass d in front of the axle,

        (m + 2 mw + 2 Iw / r^2) v' - m d w^2 = (left + right) / r
        (I + m d^2 + 2 (mw b^2 + Id) + 2 Iw b^2 / r^2) w' + m d v w = (right - left) b / r

    by Newton's law ahead (the centre of mass accelerates by v' - d w^2, the wheels' rims are
    pushed by torque / r less what spins the wheels), and by moments about the middle of the axle,
    which itself accelerates by v w to the side. The wheels carry (m + 2 mw) v w + m d w' sideways.
    """
    m, mw, r, track, d = 12.0, 0.8, 0.1, 0.4, 0.1
    robot = platform()
    b, Iw, Id = track / 2, mw * r**2 / 2, mw * r**2 / 4
    I = m / 12 * ((1.5 * track) ** 2 + track**2)
    draw = np.random.default_rng(0)
    for _ in range(5):
        v, w, dv, dw = draw.uniform(-1, 1, 4)
        q = np.concatenate([draw.uniform(-3, 3, 5), [0.0, 0.0]])
        speeds = np.array([(v - b * w) / r, (v + b * w) / r, 0, 0])
        rates = np.array([(dv - b * dw) / r, (dv + b * dw) / r, 0, 0])
        left, right, _, _ = robot.inverse_dynamics(q, speeds, rates)
        ahead = (m + 2 * mw + 2 * Iw / r**2) * dv - m * d * w**2
        turning = (I + m * d**2 + 2 * (mw * b**2 + Id) + 2 * Iw * b**2 / r**2) * dw + m * d * v * w
        assert (left + right) / r == pytest.approx(ahead, abs=1e-9)
        assert (right - left) * b / r == pytest.approx(turning, abs=1e-9)
        tau = robot.inverse_dynamics(q, speeds, rates)
        found = dict(zip(robot.reaction_names, robot.reactions(q, speeds, tau), strict=True))
        sideways = sum(x for name, x in found.items() if "axle" in name)
        assert sideways == pytest.approx((m + 2 * mw) * v * w + m * d * dw, abs=1e-9)


def test_a_differential_drive_goes_in_a_circle():
    robot = platform()
    v, w = 0.8, 0.5
    speeds = np.array([(v - 0.2 * w) / 0.1, (v + 0.2 * w) / 0.1, 0, 0])
    tau = robot.inverse_dynamics(np.zeros(7), speeds, np.zeros(4))

    def hold(t, q, u):
        # The arm's motors only carry the arm, whose place the platform's turning does not change.
        return robot.unchecked().inverse_dynamics(q, u, np.zeros(4))

    run = robot.simulate(np.zeros(7), speeds, until=4.0, torque=hold)
    assert np.abs(run.tau[:, :2] - tau[:2]).max() < 1e-9
    x, y = v / w * np.sin(w * run.t), v / w * (1 - np.cos(w * run.t))
    assert np.abs(run.q[:, :2] - np.stack([x, y], axis=1)).max() < 1e-9
    assert np.abs(run.q[:, 2] - w * run.t).max() < 1e-10


def test_a_skate_on_an_incline_goes_down_in_a_cycloid_like_curve():
    """A knife edge on a slope turns at a constant rate w and is sped up along itself by g cos(w t),
    so x = g / (2 w^2) sin^2(w t) and y = g / (2 w^2) (w t - sin(2 w t) / 2): it never leaves a
    strip of the slope (Bloch, Nonholonomic Mechanics and Control, has this example)."""
    from appell.model.build import assemble
    from appell.robots.closed.library.parts import disc

    slope, w = 3.0, 1.5
    tree = appell.Robot(
        assemble("skate", {"skate": disc(1.0, 0.1)}, [], base="planar", gravity=(slope, 0, 0))
    )
    robot = appell.close(tree, [KnifeEdge("skate")], independent=["X1", "turn"], actuated=[])
    run = robot.simulate(np.zeros(3), [0.0, w], until=3.0)
    assert len(run.choices) > 1  # where the blade points across, X1 no longer describes it
    angle = w * run.t
    assert np.abs(run.q[:, 2] - angle).max() < 1e-11
    x = slope / (2 * w**2) * np.sin(angle) ** 2
    y = slope / (2 * w**2) * (angle - np.sin(2 * angle) / 2)
    assert np.abs(run.q[:, 0] - x).max() < 1e-9
    assert np.abs(run.q[:, 1] - y).max() < 1e-9


def test_a_snakeboard_moves_by_swinging_its_rotor():
    robot = appell.load("snakeboard")
    q = robot.reference
    with pytest.raises(appell.InputError, match="2 actuators"):
        robot.inverse_dynamics(q, np.zeros(3), np.zeros(3))
    a = robot.forward_dynamics(q, np.zeros(3), [0.5, 0.0])
    assert abs(a[0]) > 1e-3  # the rotor's torque drives the board ahead
    Q = robot.inverse_dynamics(q, np.zeros(3), a, generalised=True)
    assert np.abs(Q - [0, 0.5, 0]).max() < 1e-12
    straight = q.copy()
    straight[-1] = 0.0  # wheels straight: the rotor only turns, against nothing
    assert abs(robot.forward_dynamics(straight, np.zeros(3), [0.5, 0.0])[0]) < 1e-12


def test_wheels_are_refused_where_they_cannot_be():
    with pytest.raises(appell.InputError, match="radius"):
        Rolling("wheel", -0.1)
    with pytest.raises(appell.InputError, match="does not move"):
        appell.close(appell.load("two_link"), [KnifeEdge("world")])
    with pytest.raises(appell.InputError, match="link's name or a Place"):
        KnifeEdge(3)
    with pytest.raises(appell.InputError, match="three numbers"):
        Place("wheel", (1.0, 2.0))
