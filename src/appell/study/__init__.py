"""Studies: a task described in a file, computed, and ready to be shown."""

from appell.study.run_scenario import Result, run
from appell.study.scenario import Scenario
from appell.study.scenario_build import Built, build
from appell.study.scenario_file import json_schema, read_scenario

__all__ = ["Built", "Result", "Scenario", "build", "json_schema", "read_scenario", "run"]
