"""A term that is wrong in a paper's equations makes rows of its paper fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest

from appell.equations import (
    articulated_body,
    composite_body,
    gibbs_jacobian,
    gibbs_tensor,
    gibbs_tree,
    gibbs_vector,
    gibbs_vector_paul,
    lagrange_euler,
    lagrange_recursive,
    newton_euler,
)
from appell.equations.spherical import spherical_jacobian
from appell.papers import (
    abedloo2014,
    lee1982_control,
    lee1982_equivalence,
    lee1982_lagrange_euler,
    lee1982_newton_euler,
    mata2002_counts,
    shafei2018,
    valera2003,
    valera2003_control,
    valera2003_line,
)
from appell.papers import mata2002_simulation as mata_simulation
from appell.papers import shafei2018_counts as shafei_counts
from appell.show.document import Row, Table

MODULES = (
    abedloo2014,
    lee1982_control,
    lee1982_equivalence,
    mata_simulation,
    shafei2018,
    shafei_counts,
    valera2003_control,
    valera2003_line,
)
KEPT = (abedloo2014.simulated, abedloo2014.motion)  # of a simulator with equations of its own


def forget() -> None:
    """Robots, kernels and runs that were made before."""
    for module in MODULES:
        for thing in vars(module).values():
            if hasattr(thing, "cache_clear") and thing not in KEPT:
                thing.cache_clear()


@pytest.fixture
def afresh(nothing_kept) -> Iterator[None]:
    """All is computed in this test, and nothing of it is left."""
    forget()
    yield
    forget()


def scaled(x: Any) -> Any:
    """One number of a step's result a thousandth larger: the last, as the first may be zero."""
    if isinstance(x, dict):
        last = list(x)[-1]
        return {**x, last: scaled(x[last])}
    if isinstance(x, list):
        return [*x[:-1], scaled(x[-1])]
    if type(x) is tuple:
        return (*x[:-1], scaled(x[-1]))
    return x._replace(**{x._fields[-1]: scaled(x[-1])}) if hasattr(x, "_fields") else x * 1.001


def break_step(patch: pytest.MonkeyPatch, module: ModuleType, step: str) -> None:
    right = getattr(module, step)
    patch.setattr(module, step, lambda *x, **named: scaled(right(*x, **named)))


def failures(tables: Sequence[Table]) -> list[Row]:
    return [row for table in tables for row in table.failures]


# What is computed by each, in the cheapest tables that have it.


def mata_torques() -> list[Table]:
    return [mata_simulation._torques()]


def mata_motion() -> list[Table]:
    return [mata_simulation._apart()]


def abedloo() -> list[Table]:
    return [abedloo2014.errors_table(), abedloo2014.formulations_table()]


def shafei() -> list[Table]:
    return [shafei2018.formulations_table()]


def lee() -> list[Table]:
    return [lee1982_equivalence.torques_table()]


def lee_motion() -> list[Table]:
    return [lee1982_control._claim()]


def valera_torques() -> list[Table]:
    return [valera2003_line._configurations()]


def valera_dynamics() -> list[Table]:
    return [valera2003_line._dynamics()]


NUMBERS = [
    (lee, newton_euler, "inertial_moments"),
    (lee, newton_euler, "inertial_forces"),
    (lee, lagrange_euler, "inertia_terms"),
    (lee, lagrange_euler, "joint_forces"),
    (lee_motion, newton_euler, "moments"),
    (valera_torques, gibbs_vector, "accelerations"),
    (valera_torques, gibbs_vector_paul, "accelerations"),
    (valera_dynamics, gibbs_vector, "inertial_moments"),
    (valera_dynamics, gibbs_vector_paul, "inertial_moments"),
    (mata_torques, gibbs_tensor, "inertial_force"),
    (mata_torques, gibbs_tensor, "inertial_moment"),
    (mata_torques, gibbs_tensor, "carried_moment"),
    (mata_motion, gibbs_tensor, "second_moments"),
    (mata_motion, composite_body, "asked_for"),
    (mata_motion, newton_euler, "inertial_forces"),
    (abedloo, gibbs_jacobian, "body_forces"),
    (abedloo, gibbs_jacobian, "body_mass_matrix"),
    (abedloo, gibbs_jacobian, "printed_body_coriolis_matrix"),
    (abedloo, gibbs_jacobian, "body_gravity"),
    (abedloo, spherical_jacobian, "limb_rates"),
    (shafei, gibbs_tree, "projected"),
    (shafei, gibbs_tree, "coupled"),
]


@pytest.fixture(scope="module")
def simulated_wrist() -> None:
    """Abedloo's simulator has run, by right equations."""
    abedloo2014.motion()


@pytest.mark.parametrize(
    ("tables", "module", "step"),
    NUMBERS,
    ids=[f"{m.__name__.rpartition('.')[2]}.{step}" for _, m, step in NUMBERS],
)
def test_a_wrong_number_is_noticed(tables, module, step, monkeypatch, simulated_wrist, afresh):
    monkeypatch.setattr(
        mata_simulation, "_cases", lambda: [(mata_simulation.DURATION, mata_simulation.COARSE)]
    )
    break_step(monkeypatch, module, step)
    assert failures(tables())


def test_a_wrong_articulated_body_is_noticed(monkeypatch, afresh):
    case = (mata_simulation.DURATION, mata_simulation.COARSE)
    monkeypatch.setattr(mata_simulation, "_cases", lambda: [case])
    right = articulated_body.cross
    monkeypatch.setattr(articulated_body, "cross", lambda a, b: scaled(right(a, b)))
    assert failures(mata_motion())


def test_a_wrong_flight_is_not_the_one_of_table_3(monkeypatch, afresh):
    """The gravity of the paper's equations a hundredth stronger."""
    right = gibbs_tree.projected

    def heavier(model, branch, place, p, Q, chi):
        return right(model, branch, place, [[1.01 * x for x in row] for row in p], Q, chi)

    monkeypatch.setattr(gibbs_tree, "projected", heavier)
    assert failures([shafei2018.table_3("made symmetric")])


# Operations: one more in a step is one more in the tables.

COUNTS = [
    (mata2002_counts.tables, gibbs_tensor, "inertial_moment"),
    (mata2002_counts.tables, gibbs_tensor, "first_moments"),
    (mata2002_counts.tables, newton_euler, "inertial_moments"),
    (mata2002_counts.tables, composite_body, "asked_for"),
    (shafei_counts.tables, gibbs_tree, "carried"),
    (shafei_counts.tables, gibbs_tree, "turned_moments"),
    (shafei_counts.tables, gibbs_tensor, "bias"),
    (shafei_counts.tables, lagrange_recursive, "forces"),
    (lambda: [lee1982_lagrange_euler.lagrange_euler_table()], lagrange_euler, "joint_forces"),
    (lambda: [lee1982_newton_euler.newton_euler_table()], newton_euler, "inertial_forces"),
    (lambda: [valera2003.steps_table()], gibbs_vector, "inertial_moments"),
    (lambda: [valera2003.algorithms_table()], gibbs_vector_paul, "inertial_moments"),
]


@pytest.mark.parametrize(
    ("tables", "module", "step"),
    COUNTS,
    ids=[f"{m.__name__.rpartition('.')[2]}.{step}-{k}" for k, (_, m, step) in enumerate(COUNTS)],
)
def test_an_operation_more_is_noticed(tables, module, step, monkeypatch, afresh):
    break_step(monkeypatch, module, step)
    assert failures(tables())
