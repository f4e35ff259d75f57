"""Mata, Provenzano, Valero, Cuadrado 2002: Gibbs-Appell algorithms, their cost, their accuracy."""

from __future__ import annotations

from appell.papers import mata2002_counts
from appell.show.document import Document


def document() -> Document:
    """Tables 1 to 7, and the figures."""
    from appell.papers import mata2002_simulation, mata2002_stability

    return Document(
        name="mata2002",
        title="Serial-robot dynamics algorithms for moderately large numbers of joints",
        source="V. Mata, S. Provenzano, F. Valero, J. I. Cuadrado, Mechanism and Machine Theory "
        "37 (2002) 739-755",
        tables=(
            *mata2002_counts.tables(),
            *mata2002_stability.tables(),
            *mata2002_simulation.tables(),
        ),
        pictures=(*mata2002_stability.PICTURES, *mata2002_simulation.PICTURES),
    )
