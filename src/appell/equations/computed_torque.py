"""The computed torque technique: Lee 1982, section 4.

The joint forces are those of the inverse dynamics, for an acceleration that removes errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.maths.scalar import Scalar


def commanded_acceleration(
    desired: tuple[Sequence[Scalar], Sequence[Scalar], Sequence[Scalar]],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    kp: Sequence[Scalar],
    kv: Sequence[Scalar],
) -> list[Scalar]:
    """a_d + kv (v_d - v) + kp (q_d - q), equation 4.4, each joint with its own gains."""
    q_d, v_d, a_d = desired
    return [a_d[i] + kv[i] * (v_d[i] - v[i]) + kp[i] * (q_d[i] - q[i]) for i in range(len(q))]
