"""Pages of the viewer, as tests see them."""

from __future__ import annotations

import time

SIZE = {"width": 560, "height": 320}
PATIENCE = 180_000  # ms, of a machine that draws without a graphics card and has much else to do

# A canvas as it is after the frame in which it is drawn.
DRAWN = "c => new Promise((done) => requestAnimationFrame(() => done(c.toDataURL())))"


def value(page, table, name):
    """A number that a table shows, to its last digit."""
    cell = page.locator(f'[data-table="{table}"] tr[data-name="{name}"] td[data-value]')
    return float(cell.get_attribute("data-value"))


def until(holds):
    """Wait for something to become true."""
    end = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
