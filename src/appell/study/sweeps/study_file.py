"""Study: a scenario, what varies in it, and what is kept of each point. A TOML or JSON file says
it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from appell.errors import InputError, nearest
from appell.model.settings_file import data_of
from appell.study.scenario import Scenario, Source
from appell.study.scenario_file import checked, read_scenario, valid
from appell.study.section import Count, Levels, Many, Positive, Section
from appell.study.sweeps.tuning_section import Bound, Parameter, TuneSection
from appell.study.sweeps.variable import Correlation, Variable

RESERVED = ("point", "failed", "reason")  # columns of every sweep


class RolloutSection(Section):
    """Settings of points that are runs of a rollout."""

    integrator: Literal["rk4", "semi_implicit_euler", "implicit_midpoint"] = Field(
        default="rk4", description="how a step is computed"
    )
    step: Positive = Field(
        default=1e-3, description="s, at most: the law's period is divided into steps as long"
    )
    slip: Positive = Field(default=0.01, description="rad/s or m/s, of dry friction")
    compare: Count = Field(
        default=4, description="points that are also run exactly, to show how far both differ"
    )


class Study(Section):
    """A scenario at many points: a study file as data. The page on sweeps tells every entry.

    Attributes:
        title: The title of the report.
        scenario: The path of a scenario file, or the scenario itself.
        function: In place of a scenario, module:name of a function of the variables that gives
            numbers.
        vary: What varies, by field or by a name of one's own.
        correlated: Variables that go together.
        sampling: How the points lie.
        points: How many; of "saltelli", for each of the variables and two more.
        seed: Seed of the random numbers in sampling.
        measures: What is kept of each point.
        cost: module:name of a function of t, q, v and tau, where something is followed also of
            the desired q and v, as a rollout takes it; its integral is the measure "cost".
        tolerance: Of settling_time and success, rad or m.
        method: "rollout", "runs", or whichever suits.
        rollout: Settings of points that are runs of a rollout.
        block: Points that are computed and written together.
        tune: What is to be optimised.
    """

    title: str = ""
    scenario: str | dict[str, Any] | None = None
    function: str | None = Field(default=None, description="module:name")
    vary: dict[str, Variable] = Field(default={}, description="by field, or by a name of one's own")
    correlated: tuple[Correlation, ...] = ()
    sampling: Literal["sobol", "latin_hypercube", "random", "grid", "list", "saltelli"] = "sobol"
    points: Many | None = None
    seed: Count = 0
    measures: tuple[str, ...] = ()
    cost: str | None = Field(
        default=None,
        description="module:name of f(t, q, v, tau), where something is followed f(t, q, v, tau, "
        "qd, vd); its integral is the measure cost",
    )
    tolerance: Levels = Field(default=1e-3, description="rad or m, of settling_time and success")
    method: Literal["auto", "rollout", "runs"] = "auto"
    rollout: RolloutSection = RolloutSection()
    block: Many | None = Field(default=None, description="points that are written together")
    tune: TuneSection | None = None

    _source: Source = PrivateAttr(default_factory=Source)

    @model_validator(mode="after")
    def _fitting(self) -> Study:
        """Refuse what does not go together."""
        if (self.scenario is None) == (self.function is None):
            raise ValueError("expected either scenario or function")
        self._check_points()
        self._check_names()
        pairs = [frozenset(pair.between) for pair in self.correlated]
        for pair, names in zip(self.correlated, pairs, strict=True):
            if len(names) == 1 or pairs.count(names) > 1:
                other = "itself" if len(names) == 1 else "the same one, twice"
                raise ValueError(
                    f"correlated: {pair.between[0]!r} goes with {other}; expected two variables, "
                    "and each pair once"
                )
            for name in pair.between:
                if name not in self.vary:
                    near = nearest(name, self.vary)
                    hint = f"; did you mean {near!r}?" if near else ""
                    raise ValueError(f"correlated: nothing varies by the name {name!r}{hint}")
        if self.correlated and self.sampling in ("grid", "list", "saltelli"):
            raise ValueError(f"correlated variables have no points by sampling = {self.sampling!r}")
        return self

    def _check_names(self) -> None:
        keywords: dict[str, str] = {}
        for name in self.vary:
            if name in RESERVED:
                raise ValueError(f"vary: '{name}' is a column of every sweep; rename the variable")
            same = keywords.setdefault(keyword_of(name), name)
            if self.function is not None and same != name:
                raise ValueError(f"vary: '{same}' and '{name}' are the same argument; rename one")

    def _check_points(self) -> None:
        if not self.vary and self.tune is None:
            raise ValueError("nothing varies; expected at least one entry in vary")
        if self.sampling in ("grid", "list"):
            if self.points is not None:
                raise ValueError(
                    f"sampling = {self.sampling!r} has as many points as its values: "
                    "leave points out"
                )
            uncounted = [name for name, v in self.vary.items() if v.levels is None]
            if uncounted:
                raise ValueError(
                    f"sampling = {self.sampling!r} takes values, linear, logarithmic or whole; "
                    f"{uncounted[0]!r} is {self.vary[uncounted[0]].kind}"
                )
            counts = {name: len(v.levels or ()) for name, v in self.vary.items()}
            if self.sampling == "list" and len(set(counts.values())) > 1:
                raise ValueError(
                    f"sampling = 'list' takes as many values of each; there are {counts}"
                )
        elif self.points is None and self.vary:
            raise ValueError(f"expected points, how many, with sampling = {self.sampling!r}")
        elif self.sampling == "saltelli" and self.points and self.points & (self.points - 1):
            near = 1 << (self.points.bit_length() - 1)
            raise ValueError(
                f"points = {self.points}: sampling = 'saltelli' takes a power of two, such as "
                f"{near} or {2 * near}"
            )

    @property
    def source(self) -> Source:
        """File, or place in a file, where the study was written."""
        return self._source

    @property
    def base(self) -> Scenario:
        """The scenario whose fields vary."""
        if isinstance(self.scenario, dict):
            source = self.source
            inside = Source(source.file, source.text, ("scenario",), source.named)
            return checked(self.scenario, inside)
        if self.scenario is None:
            raise InputError("this study is of a function, and has no scenario.")
        file = self.source.folder / Path(self.scenario).expanduser()
        if not file.is_file():
            raise InputError(
                f"{self.source.place(('scenario',))}: there is no file '{file}'; expected the path "
                "of a scenario, from the study's folder."
            )
        return read_scenario(file)

    def text(self) -> str:
        """The study as JSON, which read_study reads."""
        return self.model_dump_json(indent=2, exclude_none=True)


def keyword_of(name: str) -> str:
    """The argument of a function that a variable is."""
    return name.replace(".", "_")


def read_study(path: str | os.PathLike[str]) -> Study:
    r"""The study in a .toml or .json file, checked.

    Args:
        path: The study file; paths in it are relative to its folder.

    Returns:
        A `Study`.

    Examples:
        >>> scenario = 'robot = "planar_chain"\ntask = {kind = "fall", until = 0.5}\n'
        >>> _ = (tmp / "fall.toml").write_text(scenario)
        >>> text = 'scenario = "fall.toml"\npoints = 8\n'
        >>> text += '[vary]\n"start.v.joint1" = {uniform = [0, 1]}\n'
        >>> _ = (tmp / "study.toml").write_text(text)
        >>> appell.study.read_study(tmp / "study.toml").points
        8
    """
    file = Path(path)
    data, text = data_of(file, "the study", InputError)
    return checked_study(data, Source(file, text))


def with_points(study: Study, count: int) -> Study:
    """The study as if its file said ``points = count``; refused where the file would be."""
    return checked_study(json.loads(study.text()) | {"points": count}, study.source)


def _by_path(data: Any) -> Any:
    """A study in which what TOML makes of law.kp = {...} without quotes is "law.kp" again."""
    if not isinstance(data, dict):
        return data
    data = dict(data)
    tune = data.get("tune")
    if isinstance(tune, dict):
        data["tune"] = tune | {
            name: _flat(tune[name], kind)
            for name, kind in (("parameters", Parameter), ("constraints", Bound))
            if name in tune
        }
    return data | ({"vary": _flat(data["vary"], Variable)} if "vary" in data else {})


def _flat(entries: Any, kind: type[Section]) -> Any:
    """Entries by their whole paths: tables of tables that are no entries themselves are parts of
    paths."""
    if not isinstance(entries, dict):
        return entries
    flat: dict[str, Any] = {}
    for name, entry in entries.items():
        is_part = isinstance(entry, dict) and entry and not {*entry} & {*kind.model_fields}
        if is_part and all(isinstance(x, dict) for x in entry.values()):
            own = {f"{name}.{rest}": x for rest, x in _flat(entry, kind).items()}
        else:
            own = {name: entry}
        for path in own:
            if path in flat:
                raise InputError(f"'{path}' is given twice, with quotes and without; expected one.")
        flat |= own
    return flat


def checked_study(data: Any, source: Source | None = None) -> Study:
    """The study of a file's values; refused with the places of what is wrong in it."""
    source = source or Source()
    if isinstance(data, dict) and "task" in data and not {"scenario", "function"} & set(data):
        file = source.file or "this"
        raise InputError(
            f"{file} is a scenario, not a study: appell run runs it, and appell sweep new writes a "
            "study of it."
        )
    study = valid(Study, _by_path(data), source)
    study._source = source
    return study
