"""SphericalRobot as a user calls it: shapes, kinds of numbers, errors."""

from __future__ import annotations

import copy
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
from appell.equations.spherical.spherical_quantities import QUANTITIES
from appell.robots.spherical import SphericalRobot
from appell.study.straight_line import run as straight_line

N = 13


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
    assert repr(wrist) == "<SphericalRobot agile_wrist: 3 actuators, 8 links>"
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


def test_jobs_for_arms_refuse_it(wrist):
    with pytest.raises(appell.InputError, match="'agile_wrist' is not built like the PUMA"):
        straight_line(robot=appell.load("agile_wrist"))


def test_the_commands_know_it():
    listed = CliRunner().invoke(app, ["list"])
    assert "agile_wrist" in listed.stdout
    checked = CliRunner().invoke(app, ["check", "agile_wrist", "--states", "5"])
    assert checked.exit_code == 0
    assert "the actuators' forces give Q" in checked.stdout


def test_questions_it_does_not_know(wrist):
    with pytest.raises(appell.InputError, match="no quantity 'friction' of 'agile_wrist'"):
        wrist.kernel("friction")
    with pytest.raises(appell.InputError, match="no formulation 'newton'; it has quasi_speeds"):
        wrist.kernel("inverse_dynamics", formulation="newton")
    with pytest.raises(appell.InputError, match="asked of no frame"):
        wrist.kernel("gravity", frame="platform")
    with pytest.raises(appell.InputError, match="expected a SphericalModel"):
        SphericalRobot("agile_wrist")
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
