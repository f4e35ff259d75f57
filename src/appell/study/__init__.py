"""Studies: a task described in a file, computed, and ready to be shown."""

from appell.study.run_scenario import Result, run
from appell.study.scenario import Scenario, puma_line
from appell.study.scenario_build import Built, build
from appell.study.scenario_file import json_schema, read_scenario
from appell.study.sweeps.study_file import Study, read_study
from appell.study.sweeps.sweep import Sweep, open_sweep, sweep
from appell.study.tuning.tune import tune
from appell.study.tuning.tuned import Tuned

__all__ = [
    "Built",
    "Result",
    "Scenario",
    "Study",
    "Sweep",
    "Tuned",
    "build",
    "json_schema",
    "open_sweep",
    "puma_line",
    "read_scenario",
    "read_study",
    "run",
    "sweep",
    "tune",
]
