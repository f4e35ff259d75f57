"""Make the README's picture of the arm: ``make pictures``."""

from pathlib import Path

from appell.show import plots
from appell.study import Scenario, run

plots.arm(run(Scenario())).savefig(Path(__file__).parent / "images" / "straight_line.png", dpi=150)
