"""The closed loop in JAX: our equations under jit, all runs at once, a scan over the steps.

XLA's fusion pass is off, as for the other figures of JAX (see :mod:`benchmarks.peers.jax`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from appell.control.laws.compiled import of_state
from appell.equations.quantities import QUANTITIES

Array = Any


def jax_rollout(
    robot: Any, law: Any, q: Array, v: Array, plan: Array, dt: float
) -> Callable[[], Array]:
    """() -> the last states (runs, 2 n); the plan is (steps, 3 n) of q, v and a."""
    import jax
    import jax.numpy as jnp

    n = robot.nv
    formulation = robot.default_formulation("forward_dynamics")
    forward, forces = QUANTITIES["forward_dynamics"].formulations[formulation], of_state(law, False)
    shares = jnp.array([[dt / 2, dt / 6], [dt / 2, dt / 3], [dt, dt / 3], [0.0, dt / 6]])

    def accelerations(q: Array, v: Array, tau: Array) -> Array:
        return jnp.stack(forward(robot.model, list(q), list(v), list(tau)))

    def step(y: Array, wanted: Array) -> tuple[Array, None]:
        asked = forces(list(y[:n]), list(y[n:]), *(list(x) for x in wanted.reshape(3, n)))
        tau = jnp.stack(asked)

        def stage(carry: Any, share: Array) -> tuple[Any, None]:
            z, total = carry
            rate = jnp.concatenate([z[n:], accelerations(z[:n], z[n:], tau)])
            return (y + share[0] * rate, total + share[1] * rate), None

        (_, later), _ = jax.lax.scan(stage, (y, y), shares)
        return later, None

    loop = jax.jit(lambda y, plan: jax.lax.scan(step, y, plan)[0])
    start, table = (jax.device_put(np.ascontiguousarray(x)) for x in (np.hstack([q, v]).T, plan))
    return lambda: np.asarray(loop(start, table)).T
