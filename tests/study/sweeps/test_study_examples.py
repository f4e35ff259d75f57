"""Every study of examples/studies runs, with few points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from appell.study import read_study, sweep, tune
from appell.study.sweeps.study_file import with_points

STUDIES = sorted((Path(__file__).parents[3] / "examples" / "studies").glob("*.toml"))


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_an_example_runs_with_few_points(file):
    study = read_study(file)
    if study.tune is not None:
        section = study.tune.model_copy(update={"iterations": 1, "population": 2})
        assert np.isfinite(tune(study.model_copy(update={"tune": section})).objective)
        return
    short = with_points(study, 2)
    rollout = short.rollout.model_copy(update={"compare": 1})
    found = sweep(short.model_copy(update={"rollout": rollout}))
    assert not found.failed.any(), found.reasons()
    assert found.measures == study.measures
    for name in set(found.measures) - {"settling_time", "first_impact"}:  # these may be never
        assert np.isfinite(found[name]).all(), name
