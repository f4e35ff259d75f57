"""Runs: their motion at any time, stopped and resumed, kept in files; and what is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulated_robots import G, block, point_mass, rod

import appell
from appell.errors import InputError
from appell.simulation import flight, load_run
from appell.walls import Circle, Plane

ROOT = Path(__file__).parents[2]
FLOOR = Plane((0, 1), name="floor")
EXAMPLES = {"tree_to_rest": "0.7", "chain_in_sphere": "0.5", "biped_on_ellipse": "0.3"}


def fall(until=1.0, **options):
    return appell.simulate(point_mass(), [0, 1], [0.3, 0], until=until, walls=FLOOR, **options)


def test_the_motion_is_known_at_any_time():
    run = fall(restitution=0.5)
    t = np.linspace(0, 0.9, 91)  # until the second bounce
    q = run(t)[0]
    hit = np.sqrt(2 / G)
    after = t > hit
    height = np.where(after, 0.5 * G * hit * (t - hit) - G / 2 * (t - hit) ** 2, 1 - G / 2 * t**2)
    np.testing.assert_allclose(q, np.column_stack([0.3 * t, height]), atol=1e-11)
    assert run(0.25)[0].shape == (2,)
    assert [x.shape for x in run([])] == [(0, 2), (0, 2)]
    # Before an impact its row, at the impact and after it the new speeds.
    k = int(np.flatnonzero(run.t == run.impacts[0].time)[0])
    assert run.v[k, 1] == pytest.approx(-G * hit)
    assert run(run.t[k])[1][1] == pytest.approx(0.5 * G * hit)
    with pytest.raises(InputError, match="from 0 s to 1 s"):
        run(1.1)


def test_rows_are_the_integrators_steps_with_energy_and_torque():
    def law(t, q, v):
        return np.array([np.sin(t), 1.0])

    run = fall(torque=law)
    n = len(run.t)
    assert run.q.shape == run.v.shape == run.tau.shape == (n, 2)
    np.testing.assert_allclose(run.tau[:, 0], np.sin(run.t))
    np.testing.assert_allclose(run.kinetic, (run.v**2).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(run.potential, 2 * G * run.q[:, 1], atol=1e-12)
    np.testing.assert_allclose(run.energy, run.kinetic + run.potential)


def test_an_interrupted_run_keeps_its_data_and_goes_on():
    calls = []

    def law(t, q, v):
        calls.append(t)
        if len(calls) == 100:
            raise KeyboardInterrupt
        return np.zeros(2)

    run = fall(until=5.0, torque=law, max_step=0.05)
    assert "interrupted" in run.stopped
    assert 0 < run.t[-1] < 5
    rest = run.resume(until=2.0)
    assert rest.stopped is None
    whole = fall(until=2.0)
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-9)
    assert [x.time for x in rest.impacts] == pytest.approx([x.time for x in whole.impacts])
    np.testing.assert_allclose(rest(1.7)[0], whole(1.7)[0], atol=1e-9)
    assert (np.diff(rest.t) >= 0).all()


def test_a_resting_run_goes_on_resting():
    half = fall(until=3.0, restitution=0.2)
    whole = half.resume(until=6.0)
    assert whole.reactions[-1] == pytest.approx(2 * G)
    assert whole.q[-1, 1] == pytest.approx(0, abs=1e-10)
    assert len(whole.impacts) == len(half.impacts)


def test_a_file_holds_the_whole_run(tmp_path):
    run = fall(until=2.0, restitution=0.5, mu=0.1)
    path = run.save(tmp_path / "fall")
    again = load_run(path)
    for name in ("t", "q", "v", "tau", "energy", "reactions"):
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    assert str(again.impacts[0]) == str(run.impacts[0])
    assert (again.contacts, again.residuals, again.stopped) == (run.contacts, run.residuals, None)
    np.testing.assert_array_equal(again(1.2)[0], run(1.2)[0])
    with pytest.raises(InputError, match="resume=run"):
        again.resume(until=3.0)
    options = {"walls": FLOOR, "restitution": 0.5, "mu": 0.1}
    more = appell.simulate(point_mass(), resume=again, until=3.0, **options)
    assert more.t[-1] == 3.0
    (tmp_path / "no.npz").write_text("nothing")
    for wrong in ("no.npz", "missing.npz"):
        with pytest.raises(InputError, match=r"run\.save"):
            load_run(tmp_path / wrong)


def test_too_many_impacts_stop_the_run_with_its_data():
    run = appell.simulate(
        point_mass(gravity=(0, 0, 0)), [0, 0.5], [0, 50.0], until=10.0, max_impacts=20,
        walls=[FLOOR, Plane((0, -1), -1.0)],
    )  # fmt: skip
    assert "max_impacts = 20" in run.stopped
    assert len(run.impacts) == 21
    assert run.t[-1] == run.impacts[-1].time


def shaken(rate, until):
    """2 kg that 3 N of dry friction hold, under a force of 5 N at so many Hz: each half period it
    starts to slide where the force is 3 N, and stops."""
    ball = point_mass(gravity=(0, 0, 0), coulomb=3.0)

    def law(t, q, v):
        return np.array([5.0 * np.sin(2 * np.pi * rate * t), 0.0])

    return appell.simulate(
        ball, [0, 0], until=until, friction=True, torque=law, rtol=1e-6, atol=1e-9
    )


def test_changes_without_end_stop_the_run_with_its_data(monkeypatch):
    whole = shaken(1000, until=6e-3)
    assert whole.stopped is None
    monkeypatch.setattr(flight, "_CHANGES", 20)
    run = shaken(1000, until=6e-3)
    assert "changed between rest and motion 20 times in 0.01 s" in run.stopped
    assert f"at {run.t[-1]:.6g} s" in run.stopped
    start = 1e-3 * np.arcsin(0.6) / (2 * np.pi)
    assert start < run.t[-1] <= start + 5e-3  # by rounding, a stop may be several changes
    for name in ("t", "q", "v", "tau", "energy"):
        kept = getattr(run, name)
        np.testing.assert_array_equal(kept, getattr(whole, name)[: len(kept)])
    assert shaken(10, until=0.6).stopped is None  # as many changes, but in more time


def test_progress_and_a_picture(capsys):
    run = fall(progress=True)
    assert "impacts" in capsys.readouterr().out
    assert len(run.plot().axes) == 3


def test_a_picture_shows_the_path_between_instants_and_jumps_at_impacts():
    run = fall(restitution=0.5, until=0.9)
    positions, speeds, energies = run.plot().axes
    between = (run.t[1:] + run.t[:-1])[np.diff(run.t) > 0] / 2
    q, v = run(between)
    kinetic = run.robot.kinetic_energy(q, v)
    for axes, expected in ((positions, q), (speeds, v), (energies, kinetic[:, None])):
        for line, values in zip(axes.get_lines(), expected.T, strict=False):
            x, y = line.get_data()
            # A thousand chords or more: second derivatives of 200 J/s^2 make 1e-3 / 8 of 0.2.
            np.testing.assert_allclose(np.interp(between, x, y), values, atol=5e-5)
    (impact,) = run.impacts
    x, y = speeds.get_lines()[1].get_data()
    at = np.flatnonzero(x == impact.time)
    assert len(at) == 2
    assert y[at[1]] - y[at[0]] == pytest.approx(impact.velocity_jumps[0])
    assert len(np.unique(x)) > 1000
    assert (np.diff(x) >= 0).all()


def test_a_picture_names_units_and_so_does_a_run_from_a_file(tmp_path):
    def labels(run):
        return [axes.get_ylabel() for axes in run.plot().axes]

    sliding, turning = fall(), appell.simulate(rod(), [0, 1, 0.3], [0, 0, 2], until=0.1)
    assert labels(sliding) == ["position, m", "speed, m/s", "energy, J"]
    both = ["speed, m/s", "speed, rad/s", "energy, J"]
    assert labels(turning) == ["position, m", "position, rad", *both]
    free = appell.simulate(block(), [0, 0, 1, 1, 0, 0, 0], until=0.1)
    assert labels(free) == ["position, m", "position", *both]
    for run in (sliding, turning, free):
        again = load_run(run.save(tmp_path / "run.npz"))
        assert labels(again) == labels(run)
        energies = [x.plot().axes[-1].get_lines()[0].get_ydata() for x in (run, again)]
        np.testing.assert_array_equal(*energies)
        # Without its robot energies are known at the instants only: points, and no chords.
        names = {"kinds": run.robot.joint_kinds, "names": run.robot.joint_names}
        again = replace(again, robot=None, **names)
        kinetic = again.plot().axes[-1].get_lines()[0]
        assert kinetic.get_linestyle() == "None"
        np.testing.assert_array_equal(kinetic.get_ydata(), run.kinetic)
        twice = load_run(again.save(tmp_path / "again.npz"))
        assert labels(twice) == labels(run)


def test_a_run_of_one_instant_has_a_picture():
    run = fall()
    names = ("t", "q", "v", "tau", "kinetic", "potential", "reactions")
    first = replace(run, pieces=(), **{name: getattr(run, name)[:1] for name in names})
    assert [axes.get_lines()[0].get_xdata().tolist() for axes in first.plot().axes] == [[0]] * 3


def test_a_law_that_gives_what_is_no_torque_stops_the_run():
    def later(value):
        return lambda t, q, v: value if t > 0.2 else np.zeros(2)

    for value, message in (
        (np.zeros(3), r"shape \(3,\)"),
        (np.array([np.nan, 0]), "finite"),
        ("much", "expected 2 numbers"),
    ):
        run = fall(torque=later(value))
        assert message.replace("\\", "") in run.stopped
        assert 0 < run.t[-1] < 1
        with pytest.raises(InputError, match=message):
            fall(torque=lambda t, q, v, value=value: value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"q0": [0, -0.25]}, r"ball starts 0\.25 m behind floor; change q0"),
        ({"q0": [0, 5.0], "walls": Circle(2.5)}, r"2\.5 m behind Circle"),
        ({"q0": None}, "q0 is missing"),
        ({"q0": ["a", "b"]}, "expected 2 numbers"),
        ({"until": 0}, "after 0 s"),
        ({"until": np.nan}, "after 0 s"),
        ({"until": "1"}, "a time in s"),
        ({"restitution": -0.1}, "from 0"),
        ({"restitution": np.nan}, "from 0"),
        ({"mu": -1.0}, "zero or more"),
        ({"gap": 0.0}, "gap"),
        ({"rtol": -1e-9}, "rtol"),
        ({"law": "hooke"}, "newton, poisson"),
        ({"max_impacts": 0}, "max_impacts"),
        ({"walls": ["floor"]}, "appell.walls"),
        ({"torque": [np.inf, 0]}, "finite"),
    ],
)
def test_what_cannot_be_simulated_is_explained(options, message):
    given = {"q0": [0, 1.0], "walls": FLOOR, "until": 1.0, **options}
    with pytest.raises(InputError, match=message):
        appell.simulate(point_mass(), given.pop("q0"), **given)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: appell.simulate(point_mass(), until=1.0, resume="x"), "expected a Run"),
        (lambda run: run("a"), "expected a time in s"),
        (lambda run: run.max_error, "followed no trajectory, and has no error; those of control"),
        (lambda run: run.save(""), "the name of a file"),
        (lambda run: run.save("nowhere/run"), "cannot be written"),
        (
            lambda run: appell.simulate(point_mass(), [0, 1], until=1.0, walls=FLOOR, points=3),
            "points = 3; expected names of links",
        ),
    ],
)
def test_odd_arguments_of_runs_are_explained(call, message):
    with pytest.raises(InputError, match=message):
        call(appell.simulate(point_mass(), [0, 1.0], until=0.01))


def test_a_start_beyond_a_joints_limit_is_explained():
    with pytest.raises(InputError, match=r"x starts 0.5 behind upper limit; .*stops=False"):
        appell.simulate(point_mass(upper=1.0), [1.5, 0], until=1.0)


def test_a_quaternion_of_another_length_is_explained():
    chain = appell.load("free_chain", n=1)
    with pytest.raises(InputError, match="quaternion"):
        appell.simulate(chain, np.zeros(7), until=1.0)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name):
    """A short part of each."""
    command = [sys.executable, "-W", "error", ROOT / "examples" / f"{name}.py", EXAMPLES[name]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "<Run of" in done.stdout


def test_a_joint_has_one_colour_in_all_panels():
    run = appell.simulate(block(), [0, 0, 1, 1, 0, 0, 0], until=0.1)
    looks = {}
    for panel in run.chart().panels:
        for line in panel.lines:
            assert looks.setdefault(line.name, (line.colour, line.dash)) == (line.colour, line.dash)
    assert len(set(looks.values())) == len(looks)


def test_forces_of_a_simulated_law_are_points_and_joints_have_their_names():
    run = fall(torque=lambda t, q, v: [1.0 + t] * len(v))
    force = next(panel for panel in run.chart().panels if panel.y.startswith("force"))
    assert {line.drawn for line in force.lines} == {"dots"}  # known at the instants only
    assert [line.name for line in force.lines] == list(run.robot.joint_names)


SLIDE = """<robot name="fall"><link name="base"/><link name="weight"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="weight"/>
  <axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="9" velocity="1.5"/></joint></robot>"""


def test_a_limit_is_exceeded_when_it_is_and_not_at_the_next_instant(tmp_path):
    """A slide that falls freely: v = v0 - 9.81 t."""
    (tmp_path / "fall.urdf").write_text(SLIDE)
    robot = appell.load(tmp_path / "fall.urdf")
    for v0, until in [(0.0, 0.3), (0.3, 0.3), (0.0, 1.0), (0.3, 1.0)]:
        [first] = appell.simulate(robot, [0.0], [v0], until=until).exceeded
        # A limit is exceeded when it is so by 1e-9 of it.
        assert first.time == pytest.approx((1.5 + v0) / 9.81, abs=1e-8)
