"""Operations of one evaluation, counted and not timed."""

from __future__ import annotations

QUANTITIES = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "regressor",
)


def operation_counts() -> dict[str, dict[str, int]]:
    """Of the PUMA's quantities."""
    import appell

    robot = appell.load("puma560")
    return {quantity: robot.operations(quantity)._asdict() for quantity in QUANTITIES}
