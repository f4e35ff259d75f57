"""AgileWrist as a user calls it: shapes, kinds of numbers, branches, singularities, errors."""

from __future__ import annotations

import copy
import itertools
import pickle

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import appell
from appell.cli import app
from appell.equations.wrist_quantities import QUANTITIES
from appell.model.wrist import arc
from appell.parallel import AgileWrist
from appell.parallel.selfcheck import regular_states
from appell.study.scenario import Scenario
from appell.study.straight_line import run as straight_line

N = 13
BRANCHES = ["".join(x) for x in itertools.product("+-", repeat=3)]


@pytest.fixture(scope="module")
def wrist():
    return appell.load("agile_wrist")


@pytest.fixture
def states(wrist):
    draw = np.random.default_rng(3)
    return np.stack([regular_states(wrist, N, draw), *draw.normal(size=(2, N, 3))])


METHODS = {
    "inverse_dynamics": (3, (3,)), "forward_dynamics": (3, (3,)), "generalised_forces": (3, (3,)),
    "mass_matrix": (1, (3, 3)), "coriolis_matrix": (2, (3, 3)), "gravity": (1, (3,)),
    "bias": (2, (3,)), "kinetic_energy": (2, ()), "potential_energy": (1, ()),
    "gibbs_function": (3, ()), "forward_kinematics": (1, (4, 4)), "jacobian": (1, (6, 3)),
    "actuator_jacobian": (1, (3, 3)), "passive_jacobian": (1, (3, 3)), "singularity": (1, ()),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_leading_axes_broadcast(wrist, states, name):
    inputs, shape = METHODS[name]
    method = getattr(wrist, name)
    arguments = states[:inputs]
    batch = method(*arguments)
    assert batch.shape == (N, *shape)
    for k in (0, N - 1):
        single = method(*(x[k] for x in arguments))
        assert np.shape(single) == shape
        np.testing.assert_array_equal(single, batch[k])
    spread = method(states[0][:, None], *states[1:inputs, :4])
    assert spread.shape == (N, 4 if inputs > 1 else 1, *shape)
    np.testing.assert_array_equal(spread[0, 0], batch[0])
    assert method(*np.zeros((inputs, 0, 3))).shape == (0, *shape)


def test_what_it_says_of_itself(wrist):
    assert (wrist.nq, wrist.nv, wrist.name) == (3, 3, "agile_wrist")
    assert repr(wrist) == "<AgileWrist agile_wrist: 3 actuators, 8 links>"
    assert wrist.link_names[0] == "base"
    assert wrist.link_names[-1] == "platform"
    assert wrist.branch == "---"
    assert wrist.default_formulation("inverse_dynamics") == "quasi_speeds"
    lean = wrist.operations("inverse_dynamics")
    page = wrist.operations("inverse_dynamics", formulation="gibbs_jacobian")
    assert lean.multiplications < 550 < 800 < page.multiplications
    assert all(check.passed for check in wrist.selfcheck(20, 1))


def test_speeds_and_accelerations_have_other_names(wrist, states):
    q, v, a = states
    expected = wrist.inverse_dynamics(q, v, a)
    np.testing.assert_array_equal(wrist.inverse_dynamics(q, qd=v, qdd=a), expected)
    with pytest.raises(appell.InputError, match="given twice"):
        wrist.bias(q, v, qd=v)


def test_forward_dynamics_undoes_inverse_dynamics(wrist, states):
    q, v, a = states
    tau = wrist.inverse_dynamics(q, v, a)
    for formulation in ("quasi_speeds", "gibbs_jacobian"):
        back = wrist.kernel("forward_dynamics", formulation=formulation)(q, v, tau)
        np.testing.assert_allclose(back, a, rtol=0, atol=1e-9)


def test_float32_in_gives_float32_out(wrist, states):
    single = states.astype(np.float32)
    torques = wrist.inverse_dynamics(*single)
    assert torques.dtype == np.float32
    assert wrist.inverse_dynamics(*single[:, 0]).dtype == np.float32
    expected = wrist.inverse_dynamics(*states)
    # 24 bits through some 800 operations, and divided by distances of 0.05 from singularities.
    np.testing.assert_allclose(torques, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    assert wrist.inverse_dynamics(single[0], states[1], single[2]).dtype == np.float64


def test_out_is_written_and_returned(wrist, states):
    q, v, a = states
    expected = wrist.inverse_dynamics(q, v, a)
    out = np.zeros((N, 3))
    assert wrist.inverse_dynamics(q, v, a, out=out) is out
    np.testing.assert_array_equal(out, expected)
    mine = a.copy()
    wrist.inverse_dynamics(q, v, mine, out=mine)
    np.testing.assert_array_equal(mine, expected)
    with pytest.raises(appell.InputError, match="out= does not fit"):
        wrist.inverse_dynamics(q, v, a, out=np.zeros((N, 4)))


def test_copies_and_pickles_compute_the_same(wrist, states):
    for other in (pickle.loads(pickle.dumps(wrist)), copy.deepcopy(wrist)):
        assert other.model == wrist.model
        np.testing.assert_array_equal(
            other.inverse_dynamics(*states), wrist.inverse_dynamics(*states)
        )
    kernel = pickle.loads(pickle.dumps(wrist.kernel("mass_matrix")))
    np.testing.assert_array_equal(kernel(states[0]), wrist.mass_matrix(states[0]))


def test_derivatives_are_those_of_differences(wrist, states):
    q, v, a = states
    tau = wrist.inverse_dynamics(q, v, a)
    for name, x in (("inverse_dynamics", a), ("forward_dynamics", tau)):
        method = getattr(wrist, name)
        found = getattr(wrist, f"{name}_derivatives")(q, v, x)
        h = 1e-6
        for which, derivative in enumerate(found):
            for k in range(3):
                step = np.zeros((3, 3))
                step[which, k] = h
                ahead = method(q + step[0], v + step[1], x + step[2])
                behind = method(q - step[0], v - step[1], x - step[2])
                np.testing.assert_allclose(
                    derivative[..., k],
                    (ahead - behind) / (2 * h),
                    rtol=0,
                    atol=1e-6 * max(1, np.abs(derivative).max()),
                )


def test_the_gibbs_functions_gradient_is_the_force(wrist, states):
    gradient = wrist.kernel("gibbs_function", wrt="a")(*states)
    np.testing.assert_allclose(gradient, wrist.generalised_forces(*states), rtol=0, atol=1e-12)


def test_frames_turn_with_their_jacobians(wrist, states):
    q, v, _ = states
    for frame in wrist.link_names:
        J = wrist.jacobian(q, frame)
        assert not J[:, :3].any()
        R = wrist.forward_kinematics(q, frame)[:, :3, :3]
        slope = wrist.kernel("forward_kinematics", frame=frame, wrt="q")(q)[:, :3, :3]
        dR = slope @ v[:, None, :, None]
        spin = dR[..., 0] @ np.swapaxes(R, 1, 2)
        w = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
        np.testing.assert_allclose(np.einsum("nij,nj->ni", J[:, 3:], v), w, rtol=0, atol=1e-9)
    with pytest.raises(appell.InputError, match="has no frame 'hand'"):
        wrist.forward_kinematics(q, "hand")


# Scalars


@pytest.mark.parametrize(
    ("quantity", "formulation"),
    [(name, f) for name, asked in QUANTITIES.items() for f in asked.formulations],
)
def test_every_equation_gives_the_same_on_every_kind_of_scalar(
    wrist, states, quantity, formulation
):
    asked = QUANTITIES[quantity]
    n = len(asked.inputs)
    frame = ("second2",) if asked.frame else ()

    def flat(x):
        return [z for y in x for z in flat(y)] if isinstance(x, list | tuple) else [x]

    def equation(*state):
        return flat(asked.formulations[formulation](wrist.model, *map(list, state), *frame))

    expected = np.array(equation(*states[:n, 0].tolist()), dtype=float)
    scale = 1e-12 * np.abs(expected).max()
    columns = equation(*np.moveaxis(states[:n], 1, 2))
    on_arrays = np.array([np.broadcast_to(x, N)[0] for x in columns])
    np.testing.assert_allclose(on_arrays, expected, rtol=0, atol=scale)
    symbols = [casadi.SX.sym(x, 3) for x in asked.inputs]
    graph = casadi.vertcat(*equation(*map(casadi.vertsplit, symbols)))
    on_casadi = np.array(casadi.Function("f", symbols, [graph])(*states[:n, 0]))[:, 0]
    np.testing.assert_allclose(on_casadi, expected, rtol=0, atol=scale)
    with jax.enable_x64(True):
        on_jax = np.array([float(x) for x in equation(*jnp.asarray(states[:n, 0]))])
    np.testing.assert_allclose(on_jax, expected, rtol=0, atol=scale)
    results = wrist.kernel(quantity, formulation=formulation, frame="second2" if frame else None)(
        *states[:n, 0]
    )
    parts = results if isinstance(results, tuple) else (results,)
    compiled = np.concatenate([np.ravel(x) for x in parts])
    np.testing.assert_allclose(compiled, expected, rtol=0, atol=scale)


# Kinematics


def printed_angles(wrist, q, sign):
    """theta by (34), psi by (35) and (36) with arccos, as printed but for the errata."""
    model, found = wrist.model, []
    for limb in model.limbs:
        base = Rotation.from_euler("ZX", [limb.lam, model.gamma - np.pi]).as_matrix()
        fixed = Rotation.from_euler("ZX", [limb.eta, -model.beta]).as_matrix()[:, 2]
        v = Rotation.from_euler("ZYX", q).as_matrix() @ fixed
        s1, c1 = np.sin(limb.alpha1), np.cos(limb.alpha1)
        C = np.diag([s1, -s1, c1]) @ base.T @ v
        a, b, c = C[1], C[0], np.cos(limb.alpha2) - C[2]
        theta = np.arctan2(b, a) + sign * np.arctan2(np.sqrt(a * a + b * b - c * c), c)
        w = base @ [s1 * np.sin(theta), -s1 * np.cos(theta), c1]
        n1, n2 = np.cross(base[:, 2], w) / abs(s1), np.cross(w, v) / abs(np.sin(limb.alpha2))
        found.append((theta, np.arccos(n1 @ n2)))
    return np.array(found).T


def apart(x, y):
    return np.abs((np.asarray(x) - y + np.pi) % (2 * np.pi) - np.pi).max()


def test_angles_are_those_of_the_paper(wrist, states):
    for q in states[0]:
        theta, psi = wrist.inverse_kinematics(q)
        printed = printed_angles(wrist, q, -1)
        assert apart(theta, printed[0]) < 1e-12
        assert apart(psi, printed[1]) < 1e-12
        theta, psi = wrist.inverse_kinematics(q, branch="+")
        printed = printed_angles(wrist, q, 1)
        assert apart(theta, printed[0]) < 1e-12
        assert apart(-psi, printed[1]) < 1e-12  # arccos has only the other branch's sign


@pytest.mark.parametrize("branch", BRANCHES)
def test_each_limb_has_two_branches(wrist, states, branch):
    other = wrist.with_branch(branch)
    q, v, a = states
    theta, psi = other.inverse_kinematics(q)
    np.testing.assert_array_equal(theta, wrist.inverse_kinematics(q, branch=branch).theta)
    plus, minus = (wrist.inverse_kinematics(q, branch=sign).theta for sign in "+-")
    for i, sign in enumerate(branch):
        np.testing.assert_array_equal(theta[:, i], (plus if sign == "+" else minus)[:, i])
        assert (np.sign(psi[:, i]) == (-1 if sign == "+" else 1)).all()
    # Poses found for these angles, from nearby, are the ones they came from.
    back = other.direct_kinematics(theta, q + 1e-3 * v)
    np.testing.assert_allclose(back, q, rtol=0, atol=1e-11)
    assert other.singularity(q).shape == (N,)
    regular = other.singularity(q) > 0.05  # branches differ in the platform's singularities
    tau = other.inverse_dynamics(*(x[regular] for x in states))
    np.testing.assert_allclose(
        other.forward_dynamics(q[regular], v[regular], tau), a[regular], rtol=0, atol=1e-8
    )


def turned_between(q, other):
    """The angle of the turn between two poses."""
    return (Rotation.from_euler("ZYX", q).inv() * Rotation.from_euler("ZYX", other)).magnitude()


def test_all_assemblies_close_the_loops(wrist, states):
    for q in states[0][:5]:
        theta = wrist.inverse_kinematics(q).theta
        found = wrist.assemblies(theta)
        assert len(found) in (2, 4, 6, 8)
        assert any(turned_between(pose.q, q) < 1e-9 for pose in found)
        for pose in found:
            on = wrist.with_branch(pose.branch)
            assert apart(on.inverse_kinematics(pose.q).theta, theta) < 1e-9


def test_direct_kinematics_says_why_it_fails(wrist):
    q = np.array([0.1, 0.2, 0.3])
    theta = wrist.inverse_kinematics(q).theta
    short = appell.load("agile_wrist", alpha2=0.2)
    assert short.assemblies([0.0, 2.0, 4.0]) == []
    with pytest.raises(appell.InputError, match=r"do not close.*start nearer"):
        short.direct_kinematics([0.0, 2.0, 4.0], q)
    with pytest.raises(appell.InputError, match=r"on the branch '---' and the robot on '\+--'"):
        wrist.with_branch("+--").direct_kinematics(theta, q)
    with pytest.raises(appell.InputError, match="expected angles"):
        wrist.direct_kinematics([1.0, 2.0], q)


# What it cannot do


def test_a_pose_out_of_reach_is_refused_by_limb():
    short = appell.load("agile_wrist", alpha1=(1.4, 0.5, 1.4), alpha2=(1.2, 0.5, 1.2))
    q, v = np.zeros((2, 3))
    # u and v are 90 degrees apart at the start, and the links of limb 2 span 57.3.
    message = r"inverse_dynamics: q = \[0.0, 0.0, 0.0\]: limb 2 does not reach: .* 90 degrees apart"
    with pytest.raises(
        appell.InputError, match=message + r".*span 0 to 57.3; .*back by 33 degrees"
    ):
        short.inverse_dynamics(q, v, v)
    for method in (short.mass_matrix, short.gravity, short.inverse_kinematics):
        with pytest.raises(appell.InputError, match="limb 2 does not reach"):
            method(q)
    with pytest.raises(appell.InputError, match=r"q\[1, 0\] = .*limb 2 does not reach"):
        short.gravity(np.array([[reached(short)], [q]]))
    assert np.isnan(short.kernel("gravity")(q)).all()
    assert short.singularities(q).limbs[1] < 0 < short.singularities(q).limbs[0]
    assert short.singularity(q) < 0


def reached(wrist):
    """Some pose that all limbs reach."""
    return regular_states(wrist, 1, np.random.default_rng(0))[0]


def test_overwritten_poses_are_still_explained():
    short = appell.load("agile_wrist", alpha1=0.5, alpha2=0.5)
    q = np.zeros((2, 3))
    with pytest.raises(appell.InputError, match=r"q\[0\] = \[0.0, 0.0, 0.0\]: limb 1 does not"):
        short.inverse_dynamics(q, q, q, out=q)


def test_a_stretched_limb_is_refused():
    stretched = appell.load("agile_wrist", alpha1=np.pi / 4, alpha2=np.pi / 4 + 1e-10)
    q = np.zeros(3)
    with pytest.raises(appell.InputError, match="limb 1 is stretched or folded, a singularity"):
        stretched.inverse_dynamics(q, q, q)
    assert 0 < stretched.singularity(q) < 1e-4
    bold = appell.load("agile_wrist", alpha1=np.pi / 4, alpha2=np.pi / 4 + 1e-10, margin=0)
    assert np.isfinite(bold.inverse_kinematics(q).theta).all()


def test_a_platform_that_is_not_held_is_refused(wrist):
    """Between two poses on either side, the actuators' rows become dependent."""
    draw = np.random.default_rng(0)
    spanned = wrist.kernel("singularities")
    while True:
        low, high = regular_states(wrist, 2, draw)
        along = low + np.linspace(0, 1, 200)[:, None] * (high - low)
        ends = spanned(low)[1] * spanned(high)[1]
        if ends < 0 and (wrist.singularities(along).limbs > 0.05).all():
            break
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if spanned(low)[1] * spanned(middle)[1] < 0 else (middle, high)
    assert wrist.singularity(low) < 1e-10
    assert np.linalg.svd(wrist.actuator_jacobian(low))[1].min() < 1e-9
    with pytest.raises(appell.InputError, match=r"singular: the normals .* lie in a plane"):
        wrist.inverse_dynamics(low, [0, 0, 0], [0, 0, 0])
    assert np.isfinite(wrist.generalised_forces(low, [1, 1, 1], [1, 1, 1])).all()


def test_where_euler_angles_fail_torques_do_not(wrist):
    sideways = appell.load("agile_wrist", alpha1=1.5, alpha2=1.5)
    q = np.array([0.3, np.pi / 2, 0.2])
    assert sideways.singularities(q).limbs.min() > 0.05
    assert sideways.singularities(q).platform > 0.05
    assert sideways.singularity(q) < 1e-15
    assert np.isfinite(sideways.inverse_dynamics(q, [1, 1, 1], [1, 1, 1])).all()
    with pytest.raises(appell.InputError, match="q2 is at 90 degrees, where the Euler angles fail"):
        sideways.forward_dynamics(q, [1, 1, 1], [1, 1, 1])


def test_distances_are_numbers_everywhere(wrist):
    q = np.random.default_rng(0).uniform(-4, 4, (2000, 3))
    distance = wrist.singularity(q)
    assert np.isfinite(distance).all()
    assert (distance < 0).any()
    assert distance.max() <= 1
    torques = wrist.kernel("inverse_dynamics")(q, q, q)
    far = distance > wrist.model.margin
    assert np.isfinite(torques[far]).all()
    assert np.isnan(torques[wrist.singularities(q).limbs.min(axis=-1) < 0]).all()


def test_a_nan_goes_through(wrist, states):
    q, v, a = states
    v[4, 1] = np.nan
    torques = wrist.inverse_dynamics(q, v, a)
    assert np.isnan(torques[4]).any()
    assert np.isfinite(np.delete(torques, 4, axis=0)).all()
    assert np.isnan(wrist.gravity([np.nan, 0, 0])).all()


def test_jobs_for_arms_refuse_it(wrist):
    with pytest.raises(appell.InputError, match="'agile_wrist' is not built like the PUMA"):
        straight_line(Scenario(robot="agile_wrist"))
    with pytest.raises(appell.InputError, match="expected a Robot"):
        appell.simulate(wrist, [0, 0, 0], until=1)


def test_the_commands_know_it():
    listed = CliRunner().invoke(app, ["list"])
    assert "agile_wrist" in listed.stdout
    checked = CliRunner().invoke(app, ["check", "agile_wrist", "--states", "5"])
    assert checked.exit_code == 0
    assert "J_act^T tau = M a + C v + g" in checked.stdout


# What it is made of


def test_links_are_slender_arcs():
    """Against a fine polygon of point masses."""
    density, radius, angle = 1.3, 0.2, 1.1
    x = (np.arange(200_000) + 0.5) / 200_000 * angle
    points = radius * np.stack([0 * x, -np.sin(x), np.cos(x)], axis=-1)
    m = density * radius * angle / len(x)
    inertia = arc(density, radius, angle)
    assert inertia.mass == pytest.approx(density * radius * angle)
    np.testing.assert_allclose(inertia.moment, m * points.sum(axis=0), rtol=1e-9, atol=1e-18)
    second = m * (points.T @ points)
    tensor = np.trace(second) * np.eye(3) - second
    np.testing.assert_allclose(np.array(inertia.tensor.tensor), tensor, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"link_density": -1}, "link_density = -1; expected a finite number of 0 or more"),
        ({"link_density": np.inf}, "link_density = inf"),
        ({"arc_radius": 0}, "arc_radius = 0; expected the radius"),
        ({"alpha1": 80}, "alpha1 = 80; expected an angle between 0 and pi, in radians"),
        ({"alpha2": (1.0, 1.0)}, "expected a number, or one a limb"),
        ({"beta": "steep"}, "beta = 'steep'; expected a number"),
        ({"platform_mass": -1.0}, "the mass is negative"),
        ({"platform_inertia": (1e-3, 1e-3)}, "inertia of shape .* expected 3 principal moments"),
        ({"platform_inertia": (1e-3, 1e-3, 5e-3)}, "triangle inequality"),
        ({"platform_com": (0.5, 0, 0)}, "a principal moment is negative"),
        ({"platform_com": (0.5, 0)}, "expected x, y, z"),
        ({"gravity": 9.81}, "expected three numbers"),
        ({"branch": "up"}, r"branch = 'up': expected '\+' or '-'"),
        ({"margin": -1}, "margin = -1"),
        ({"colour": "red"}, "its options are those of agile_wrist"),
        ({"link_density": 0, "platform_mass": 0, "platform_inertia": (0, 0, 0)}, "have a mass"),
    ],
)
def test_robots_that_cannot_be_are_refused(options, message):
    with pytest.raises(appell.ModelError, match=message):
        appell.load("agile_wrist", **options)


