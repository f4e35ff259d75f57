"""Data: from files of every kind to signals, and a named error for each thing that is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.errors import InputError
from appell.identify import Data, joined, observe
from appell.identify.data.filters import chosen_cutoff, derivatives, low_pass, without_outliers

RATE = 250.0
T = np.arange(0, 8, 1 / RATE)


@pytest.fixture(scope="module")
def robot():
    return appell.load("two_link")


def motion(t=T):
    """Positions, speeds and accelerations of two joints."""
    w, size = np.array([1.3, 2.1]), np.array([0.9, 1.2])
    phase = w * t[:, None] + [0.3, 1.0]
    slow = 0.4 * np.sin(0.7 * t)[:, None] * [1, -1]
    dslow = 0.28 * np.cos(0.7 * t)[:, None] * [1, -1]
    return (
        size * np.sin(phase) + slow,
        size * w * np.cos(phase) + dslow,
        -size * w**2 * np.sin(phase) - 0.49 * slow,
    )


@pytest.fixture(scope="module")
def signals(robot):
    q, v, a = motion()
    return {"t": T, "q": q, "tau": robot.inverse_dynamics(q, v, a)}


def flat(signals, **changes):
    """As columns of their own."""
    columns = {"t": signals["t"]}
    for name in ("q", "tau"):
        columns |= {f"{name}{j + 1}": signals[name][:, j] for j in range(2)}
    return columns | changes


def write_csv(path, columns, mark=","):
    rows = np.column_stack([*columns.values()])
    lines = [mark.join(columns), *(mark.join(map(repr, row)) for row in rows.tolist())]
    path.write_text("\n".join(lines))
    return path


# Filters


def test_the_low_pass_shifts_nothing_and_takes_what_is_above():
    x = np.sin(2 * np.pi * 0.5 * T)[:, None]
    high = np.sin(2 * np.pi * 40 * T)[:, None]
    passed = low_pass(x + high, 8.0, RATE)[250:-250]
    np.testing.assert_allclose(passed, x[250:-250], atol=1e-5)
    at_cutoff = low_pass(np.sin(2 * np.pi * 8 * T)[:, None], 8.0, RATE)[250:-250]
    assert np.abs(at_cutoff).max() == pytest.approx(0.5, rel=0.01)  # half, once each way


def braked(t, end):
    """A motion that brakes evenly and stands still just when the record ends."""
    return 2 * (t - end) ** 2, np.full_like(t, 4.0)


def swung(t, end):
    """Motions of which the record catches the middle."""
    phase = 3 * t + 0.4 * end
    return np.sin(phase) + 0.2 * np.sin(3 * phase), -9 * np.sin(phase) - 16.2 * np.sin(3 * phase)


@pytest.mark.parametrize("part", [0.02, 0.05, 0.2, 0.4, 0.45])
@pytest.mark.parametrize("course", [braked, swung])
def test_the_ends_that_are_kept_are_as_good_as_the_middle(course, part):
    rate = 500.0
    t = np.arange(0, 10, 1 / rate)
    q, a = course(t, t[-1])
    load = {"t": t, "q1": q, "tau1": a + 0.1 * q}
    robot = appell.load("planar_chain", n=1)
    data = observe(robot, load, cutoff=part * rate, rate=rate, check=False)
    off = np.abs(data.a[:, 0] - np.interp(data.t, t, a))
    assert (
        off.max() < 2e-3 * np.abs(a).max()
    )  # what is left of the ends, as the page says, and more
    assert off[len(off) // 3 : -len(off) // 3].max() < 1e-4 * np.abs(a).max()
    assert len(data) > 0.9 * len(t)


def test_a_filter_slower_than_the_record_is_refused():
    robot, q = appell.load("planar_chain", n=1), np.sin(T)
    with pytest.raises(InputError, match="record for longer"):
        observe(robot, {"t": T, "q1": q, "tau1": np.cos(T)}, cutoff=1e-9, check=False)


def test_derivatives_are_of_fourth_order():
    errors = []
    for n in (50, 100):
        t = np.linspace(0, 2, n + 1)
        v, a = derivatives(np.sin(3 * t)[:, None], 2 / n)
        keep = slice(2, -2)
        errors.append(
            [
                np.abs(v[keep, 0] - 3 * np.cos(3 * t[keep])).max(),
                np.abs(a[keep, 0] + 9 * np.sin(3 * t[keep])).max(),
            ]
        )
    order = np.log2(np.array(errors[0]) / errors[1])
    np.testing.assert_allclose(order, 4, atol=0.2)
    assert np.isnan(v[[0, 1, -2, -1]]).all()


def test_outliers_are_struck_and_nothing_else():
    rng = np.random.default_rng(0)
    q = motion()[0] + 1e-3 * rng.normal(size=(len(T), 2))
    bad = q.copy()
    places = [(50, 0), (51, 0), (700, 1), (1500, 0)]
    for k, j in places:
        bad[k, j] += 0.5
    clean, struck = without_outliers(bad)
    assert {tuple(x) for x in np.argwhere(struck)} == set(places)
    assert np.abs(clean - q)[struck].max() < 0.01
    step = 2 * np.pi / 1000
    assert not without_outliers(step * np.round(motion()[0] / step))[1].any()


@pytest.mark.parametrize("counts", [2000, 20_000])
def test_the_cutoff_leaves_the_motion_and_takes_encoder_steps(counts):
    q, _, a = motion()
    step = 2 * np.pi / counts
    seen = step * np.round(q / step)
    f = chosen_cutoff(seen, RATE)
    assert 1 < f < 60  # the motion ends at a third of a Hz
    smooth = low_pass(seen, f, RATE)
    got = derivatives(smooth, 1 / RATE)
    keep = slice(300, -300)
    assert np.sqrt(np.mean((got[1] - a)[keep] ** 2)) < 0.1 * a.std()
    raw = derivatives(seen, 1 / RATE)[1]
    assert np.sqrt(np.mean((raw - a)[keep] ** 2)) > a.std()


# From files


def test_data_are_what_the_robot_did(robot, signals):
    data = observe(robot, signals, cutoff=20, rate=RATE)
    q, v, a = motion(data.t)
    for got, true, bound in ((data.q, q, 1e-6), (data.v, v, 1e-5), (data.a, a, 1e-3)):
        np.testing.assert_allclose(got[100:-100], true[100:-100], atol=bound)
    assert data.t[0] > 0.04  # the ends are left out
    assert data.rate == pytest.approx(RATE)
    fit = appell.identify.fit(robot, *data.states)
    true = fit.basis.matrix @ robot.parameters
    np.testing.assert_allclose(fit.base, true, rtol=1e-3, atol=3e-3)


def test_noise_is_filtered_and_samples_thinned(robot, signals):
    rng = np.random.default_rng(1)
    step = 2 * np.pi / 8192
    q = step * np.round(signals["q"] / step)
    tau = signals["tau"] + 0.3 * rng.normal(size=signals["tau"].shape)
    data = observe(robot, {"t": T, "q": q, "tau": tau})
    assert data.rate < RATE / 2
    assert data.rate >= 2 * data.cutoff
    clean = robot.inverse_dynamics(*motion(data.t))
    assert np.std(data.tau - clean) < 0.15
    assert any("cut-off" in note for note in data.notes)


def test_samples_near_rest_can_be_left_out(robot, signals):
    data = observe(robot, signals, cutoff=20, slowest=(0.1, 0.5))
    assert (np.abs(data.v) >= [0.1, 0.5]).all()
    whole = observe(robot, signals, cutoff=20)
    assert len(data) == (np.abs(whole.v) >= [0.1, 0.5]).all(axis=1).sum()
    assert any("hardly moves" in note for note in data.notes)
    assert refused(robot, signals, "slowest (--slowest)", "lower it", slowest=50)


@pytest.mark.parametrize("kind", ["csv", "semicolons", "parquet"])
def test_files_of_every_kind_give_the_same(robot, signals, tmp_path, kind):
    columns = {"time [ms]": 1000 * T, "q1 [deg]": np.degrees(signals["q"][:, 0])}
    columns |= {"q_2": signals["q"][:, 1], "tau joint1 [mN m]": 1000 * signals["tau"][:, 0]}
    columns |= {"tau2 [N*m]": signals["tau"][:, 1]}
    if kind == "parquet":
        import pyarrow
        from pyarrow import parquet

        path = tmp_path / "data.parquet"
        words = {"operator": ["me"] * len(T)}
        parquet.write_table(pyarrow.table(columns | words), path)
    else:
        path = write_csv(tmp_path / "data.csv", columns, ";" if kind == "semicolons" else ",")
    one, two = observe(robot, path, cutoff=20), observe(robot, signals, cutoff=20)
    for x, y in zip(one.states, two.states, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)


def test_columns_are_named_and_units_said(robot, signals, tmp_path):
    columns = {"stamp": T, "a": np.degrees(signals["q"][:, 0]), "b": np.degrees(signals["q"][:, 1])}
    columns |= {"ta": signals["tau"][:, 0], "tb": signals["tau"][:, 1]}
    path = write_csv(tmp_path / "data.csv", columns)
    names = {"t": "stamp", "q": ["a", "b"], "tau": ["ta", "tb"]}
    one = observe(robot, path, columns=names, units={"q": "deg"}, cutoff=20)
    two = observe(robot, signals, cutoff=20)
    np.testing.assert_allclose(one.q, two.q, atol=1e-9)


def test_logs_of_the_rig_are_read(tmp_path):
    from appell import rig
    from appell.control import TrackingIntegral, quintic

    puma = appell.load("puma560")
    start = np.radians([0, -45, 60, 0, 30, 0])
    way = quintic(start, start + 0.3, 0.8)
    law = TrackingIntegral(puma, kp=1200, kd=60, ki=8000)
    path = tmp_path / "log.mcap"
    report = rig.run(law, way, log=path, rest=0.0)
    data = observe(puma, path, cutoff=30, rate=1000)
    again = observe(puma, report.log, cutoff=30, rate=1000)
    np.testing.assert_array_equal(data.q, again.q)
    assert data.rate == pytest.approx(1000)
    assert 0.6 < data.t[-1] - data.t[0] < 0.9
    assert np.abs(data.q[0] - start).max() < 0.05
    assert np.abs(data.tau).max() > 5


# What is refused


def refused(robot, source, *words, **options):
    with pytest.raises(appell.InputError) as caught:
        observe(robot, source, **options)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    return True


def test_uneven_sampling_is_named(robot, signals):
    columns = flat(signals)
    t = T.copy()
    t[100] = t[99]
    assert refused(robot, columns | {"t": t}, "samples 100 and 101", "same time", "duplicates")
    t = T.copy()
    t[100:] -= 1
    assert refused(robot, columns | {"t": t}, "time goes back", "sample 101")
    t = T + 0.5 * (T > 3)
    assert refused(robot, columns | {"t": t}, "gap of 0.504 s after 3 s", "one by one")
    t = T + 1e-3 * np.random.default_rng(0).uniform(-1, 1, len(T))
    assert refused(robot, columns | {"t": t}, "even sampling", "resample=True")
    assert refused(robot, {k: x[:10] for k, x in columns.items()}, "10 samples", "20 or more")


def test_jitter_can_be_evened(robot, signals):
    t = T + 1e-3 * np.random.default_rng(0).uniform(-1, 1, len(T))
    q, v, a = motion(t)
    tau = robot.inverse_dynamics(q, v, a)
    data = observe(robot, {"t": t, "q": q, "tau": tau}, resample=True, cutoff=20)
    np.testing.assert_allclose(data.a[20:-20], motion(data.t)[2][20:-20], atol=0.01)


def test_degrees_taken_for_radians_are_noticed(robot, signals):
    columns = flat(signals, q1=np.degrees(signals["q"][:, 0]))
    assert refused(robot, columns, "q1", "look like degrees", "'q1 [deg]'")
    assert len(observe(robot, columns | {"q1": signals["q"][:, 0]}))


def test_signs_and_units_of_forces_are_noticed(robot, signals):
    tau = signals["tau"]
    wrong = signals | {"tau": tau * [1, -1]}
    assert refused(robot, wrong, "tau2", "sign is opposite")
    assert len(observe(robot, wrong, check=False))
    assert refused(robot, signals | {"tau": 1000 * tau}, "tau1", "1e+03 times", "unit")


def swinging():
    """A PUMA, and what is measured of it."""
    puma = appell.load("puma560")
    t = np.arange(0, 6, 0.01)[:, None]
    w = np.array([1.0, 1.3, 1.7, 2.1, 2.3, 2.9])
    q = 0.8 * np.sin(w * t)
    tau = puma.inverse_dynamics(q, 0.8 * w * np.cos(w * t), -0.8 * w**2 * np.sin(w * t))
    return puma, {"t": t[:, 0], "q": q, "tau": tau}


def test_swapped_columns_are_noticed():
    puma, columns = swinging()
    q, tau = columns["q"], columns["tau"]
    assert len(observe(puma, columns, cutoff=20))
    swapped = q[:, [0, 2, 1, 3, 4, 5]]
    assert refused(puma, columns | {"q": swapped}, "q2 and q3 are swapped", cutoff=20)
    exchanged = tau[:, [0, 2, 1, 3, 4, 5]]
    assert refused(puma, columns | {"tau": exchanged}, "tau2", "joint 3", "swapped", cutoff=20)
    flipped = q * [1, -1, 1, 1, 1, 1]
    assert refused(puma, columns | {"q": flipped}, "q2 has the opposite sign", cutoff=20)


def test_radians_taken_for_degrees_are_noticed():
    """And no joint force is blamed for it."""
    puma, columns = swinging()
    told = "q is in radians taken for degrees"
    assert refused(puma, columns, told, units={"q": "deg"}, cutoff=20)


def test_speeds_that_are_no_rates_are_noticed(robot, signals):
    v = motion()[1]
    assert len(observe(robot, signals | {"v": v}))
    assert refused(robot, signals | {"v": np.degrees(v)}, "v1 is 57.3 times the rate of q1")
    assert refused(robot, signals | {"v": v[:, ::-1]}, "v1 is not the rate of q1, but that of q2")


def test_bad_columns_are_named(robot, signals, tmp_path):
    columns = flat(signals)
    q1 = columns["q1"].copy()
    q1[[7, 9]] = np.nan
    assert refused(robot, columns | {"q1": q1}, "'q1'", "nan", "sample 8", "1 more")
    assert refused(robot, columns | {"q2": np.full(len(T), 0.5)}, "q2 is 0.5 in all samples")
    assert refused(robot, {k: x for k, x in columns.items() if k != "tau2"}, "no column 'tau2'")
    odd = {("q1 [furlong]" if k == "q1" else k): x for k, x in columns.items()}
    assert refused(robot, odd, "'q1 [furlong]'", "unknown unit", "rad, deg")
    renamed = {("q1 [mm]" if k == "q1" else k): x for k, x in columns.items()}
    assert refused(robot, renamed, "'q1 [mm]'", "unit of length", "angle")
    assert refused(robot, columns, "columns['q'] has 1 names", columns={"q": ["q1"]})
    assert refused(robot, columns, "expected a mapping of t, q", units={"x": "deg"})
    assert refused(robot, columns | {"q1": q1[:-1]}, "shapes")
    assert refused(robot, 3, "expected the path")


def test_too_many_outliers_are_no_outliers(robot, signals):
    q = signals["q"].copy()
    q[::20, 0] += 3
    assert refused(robot, signals | {"q": q}, "far off their neighbours", "outliers=False")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("first line is empty",)),
        ("1,2,3\n4,5,6", ("holds numbers", "columns' names")),
        ("t,q1,q1\n1,2,3", ("'q1' is there more than once",)),
        ("t,q1\n0,1\n0.1", ("bad.csv:3", "1 values; expected 2", "cut")),
        ("t,q1\n0,1\n0.1,abc", ("bad.csv:3", "'q1' holds 'abc'")),
        ("t;q1\n0;1,5", ("decimal commas",)),
        ("t,q1", ("no samples",)),
    ],
)
def test_broken_files_are_named_with_their_line(robot, tmp_path, text, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert refused(robot, path, *words)


def test_files_that_are_none(robot, tmp_path):
    assert refused(robot, tmp_path / "none.csv", "no such file")
    assert refused(robot, tmp_path / "data.txt", "not '.txt'")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not")
    assert refused(robot, tmp_path / "broken.parquet", "cannot be read as Parquet")
    (tmp_path / "broken.mcap").write_bytes(b"none")
    assert refused(robot, tmp_path / "broken.mcap", "not an MCAP file")
    (tmp_path / "latin.csv").write_bytes(b"t,q1 [\xb0]\n0,1\n")
    assert refused(robot, tmp_path / "latin.csv", "UTF-8")


def test_filters_that_do_not_fit_the_data(robot, signals):
    assert refused(robot, signals, "cutoff = 200 Hz", "less than 125", cutoff=200)
    assert refused(robot, {k: x[:60] for k, x in signals.items()}, "record for longer", cutoff=8)


# Parts


def test_parts_hold_out_stretches_of_time(robot, signals):
    data = observe(robot, signals, cutoff=20)
    used, held_out = data.split(0.25)
    assert len(used) + len(held_out) == len(data)
    assert used.t[-1] < held_out.t[0]
    assert len(held_out) == pytest.approx(len(data) / 4, abs=1)
    folds = [*data.folds(4)]
    np.testing.assert_array_equal(np.concatenate([x.t for _, x in folds]), data.t)
    for rest, part in folds:
        assert not set(rest.t) & set(part.t)
        assert len(rest) + len(part) == len(data)
    whole = joined([used, held_out])
    np.testing.assert_array_equal(whole.tau, data.tau)
    for wrong in (0, 1.5, 1):
        with pytest.raises(appell.InputError, match="part of the whole"):
            data.split(wrong)
    with pytest.raises(appell.InputError, match="different numbers of joints"):
        joined([data, Data(*(np.zeros((3, 1)) for _ in range(5)))])


def test_cycles_that_a_log_lacks_are_filled_if_they_are_few():
    from appell.identify.data.table import log_columns
    from appell.rig.controller.controller import Phase
    from appell.rig.log.log_file import Log, payload_type

    rows = np.zeros(1000, dtype=payload_type(2))
    rows["cycle"], rows["phase"] = np.arange(5, 1005), Phase.FOLLOW
    late = np.random.default_rng(0).integers(0, 150_000, 1000)
    late[[0, -1]] = 0
    rows["time"] = 1_000_000 * np.arange(1000) + late
    rows["q"] = np.sin(0.01 * np.arange(1000))[:, None]
    kept = np.ones(1000, dtype=bool)
    kept[[100, 101, 500]] = False
    kept[700:720] = False
    columns, notes = log_columns(Log(2, {}, rows[kept], [], True))
    assert notes == ("23 of 1000 cycles were left out, and are filled by a spline",)
    np.testing.assert_allclose(columns["t"], 1e-3 * np.arange(1000), atol=1e-12)
    np.testing.assert_allclose(columns["q2"], rows["q"][:, 1], atol=1e-5)
    kept[720] = False
    with pytest.raises(appell.InputError, match="21 cycles are missing after cycle 704"):
        log_columns(Log(2, {}, rows[kept], [], True))


def test_a_hint_is_given_where_samples_are_seldom(robot, signals):
    columns = flat(signals) | {"t": 1000 * T}
    data = observe(robot, columns, cutoff=0.02, check=False)
    assert any("is t in s?" in note and "--unit t=ms" in note for note in data.notes)


@pytest.mark.parametrize("name", ["q3", "tau7", "v1", "a1", "current"])
def test_columns_that_are_not_used_are_named(robot, signals, name):
    extra = signals | {name: np.linspace(0, 1, len(signals["t"]))}
    with pytest.raises(appell.InputError, match=f"nothing is known of column '{name}'"):
        observe(robot, extra)
    chosen = {"t": "t", "q": ["q1", "q2"], "tau": ["tau1", "tau2"]}
    assert len(observe(robot, extra, columns=chosen).t) == len(observe(robot, signals).t)
