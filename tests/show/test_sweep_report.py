"""The report of a sweep: verdict first, every point can be replayed, and whatever comes fits."""

from __future__ import annotations

import errno
import html as html_texts
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from appell.errors import AppellError
from appell.show.sweep_report import html, summary, write_sweep
from appell.study import Study, open_sweep, sweep
from appell.study.sweeps.design import Design
from appell.study.sweeps.results.sweep_charts import labelled, response_panel, sobol_chart
from appell.study.sweeps.sweep import Sweep
from tests.browser import executable
from tests.report_pages import CUT, OPTIONS, examine
from tests.show.test_report import Tags

VARY = {
    "robot.payload.mass": {"uniform": (0, 5)},
    "law.kp": {"log_uniform": (10, 1000)},
    "friction": {"truncated_normal": (2, 1, 0, 4), "scales": ("robot.friction.viscous",)},
    "law.name": {"values": ("computed-torque", "pd-plus", "slotine-li")},
}


def made(n, sampling="sobol", vary=None, lost=2e-2, **options):
    """A sweep of n points (or samples) that did not have to be computed."""
    study = Study(function="math:hypot", vary=vary or VARY, points=n, sampling=sampling, **options)
    design = Design(study)
    n = design.count
    values, rng = design.values(0, n), np.random.default_rng(0)
    mass, kp = values["robot.payload.mass"], values["law.kp"]
    failed = rng.random(n) < lost * (mass > 4)
    reason = np.full(n, None, dtype=object)
    reason[failed] = [f"numbers are not finite from {x:.6g} s on" for x in rng.random(failed.sum())]
    settled = np.where(rng.random(n) < 0.2 * (mass - 3), np.inf, 0.2 + 0.1 * mass)
    measures = {
        "worst_error": (0.3 + mass) / kp * np.exp(0.3 * rng.normal(size=n)),
        "settling_time": settled,
        "peak_torque": 30 + 4 * mass + rng.normal(size=n),
        "success": settled < 0.6,
        "impacts": np.zeros(n),
    }
    columns = {"point": np.arange(n), **values, "failed": failed, "reason": reason}
    lacking = {name: np.where(failed, np.nan, x) for name, x in measures.items()}
    return Sweep(study, columns | lacking)


def in_browser(page, tmp_path, name="report.html"):
    file = tmp_path / name
    file.write_text(page, encoding="utf-8")
    examine(file)
    return file


def words(page):
    """What a reader sees, without tags."""
    body = page[page.index("<body>") : page.rindex("<script>")]
    body = body.replace("<wbr>", "")
    body = re.sub(r"<noscript>.*?</noscript>|<script.*?</script>", "", body, flags=re.DOTALL)
    return html_texts.unescape(re.sub("<[^>]*>", " ", body))


@pytest.fixture(scope="module")
def usual():
    return made(4096, title="Robustness")


@pytest.fixture(scope="module")
def page(usual):
    return html(usual, ["study.json", "points"], 12_345.6)


# What it says


def test_the_verdict_comes_first_then_measures_worst_cases_and_what_was_asked(usual, page):
    text = words(page)
    parts = ["Robustness", usual.statistics.verdict, "Measures", "Worst cases", "What matters",
             "Responses", "Failures", "What was asked", "The data", "The study"]  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "12,346 points/s" in text
    assert "Sobol points, seed 0" in text
    assert "one by one (the study calls a function)" in text
    assert "The same at all points: impacts = 0." in text
    assert re.search(r"settling_time: \d+ of [\d,]+ never settle", text)


