"""Studies: a task described in a file, computed, and ready to be shown."""

from appell.study.scenario import Scenario, read_scenario
from appell.study.straight_line import StraightLine, run

__all__ = ["Scenario", "StraightLine", "read_scenario", "run"]
