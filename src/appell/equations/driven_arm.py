"""An arm on its motors, with friction in its joints: how it moves while a command is held.

Karnopp 1985 for joints that stick: those whose speed is below ``REST`` do, while friction can hold
them. The motors' currents follow the volts that they are given, as far as the supply goes against
the motors' own voltage.
"""

from __future__ import annotations

from appell.equations.feedback import Gain, Scalars, clipped, minus, plus, times
from appell.equations.held_joints import held_motion
from appell.maths.scalar import Scalar, sign
from appell.maths.tableau import RK4, fixed_step
from appell.model.model import Model

REST = 1e-4  # rad/s


def damped_arm(
    model: Model, y: Scalars, push: Scalars, damping: Scalars, free: Scalars
) -> list[Scalar]:
    """The rate of y = (q, v), and what holds the joints that are not free."""
    q, v = y[: model.nv], y[model.nv :]
    return held_motion(model, q, v, minus(push, times(damping, v)), free)


def turning_arm(
    model: Model, y: Scalars, volts: Scalars, hand: Scalars, motors: Gain, period: Scalars
) -> list[Scalar]:
    """y a period later, and the motors' currents, by one step of Runge and Kutta while all joints
    turn. At last how many signs say that they do, three a joint: that it is not slow, that it does
    not turn round if its acceleration stays, and that it has not turned round.

    ``motors`` are A a V, the most A, N m a A, 1 / ohm, and friction, viscous and dry.
    """
    n, h = model.nv, period[0]
    amplifier, most, back, per_ohm, viscous, coulomb = motors
    v, free = y[n:], [1] * n
    emf = times(per_ohm, times(back, v))  # as a current
    wanted = plus(times(amplifier, volts), emf)
    current = minus([clipped(x, limit) for x, limit in zip(wanted, most, strict=True)], emf)
    dry = times(coulomb, [sign(x) for x in v])
    push = minus(plus(times(back, current), hand), dry)

    def rate(t: Scalar, y: Scalars) -> list[Scalar]:
        return damped_arm(model, y, push, viscous, free)[: 2 * n]

    first = rate(0, y)
    new = fixed_step(RK4, rate, y, h, first)
    speeds = zip(v, first[n:], new[n:], strict=True)
    turns = [(x * x - REST**2, x * (x + h * a), x * later) for x, a, later in speeds]
    return [*new, *current, sum((sign(x) for each in turns for x in each), start=0)]