def test_a_measure_that_some_points_never_reach_is_not_the_same_at_all():
    study = Study(function="math:hypot", vary={"x": {"uniform": (0, 1)}}, points=8)
    columns = {"point": np.arange(8), "x": np.arange(8) / 8, "failed": np.zeros(8, dtype=bool),
               "reason": np.full(8, None),
               "settling_time": np.array([0.0, 0.0] + 6 * [np.inf])}  # fmt: skip
    found = Sweep(study, columns)
    text = words(html(found))
    assert "same at all points" not in text
    assert found.statistics.verdict.endswith("settling_time: 6 of 8 never settle (point 2)")
    row = text[text.index("worst point") :].split()
    row = row[row.index("settling_time") + 1 :]
    assert row[:8] == ["2", "0", "0", "∞", "∞", "∞", "∞", "6"]


def test_every_variable_has_its_distribution_and_its_fields(page):
    text = " ".join(words(page).split())
    for told in ("uniform, from 0 to 5", "log uniform, from 10 to 1000",
                 "truncated normal, mean 2, deviation 1, from 0 to 4",
                 "one of computed-torque, pd-plus, slotine-li"):  # fmt: skip
        assert told in text


def test_the_worst_points_have_their_values_and_a_command(usual, page):
    for measure in ("worst_error", "peak_torque"):
        for point in usual.worst(measure, 10):
            assert f"appell sweep STUDY --point {point}</code>" in page
            assert f"{usual['law.kp'][point]:.6g}" in page
    missed = np.flatnonzero(usual["success"] == 0)[:10]
    assert all(f"--point {point}<" in page for point in missed)


def test_it_says_how_many_of_the_points_without_success_are_listed(usual, page):
    count = int((usual["success"] == 0).sum())
    assert count > 10
    assert f"success: 10 of {count:,} points without" in words(page)
    few = made(64, lost=0.0)
    few = Sweep(few.study, few.columns | {"success": (np.arange(64) > 2).astype(float)})
    assert "success: the 3 points without" in words(html(few))


def test_numbers_of_points_are_written_as_the_command_takes_them(usual, page):
    text = words(page)
    beyond = [int(x) for x in usual.worst("peak_torque", 10) if x >= 1000]
    assert beyond
    for point in beyond:
        assert f"point {point} " in text
    tables = "".join(re.findall(r"<table>.*?</table>", page, re.DOTALL))
    assert not any(f"{point:,}" in tables for point in beyond)


def test_captions_say_what_is_in_their_charts(usual, page):
    text = words(page)
    finite = np.isfinite(usual["peak_torque"]).sum()
    assert f"Dots: 1,200 of {finite:,} points" in text
    assert "Crosses: the worst points." in text
    few = words(html(made(100, lost=0.0)))
    assert "Dots: all 100 points" in few
    assert "rosses" not in few


def test_shares_end_at_one_unless_a_bound_is_beyond():
    pair = {k: VARY[k] for k in ("robot.payload.mass", "law.kp")}
    of = made(256, "saltelli", lost=0.0, vary=pair).statistics
    for panel in sobol_chart(of, list(of.sobol)).panels:
        low, high = panel.y_range
        ends = [np.ravel(end) for line in panel.lines for end in line.ends]
        largest, least = np.nanmax(ends), np.nanmin(ends)
        assert low <= min(0.0, least)
        assert high == 1 if largest <= 1 else largest < high < 1.1 * largest


def test_variables_have_the_units_of_their_fields():
    scenario = {
        "robot": {"model": "planar_chain", "armature": {"joint1": 0.1},
                  "payload": {"mass": 1, "com": [0, 0, 0]}},
        "angles": "degrees", "task": {"kind": "fall", "until": 0.1},
    }  # fmt: skip
    vary = {
        "start.q.joint1": {"uniform": (0, 1)},
        "robot.payload.mass": {"uniform": (0, 1)},
        "both": {"uniform": (0, 1), "sets": ("start.v.joint1", "start.v.joint2")},
        "mixed": {
            "uniform": (0, 1),
            "sets": ("robot.payload.com.0", "robot.payload.com.1", "task.until"),
        },
        "factor": {"uniform": (0, 1), "scales": ("robot.armature.joint1",)},
    }
    study = Study(scenario=scenario, vary=vary, points=8)
    columns = {"point": np.arange(8), **Design(study).values(0, 8), "failed": np.zeros(8, bool)}
    columns |= {"reason": np.full(8, None, object), "peak_speed": np.arange(8.0)}
    of = Sweep(study, columns).statistics
    labels = [labelled(of, name) for name in vary]
    assert labels == ["start.q.joint1, deg", "robot.payload.mass, kg", "both, deg/s", "mixed",
                      "factor"]  # fmt: skip
    text = words(html(of.sweep))
    assert text.count("start.q.joint1, deg") >= 1
    panel = response_panel(of, "peak_speed", "start.q.joint1", 100)
    assert panel.x == "start.q.joint1, deg"


