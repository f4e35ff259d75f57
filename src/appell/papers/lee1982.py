"""Lee, Chung, Mudge, Turney 1982: what controllers cost by the Lagrange-Euler and Newton-Euler
equations, and how well computed torque follows."""

from __future__ import annotations

from appell.papers.lee1982_lagrange_euler import lagrange_euler_table
from appell.show.document import Document, Row, Table
from appell.show.rules import Ratio

PUMA = 6  # joints


def document() -> Document:
    """Tables 1 and 2, the claim that follows from them, and the simulation of figures 3 to 8."""
    from appell.papers import lee1982_control, lee1982_equivalence
    from appell.papers.lee1982_newton_euler import newton_euler_table

    tables = lagrange_euler_table(), newton_euler_table()
    return Document(
        name="lee1982",
        title="On the Control of Mechanical Manipulators",
        source="C. S. G. Lee, M. J. Chung, T. N. Mudge, J. L. Turney, University of Michigan, 1982",
        tables=(
            *tables,
            claim(*tables),
            lee1982_equivalence.torques_table(),
            lee1982_equivalence.processor_table(*tables),
            *lee1982_control.tables(),
        ),
        pictures=[
            lee1982_control.errors_picture,
            lee1982_control.largest_picture,
            lee1982_control.MOTION,
        ],
        models=[lee1982_control.robot().model],
    )


def claim(lagrange_euler: Table, newton_euler: Table) -> Table:
    """Section 5: for six joints, about 100 times more operations; from the tables' totals."""
    many = _total("Lagrange-Euler", lagrange_euler)
    few = _total("Newton-Euler", newton_euler)
    ratios = [round(float(m / f), 1) for m, f in zip(many.ours, few.ours, strict=True)]
    return Table(
        "Section 5: how many times more operations for a six-jointed robot",
        ("multiplications", "additions"),
        [
            many,
            few,
            Row(
                "ratio",
                (100.0, 100.0),
                ratios,
                rule=Ratio(1.2, 1.5),
                why="The paper's figure is rough: the totals of its own tables give these ratios.",
            ),
        ],
    )


def _total(equations: str, table: Table) -> Row:
    """The last row of a table of counts, at six joints."""
    total = table.rows[-1]
    printed, ours = ([count(PUMA) for count in x] for x in (total.paper, total.ours))
    return Row(f"{equations}, total for n = {PUMA}", printed, ours)
