"""What tune_gains.toml minimises."""


def cost(t, q, v, tau, qd, vd):
    """Errors of positions, and a little for errors of speeds and for torques, each second."""
    return 1e4 * squares(qd, q) + 10 * squares(vd, v) + 1e-6 * sum(x * x for x in tau)


def squares(x, y):
    return sum((a - b) * (a - b) for a, b in zip(x, y, strict=True))