def test_failures_are_told_by_reason_with_a_point_to_replay(usual, page):
    count = int(usual.failed.sum())
    first = int(np.flatnonzero(usual.failed)[0])
    reason = usual["reason"][first]
    assert f"{reason} (and {count - 1:,} like it with other numbers)" in words(page)
    assert f"--point {first}<" in page


def test_it_needs_nothing_from_outside_and_is_well_formed(page):
    assert not re.search(r"https?:|<script[^>]*src|<link|@import|fetch\(", page)
    assert not Tags(page).open


def test_it_is_the_same_every_time(usual):
    again = Sweep(usual.study, usual.columns)
    dated = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
    assert dated.sub("", html(again)) == dated.sub("", html(usual))


def test_it_needs_no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<figure" in html(made(64))


def test_sobol_indices_have_bounds(usual):
    found = made(
        256, "saltelli", lost=0.0, vary={k: VARY[k] for k in ("robot.payload.mass", "law.kp")}
    )
    text = words(html(found))
    assert "What matters: Sobol indices" in text
    assert "rank correlation" not in text
    of = found.statistics
    assert of.sobol["peak_torque"].total[0] > 0.9
    assert of.sobol["peak_torque"].total[1] < 0.1
    total, bounds = of.sobol["peak_torque"].total[0], of.sobol["peak_torque"].total_bounds[0]
    assert f"{total:.3f} ({bounds[0]:.3f} to {bounds[1]:.3f})" in text
    told = summary(found)
    assert told["sobol"]["peak_torque"]["variables"]["law.kp"]["total"] < 0.1
    few = made(8, "saltelli", lost=0.0, vary={k: VARY[k] for k in ("robot.payload.mass", "law.kp")})
    assert "8 whole samples; expected 16 or more" in words(html(few))


# What it gets


def test_one_point():
    found = made(1, lost=0.0)
    text = words(html(found))
    assert "1 point, none failed" in text
    assert "Responses" not in text
    summary(found)


@pytest.mark.parametrize("n", [2, 3, 5, 30])
@pytest.mark.parametrize("sampling", ["sobol", "random", "latin_hypercube"])
def test_few_points(n, sampling):
    html(made(n, sampling))


def test_points_that_all_failed():
    found = made(50)
    columns = found.columns | {"failed": np.ones(50, bool), "reason": np.full(50, "broke", object)}
    for name in found.measures:
        columns[name] = np.full(50, np.nan)
    found = Sweep(found.study, columns)
    text = words(html(found))
    assert "50 points, 50 failed." in text
    assert "Worst cases" not in text
    assert summary(found)["measures"]["success"]["mean"] is None


def test_points_without_measures():
    """A function that always fails has told no names."""
    found = made(50)
    columns = {k: x for k, x in found.columns.items() if k not in found.measures}
    columns |= {"failed": np.ones(50, bool), "reason": np.full(50, "broke", object)}
    assert "No point has given a measure." in words(html(Sweep(found.study, columns)))


