"""JAX on the CPU: our equation under jit and vmap, in the faster of two layouts.

XLA's fusion pass is off (see ``benchmarks.worker``): with it the PUMA's inverse dynamics does
not compile in four minutes, in either layout (jax-ml/jax issue 2777). So that values between
operations stay in the cache, the batch goes through in blocks.
"""

from __future__ import annotations

from functools import partial
from timeit import timeit
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.peers.common import Array, Read, Run, equation

_BLOCK = 2000


class Jax:
    def __init__(self) -> None:
        import jax

        self.version = jax.__version__

    def prepare(self, case: Case, *states: Array) -> tuple[Run, Read]:
        import jax.numpy as jnp

        f = equation(case)

        def stacked(state: Any) -> Any:
            return jnp.array(f(*state))

        layouts = [make(stacked, states) for make in (_states_first, _states_last)]
        for run, _ in layouts:
            run()  # compiles
        return min(layouts, key=lambda layout: timeit(layout[0], number=1))


def _states_first(f: Any, states: tuple[Array, ...]) -> tuple[Run, Read]:
    """Blocks of (states, n)."""
    import jax

    blocks = jax.jit(partial(jax.lax.map, f, batch_size=_BLOCK))
    return _waiting(blocks, states), np.asarray


def _states_last(f: Any, states: tuple[Array, ...]) -> tuple[Run, Read]:
    """Blocks of (n, states): each value of a block lies in one piece."""
    import jax

    size = min(_BLOCK, len(states[0]))
    turned = tuple(x.reshape(-1, size, x.shape[-1]).swapaxes(1, 2) for x in states)
    blocks = jax.jit(partial(jax.lax.map, jax.vmap(f, in_axes=1, out_axes=-1)))

    def read(result: Any) -> Array:
        by_state = np.moveaxis(np.asarray(result), -1, 1)
        return by_state.reshape(-1, *by_state.shape[2:])

    return _waiting(blocks, turned), read


def _waiting(blocks: Any, states: tuple[Array, ...]) -> Run:
    import jax

    held = tuple(jax.device_put(np.ascontiguousarray(x)) for x in states)
    return lambda: blocks(held).block_until_ready()