def test_questions_it_does_not_know(wrist):
    with pytest.raises(appell.InputError, match="no quantity 'friction' of this robot; there are"):
        wrist.kernel("friction")
    with pytest.raises(appell.InputError, match="no formulation 'newton'; it has quasi_speeds"):
        wrist.kernel("inverse_dynamics", formulation="newton")
    with pytest.raises(appell.InputError, match="asked of no frame"):
        wrist.kernel("gravity", frame="platform")
    with pytest.raises(appell.InputError, match="expected a Wrist"):
        AgileWrist("agile_wrist")
    with pytest.raises(appell.InputError, match=r"q has shape \(4,\); expected \(..., 3\)"):
        wrist.gravity([0, 0, 0, 0])
    with pytest.raises(appell.InputError, match="a is missing"):
        wrist.inverse_dynamics([0, 0, 0], [0, 0, 0])


def test_a_load_is_a_heavier_platform(wrist, states):
    loaded = wrist.with_payload(0.5, (0.0, 0.0, 0.04), (1e-4, 1e-4, 1e-4))
    same = appell.load(
        "agile_wrist",
        platform_mass=1.351 + 0.5,
        platform_com=(0, 0, 0.02 / 1.851),
        platform_inertia=(38.29e-4 + 9e-4, 38.29e-4 + 9e-4, 5.5e-4),
    )
    np.testing.assert_allclose(
        loaded.inverse_dynamics(*states), same.inverse_dynamics(*states), rtol=1e-12, atol=1e-12
    )
    weightless = loaded.with_gravity((0, 0, 0))
    assert not weightless.gravity(states[0]).any()
    with pytest.raises(appell.ModelError, match="the mass is negative"):
        wrist.with_payload(-1)


def test_three_limbs_alike_give_torques_alike(wrist):
    """Turned by 120 degrees about the vertical, the wrist is itself, its limbs renamed."""
    q = np.array([0.2, 0.1, -0.3])
    turn = Rotation.from_euler("Z", 2 * np.pi / 3)
    turned = (turn * Rotation.from_euler("ZYX", q) * turn.inv()).as_euler("ZYX")
    still = np.zeros(3)
    np.testing.assert_allclose(
        np.roll(wrist.inverse_dynamics(q, still, still), 1),
        wrist.inverse_dynamics(turned, still, still),
        atol=1e-14,
    )


def test_limbs_in_the_same_place_are_refused():
    with pytest.raises(appell.ModelError, match="two limbs in the same place"):
        appell.load("agile_wrist", lam=0.0, eta=0.0)