def test_a_grid_a_list_tuples_and_truth_values():
    vary = {
        "robot.payload.mass": {"linear": (0, 5, 6)},
        "law.kp": {"logarithmic": (10, 1000, 5)},
        "start.q": {"values": ((0.0, 0.5), (1.0, 0.25))},
        "on": {"values": (True, False)},
        "k": {"whole": (1, 3)},
    }
    study = Study(function="math:hypot", vary=vary, sampling="grid")
    n = Design(study).count
    values = Design(study).values(0, n)
    columns = {"point": np.arange(n), **values, "failed": np.zeros(n, bool)}
    columns |= {"reason": np.full(n, None, object), "y": 1.5 * values["robot.payload.mass"]}
    found = Sweep(study, columns)
    text = words(html(found))
    assert "one of (0, 0.5), (1, 0.25)" in text
    assert "linear, from 0 to 5, 6 values" in text
    assert "a grid, seed 0" in text
    assert summary(found)["worst"]["y"][0]["variables"]["start.q"] == [0.0, 0.5]
    found.plot("y").canvas.draw()


def test_a_sweep_that_is_not_whole_says_so():
    whole = made(64, lost=0.0)
    part = Sweep(whole.study, {name: x[:40] for name, x in whole.columns.items()})
    assert "40 of 64 points so far" in words(html(part))
    assert not summary(part)["ok"]
    assert "Run the same command again" in words(html(part))


HOSTILE = '</script><img src=x onerror="alert(1)">&\'"; --$x$'


def hostile():
    """Names that are HTML."""
    vary = {HOSTILE: {"uniform": (0, 1)}, "law": {"values": (HOSTILE, "b", "c")}}
    study = Study(function="math:hypot", vary=vary, points=200, title=HOSTILE)
    values = Design(study).values(0, 200)
    failed = np.arange(200) % 20 == 0
    columns = {"point": np.arange(200), **values, "failed": failed}
    columns["reason"] = np.where(failed, HOSTILE, None).astype(object)
    columns[HOSTILE + "y"] = np.where(failed, np.nan, values[HOSTILE])
    columns["z"] = np.where(failed, np.nan, np.where(values[HOSTILE] > 0.9, np.inf, 1.0))
    return Sweep(study, columns)


def test_names_that_are_html_are_shown_as_they_are(tmp_path):
    found = hostile()
    text = html(found)
    assert "<img" not in text
    assert HOSTILE in words(text)
    assert not Tags(text).open
    found.plot(HOSTILE + "y").canvas.draw()
    in_browser(text, tmp_path)


def many(n=400, variables=40, measures=20):
    """More variables and measures than fit anywhere."""
    vary = {f"robot.links.link_{k}.inertia.ixx_{k}": {"uniform": (0, 1)} for k in range(variables)}
    study = Study(function="math:hypot", vary=vary, points=n, sampling="random")
    values = Design(study).values(0, n)
    x = np.array([*values.values()])
    columns = {"point": np.arange(n), **values, "failed": np.zeros(n, bool)}
    columns["reason"] = np.full(n, None, object)
    for k in range(measures):
        columns[f"worst_error.joint_{k}_of_the_arm"] = x[k] + 0.1 * x[-k]
    return Sweep(study, columns)


def test_forty_variables_and_twenty_measures_are_all_there_and_nothing_is_cut_off(tmp_path):
    found = many()
    page = html(found)
    text = words(page)
    for name in (*found.variables, *found.measures):
        assert text.count(name) >= 3
    assert len(page) < 3_000_000
    file = in_browser(page, tmp_path)
    unfold(file)


def unfold(file):
    """Whatever is folded fits, too, once it is opened."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(playwright), args=OPTIONS)
        for width in (1400, 400):
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.goto(file.as_uri())
            page.evaluate('document.querySelectorAll("details").forEach((d) => { d.open = true; })')
            page.wait_for_timeout(300)
            assert page.evaluate(CUT) == [], f"at {width} px"
        browser.close()


def test_in_a_browser_nothing_is_cut_off_and_charts_answer(page, tmp_path):
    unfold(in_browser(page, tmp_path))


def test_in_a_browser_with_sobol_indices(tmp_path):
    pair = {k: VARY[k] for k in ("robot.payload.mass", "law.kp")}
    in_browser(html(made(64, "saltelli", vary=pair, lost=0.0)), tmp_path)


def test_a_million_points_make_a_small_page():
    page = html(made(1_000_000, "random"))
    assert len(page) < 3_000_000  # charts are thinned: points of one would be as many bytes


# Files


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep that was computed and written, in rollouts."""
    scenario = {"robot": "planar_chain", "task": {"kind": "fall", "until": 0.1}}
    vary = {"start.v.joint2": {"uniform": (-1.0, 1.0)}, "start.v.joint1": {"uniform": (0.0, 1.0)}}
    study = Study(scenario=scenario, vary=vary, points=64,
                  measures=("peak_speed", "peak_speed.joint1", "energy_end"))  # fmt: skip
    return sweep(study, tmp_path_factory.mktemp("work") / "fall-sweep")


def test_units_method_and_comparison_of_rollouts(swept):
    text = words(html(swept))
    assert "planar_chain, task fall" in text.lower() or "task fall" in text
    assert "points are runs of rollouts (rk4, steps of at most 0.001 s)" in text
    assert "Rollouts beside exact runs" in text
    assert swept.statistics.unit("peak_speed.joint1") == "rad/s"
    assert summary(swept)["compared"]["points"] == swept.compared["point"]


def test_the_report_is_written_into_the_folder_and_replaces_its_own_only(swept, tmp_path):
    path = write_sweep(swept, rate=100.0)
    assert path == swept.folder / "report.html"
    text = path.read_text()
    assert 'href="study.json"' in text
    assert 'href="points"' in text
    assert str(tmp_path.parent) not in text  # no absolute paths
    assert write_sweep(open_sweep(swept.folder), swept.folder) == path
    assert "appell sweep fall-sweep --point" in path.read_text()
    assert "appell view fall-sweep-point-" in path.read_text()
    assert not [*swept.folder.glob(".report*")]
    other = tmp_path / "report.html"
    other.write_text("mine")
    with pytest.raises(AppellError, match=r"is no report of a sweep, and is not replaced"):
        write_sweep(swept, tmp_path)
    assert other.read_text() == "mine"
    with pytest.raises(AppellError, match="has no folder"):
        write_sweep(Sweep(swept.study, swept.columns))


def test_a_full_disk_leaves_the_old_report(swept, monkeypatch):
    path = write_sweep(swept)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(
        AppellError, match=r"report\.html.: the disk is full; make room\. The points"
    ):
        write_sweep(swept)
    assert path.read_bytes() == before


def test_the_lines_for_pandas_polars_and_duckdb_run(swept, monkeypatch):
    monkeypatch.chdir(swept.folder)
    page = html(swept)
    blocks = re.findall(r"<pre>(import .*?)</pre>", page, re.DOTALL)
    assert len(blocks) == 3
    wanted = swept.worst("peak_speed", 10).tolist()
    for block in blocks:
        *lines, last = html_texts.unescape(block).splitlines()
        scope: dict = {}
        exec("\n".join(lines), scope)
        found = eval(last, scope)
        frame = found.df() if hasattr(found, "df") else found
        assert [int(x) for x in frame["point"]] == wanted
        assert "start.v.joint2" in list(frame.columns)


def test_charts_of_a_sweep_are_drawn_by_matplotlib(swept):
    figure = swept.plot()
    figure.canvas.draw()
    assert len(figure.axes) == 3
    figure = swept.plot("peak_speed")
    figure.canvas.draw()
    assert len(figure.axes) == 3  # its histogram, and two variables
    with pytest.raises(AppellError, match="there is no measure 'speed'"):
        swept.chart("speed")
