"""The viewer in a real browser: what is dragged moves, and what is shown is what robots answer."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import viser
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import appell
from appell.cli import app
from appell.cli.control_view import in_viewer
from appell.errors import AppellError, InputError, UrdfWarning
from appell.model.place import Place
from appell.model.shapes import Shape
from appell.model.units import units_of
from appell.robots.closed.loops import Loop
from appell.show.viewer import server as servers
from appell.show.viewer.played_motion import Strike, of_samples
from appell.show.viewer.read_outs import units_of_actuators
from appell.show.viewer.robot_viewer import RobotViewer, Viewer
from appell.show.viewer.triangles import triangles
from appell.show.viewer.view import view_file
from appell.simulation import load_run
from tests.viewer_pages import DRAWN, until, value

URDF = """
<robot name="two_links">
  <link name="base"><visual><geometry><box size="0.2 0.2 0.1"/></geometry></visual></link>
  <link name="upper">
    <inertial><origin xyz="0 0 0.25"/><mass value="2"/>
      <inertia ixx="0.04" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.001"/></inertial>
    <visual><origin xyz="0 0 0.25"/>
      <geometry><cylinder radius="0.04" length="0.5"/></geometry></visual>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0 0.2"/><mass value="1"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.001"/></inertial>
    <visual><origin xyz="0 0 0.2"/><geometry><box size="0.06 0.06 0.4"/></geometry></visual>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" effort="100" velocity="3"/></joint>
  <joint name="slide" type="prismatic"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 0.5"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.3" effort="100" velocity="1"/></joint>
</robot>
"""


@pytest.fixture(autouse=True)
def _plain_light(monkeypatch):
    """Scenes without shadows and light of surroundings, which take most of the time where there is
    no graphics card."""
    begin = viser.ViserServer.__init__

    def begun(server, **options):
        begin(server, **options)
        server.scene.configure_environment_map(None)
        server.scene.configure_default_lights(True, cast_shadow=False)

    monkeypatch.setattr(viser.ViserServer, "__init__", begun)


def run_of_chain(until_=0.6):
    robot = appell.load("planar_chain")
    walls = [appell.walls.Plane((0, 1, 0), -1.0)]
    return appell.simulate(robot, [0.1, 0.2, 0.3], until=until_, walls=walls, restitution=0.5)


def test_a_slider_moves_the_arm_of_a_file_and_the_torque_shown_is_its_gravity(tmp_path, opened):
    file = tmp_path / "robot.urdf"
    file.write_text(URDF)
    robot = appell.load(file)
    with robot.view(browser=False) as viewer:
        assert viewer.url.startswith("http://127.0.0.1:")
        page = opened(viewer.url)
        page.get_by_text("shoulder, deg").wait_for()
        thumbs = page.get_by_role("slider")
        assert [thumbs.nth(k).get_attribute("aria-valuemin") for k in range(2)] == ["-85.94", "0"]
        thumbs.nth(0).focus()

        def shown():
            return float(thumbs.nth(0).get_attribute("aria-valuenow"))

        def pressed():
            page.keyboard.press("ArrowRight")  # a slow page may miss one, or take it later
            return shown() >= 0.05

        until(pressed)
        until(lambda: viewer.q[0] == np.deg2rad(shown()) >= np.deg2rad(0.05))
        page.locator("input.mantine-NumberInput-input").first.fill("40")
        page.keyboard.press("Enter")
        until(lambda: viewer.q[0] == np.deg2rad(40))
        until(lambda: value(page, "gravity", "shoulder") == robot.gravity(viewer.q)[0])
        assert value(page, "gravity", "shoulder") < -5  # N m: it leans, and would fall
        assert value(page, "gravity", "slide") == robot.gravity(viewer.q)[1]
        assert value(page, "summary", "centre of mass x") == robot.centre_of_mass(viewer.q)[0]
        lower = viewer.stage.nodes[robot.link_names.index("lower")]
        np.testing.assert_allclose(lower.position, robot.forward_kinematics(viewer.q)[:3, 3])
        page.get_by_text("neutral").click()
        until(lambda: not viewer.q.any())


def test_the_loop_of_a_five_bar_stays_closed_while_it_is_dragged(opened):
    robot = appell.load("five_bar", forearm=0.35)
    with robot.view(browser=False) as viewer:
        page = opened(viewer.url)
        page.get_by_text("left shoulder").first.wait_for()
        seen = []
        go = viewer.postures.go
        viewer.postures.go = lambda q: (go(q), seen.append(viewer.q))[0]
        start = viewer.q
        thumb = page.get_by_role("slider").first
        thumb.hover()  # which waits until it stands still
        place = thumb.bounding_box()
        x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
        page.mouse.down()
        for k in range(8):
            page.mouse.move(x - 3 * k, y)
            until(lambda k=k: len(seen) >= k)
        until(lambda: len(seen) > 3 and np.abs(seen[-1] - start).max() > 0.1)
        page.mouse.up()
        assert max(np.abs(robot.closure(q)).max() for q in seen) < 1e-10
        # Where the forearms do not reach, it stays, and says so.
        page.locator("input.mantine-NumberInput-input").nth(1).fill("-10")
        page.keyboard.press("Enter")
        page.locator("input.mantine-NumberInput-input").nth(0).fill("180")
        page.keyboard.press("Enter")
        page.locator(".appell-message").wait_for()
        assert "stays where it is" in page.locator(".appell-message").inner_text()
        assert np.abs(robot.closure(viewer.q)).max() < 1e-10


def test_a_run_plays_to_its_end(opened):
    run = run_of_chain()
    assert run.impacts
    with run.view(browser=False) as viewer:
        page = opened(viewer.url)
        page.get_by_role("button", name="Play").click()
        until(lambda: viewer.t == run.t[-1] and not viewer.playing)
        until(lambda: value(page, "now", "time") == run.t[-1])
        q, v = run(run.t[-1])
        assert value(page, "now", "kinetic energy") == viewer.motion.robot.kinetic_energy(q, v)
        page.get_by_text(f"{len(run.impacts)} of {len(run.impacts)} impacts").wait_for()
        assert viewer.on_stage.marks.scales.all()
        page.get_by_role("button", name="|<", exact=True).click()
        until(lambda: viewer.t == 0 and not viewer.on_stage.marks.scales.any())


def test_a_run_is_stepped_and_scrubbed(opened, monkeypatch):
    run = run_of_chain()
    with run.view(browser=False) as viewer:
        page, step = opened(viewer.url), run.t[-1] / 100
        follow, heard = viewer.follow, []
        monkeypatch.setattr(viewer, "follow", lambda: heard.append(follow()))

        def press(button, there):
            heard.clear()
            page.get_by_role("button", name=button, exact=True).click()
            until(lambda: heard)  # at an end the time stays, and cannot tell
            until(lambda: value(page, "now", "time") == viewer.t == pytest.approx(there))
            tip = run.robot.poses(run(viewer.t)[0])[-1, :3, 3]
            np.testing.assert_allclose(viewer.on_stage.stage.nodes[-1].position, tip, atol=1e-12)

        press(">", step)
        press(">", 2 * step)
        press("<", step)
        press(">|", run.t[-1])
        press(">", run.t[-1])  # there is nothing after it
        press("<", run.t[-1] - step)
        press("|<", 0)
        press("<", 0)
        viewer.play()
        track = page.get_by_role("slider").first.locator("..").bounding_box()
        page.mouse.click(track["x"] + track["width"] / 2, track["y"] + track["height"] / 2)
        until(lambda: not viewer.playing)  # who scrubs wants to look
        until(lambda: value(page, "now", "time") == viewer.t)
        assert 0.3 * run.t[-1] < viewer.t < 0.7 * run.t[-1]


def test_a_slider_that_is_moved_while_the_robot_moves_stays_where_it_was_put(monkeypatch):
    with run_of_chain().view(browser=False) as viewer:
        move, there = viewer.on_stage.move, 0.4 * viewer.motion.t[-1]

        def moved(t):  # what a browser says meanwhile
            viewer.slider.value = there
            return move(t)

        monkeypatch.setattr(viewer.on_stage, "move", moved)
        viewer.seek(0.1 * viewer.motion.t[-1])
        assert viewer.slider.value == there
        viewer.play()
        time.sleep(0.2)  # some frames, which wait for what is done about the slider
        assert viewer.t == 0.1 * viewer.motion.t[-1]


def test_a_long_arm_is_played_at_any_speed_beside_plots_of_all_joints_and_all_impacts(opened):
    robot, t = appell.load("planar_chain", n=30), np.linspace(0, 1, 50)
    q = np.sin(np.outer(t, np.linspace(1, 6, 30)))
    strikes = tuple(Strike(x, np.zeros((1, 3)), f"at {x:g} s") for x in np.linspace(0, 1, 300))
    motion = replace(of_samples(robot, t, q, np.gradient(q, t, axis=0)), strikes=strikes)
    with appell.view(motion, browser=False) as viewer:
        page = opened(viewer.url)
        page.locator(".u-legend").nth(1).wait_for()
        texts = page.locator(".u-legend").first.locator(".u-label").all_inner_texts()
        assert texts == ["t, s", *robot.joint_names, "now"]
        edges = page.locator(".u-legend").first.locator(".u-marker").evaluate_all(
            "all => all.map(e => getComputedStyle(e).borderColor)"
        )  # fmt: skip
        assert len({*edges[-31:]}) == 31
        page.locator("input.mantine-NumberInput-input").nth(1).fill("0.0625")
        until(lambda: viewer.speed.value == 0.0625)
        page.get_by_role("button", name="Play").click()
        until(lambda: viewer.t > 0)
        t0, begun = viewer.t, time.monotonic()
        until(lambda: viewer.t > t0 + 0.2)
        passed = (viewer.t - t0) / (time.monotonic() - begun)
        assert 0.03 < passed < 0.12  # though single frames last a second and more
        page.locator("input.mantine-NumberInput-input").nth(1).fill("33.3")
        page.get_by_text("300 of 300 impacts; last: at 1 s").wait_for()


def test_a_page_of_a_run_moves_without_a_network(tmp_path, opened):
    path = run_of_chain(2.0).view(html=tmp_path / "run.html")
    asked = []
    page = opened("about:blank", offline=True, viewport={"width": 480, "height": 240})
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    scene = page.frame_locator("iframe.scene")
    clock, line = scene.locator("[role=slider]").first, page.locator("path.cursor").first
    seen, lines = {}, set()

    def moved():
        now = clock.get_attribute("aria-valuenow")
        if now not in seen:
            seen[now] = scene.locator("canvas[data-engine]").first.evaluate(DRAWN)
        lines.add(line.get_attribute("d"))  # in the charts, at the time of the scene
        return len({*seen.values()}) > 2 and len(lines) > 3

    until(moved)
    assert len(seen) > 2
    assert [x for x in asked if not x.startswith(("file:", "data:", "blob:"))] == []


# Without a browser


def test_a_contact_that_lasts_is_an_arrow_off_the_wall_at_the_point_that_touches():
    robot = appell.load("planar_chain")
    run = appell.simulate(
        robot, [-0.3, -0.3, 0.1], until=2, walls=appell.walls.Plane((0, 1, 0), -1.5),
        restitution=0, torque=lambda t, q, v: -3 * v,
    )  # fmt: skip
    assert run.reactions[-1].max() > 1  # N: it has come to lie
    with run.view(browser=False) as viewer:
        assert not viewer.on_stage.forces.visible
        viewer.seek(2)
        assert viewer.on_stage.forces.visible
        [[foot, head]] = viewer.on_stage.forces.points
        touching = run.contacts[int(run.reactions[-1].argmax())][0]
        np.testing.assert_allclose(
            foot, robot.forward_kinematics(run.q[-1], touching)[:3, 3], atol=1e-6
        )
        assert head[1] - foot[1] > 0.01
        assert head[[0, 2]] == pytest.approx(foot[[0, 2]], abs=1e-3)


def test_all_of_many_impacts_are_marked_and_only_few_marks_are_sent_again():
    run = run_of_chain()
    times, first = np.linspace(0.05, 0.55, 500), run.impacts[0]
    many = replace(run, impacts=[replace(first, time=float(t)) for t in times])
    with many.view(browser=False) as viewer:
        marks = viewer.on_stage.marks
        viewer.seek(0.3)
        np.testing.assert_array_equal(marks.scales > 0, np.repeat(times <= 0.3, len(first.points)))
        np.testing.assert_array_equal(
            marks.scales, np.concatenate([node.batched_scales for node in marks.nodes])
        )
        assert marks.scales[-1] == 0 < marks.scales[0] < marks.scales.max()  # the last flashes
        place = run.places[first.points[0]]
        there = viewer.motion.robot.forward_kinematics(many(times[200])[0], place.link)
        np.testing.assert_allclose(
            marks.places[200 * len(first.points)], there[:3] @ [*place.position, 1]
        )
        viewer.seek(0.44)
        marks.nodes = [SimpleNamespace() for _ in marks.nodes]
        viewer.seek(0.45)
        sent = [bool(vars(node)) for node in marks.nodes]
    assert sent == [False] * 2 + [True] * 5 + [False]  # those of 0.19 to 0.45 s


def test_handles_of_a_free_base_and_a_ball_are_where_their_links_are():
    solid = """<inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
    robot = appell.load(
        f"""<robot name="b"><link name="base">{solid}</link><link name="arm">{solid}</link>
        <link name="hand">{solid}</link>
        <joint name="j" type="continuous"><parent link="base"/><child link="arm"/>
          <origin xyz="0 0 0.2" rpy="0.3 0.2 0.1"/><axis xyz="0 1 0"/></joint>
        <joint name="ball" type="spherical"><parent link="arm"/><child link="hand"/>
          <origin xyz="0.3 0 0.1" rpy="0.5 0.2 0.1"/></joint></robot>""",
        base="free",
    )
    q = robot.random(3)
    with robot.view(browser=False) as viewer:
        viewer.move(q)
        for (_, handle), link in zip(viewer.handles, ("base", "hand"), strict=True):
            parts = handle.name.split("/")
            pose = np.eye(4)
            for k in range(2, len(parts) + 1):
                node = viewer.server.scene.get_handle_by_name("/".join(parts[:k]))
                if node is not None:
                    step = np.eye(4)
                    step[:3, :3] = Rotation.from_quat(np.roll(node.wxyz, -1)).as_matrix()
                    step[:3, 3] = node.position
                    pose = pose @ step
            np.testing.assert_allclose(pose, robot.forward_kinematics(q, link), atol=1e-12)


@pytest.mark.parametrize("name", ["puma560", "five_bar", "agile_wrist", "differential_drive"])
def test_all_that_can_be_shown_besides_is_shown_of_every_kind_of_robot(name):
    robot = appell.load(name)
    with robot.view(browser=False) as viewer:
        for tick in viewer.overlays.ticks.values():
            tick.value = True
        viewer.move(robot.random(1))
        overlays = viewer.overlays
        assert viewer.message.content == ""
        shown = (overlays.frames, overlays.axes, overlays.coms, *overlays.boxes)
        assert all(node.visible for node in (*shown, *overlays.ellipsoids.values()))
        centre = robot.centre_of_mass(viewer.q)
        np.testing.assert_allclose(overlays.coms.points[-1], centre, atol=1e-5)


def test_a_still_robot_is_one_file(tmp_path):
    path = appell.load("agile_wrist").view(html=tmp_path / "wrist.html")
    assert path.stat().st_size > 500_000


def test_a_run_from_a_file_is_seen_as_it_was_with_its_walls_impacts_and_forces(tmp_path):
    robot = appell.load("planar_chain")
    heavier = robot.with_payload(0.5, (0.2, 0, 0), (0, 0, 0))
    wave = appell.walls.Implicit(lambda x, y, z: y + 1.2 - 0.1 * np.sin(3 * x), inside=False)
    walls = [wave, appell.walls.Plane((0, 1, 0), -3.0)]
    run = appell.simulate(
        heavier, [-0.3, -0.3, 0.1], until=1, walls=walls, restitution=0,
        torque=lambda t, q, v: -3 * v, points={"on link 3": ("link3", (0.5, 0, 0))},
    )  # fmt: skip
    again = load_run(run.save(tmp_path / "run.npz"))
    assert repr(again.robot.model) == repr(heavier.model)
    seen = []
    for each in (run, again):
        with each.view(browser=False) as viewer:
            viewer.seek(1.0)
            scene = viewer.server.scene
            nodes = [scene.get_handle_by_name(f"/walls/{k}/0") for k in (0, 1)]
            marks = viewer.on_stage.marks.places
            seen.append([*(x.vertices for x in nodes), marks, viewer.on_stage.forces.points])
    for live, saved in zip(*seen, strict=True):
        np.testing.assert_array_equal(live, saved)
    surface, _, marks, forces = seen[0]
    assert len(marks) == sum(len(impact.points) for impact in run.impacts) > 0
    # On the wall: to the square of a cell, a fortieth of the box, times its curvature.
    assert np.abs(surface[:, 1] + 1.2 - 0.1 * np.sin(3 * surface[:, 0])).max() < 0.01
    [(foot, head), *_] = forces
    assert abs(wave.function(*foot)) < 1e-5  # float32 of what touches
    assert head[1] > foot[1]
    with pytest.raises(InputError, match="its shape and not its function"):
        appell.simulate(robot, [0, 0, 0], until=1, walls=again.walls)
    with pytest.warns(UserWarning, match="other numbers"):
        again.view(robot=robot, browser=False).close()
    with pytest.raises(InputError, match="3 coordinates"):
        again.view(robot=appell.load("puma560"), browser=False)


def test_a_run_whose_file_holds_no_robot_is_given_one(tmp_path):
    run = run_of_chain(0.05)
    bare = replace(run, robot=None, robot_name=run.robot.name)
    with pytest.raises(InputError, match="--robot"):
        load_run(bare.save(tmp_path / "run.npz")).view(browser=False)
    bare.view(robot=run.robot, browser=False).close()


def test_a_bar_that_keeps_a_distance_is_drawn_between_its_ends():
    arms = appell.Builder("two arms")
    for name, x in (("left", 0.0), ("right", 1.0)):
        arms.link(name, mass=1.0, com=(0, 0.2, 0), inertia=(0.01, 0.01, 0.01))
        arms.joint(f"{name} joint", "revolute", "world", name, pose=(x, 0, 0), axis="z")
    tips = [Place("left", (0, 0.5, 0)), Place("right", (0, 0.5, 0))]
    robot = appell.close(arms.robot(), [Loop("distance", *tips, length=1.0)])
    with robot.view(browser=False) as viewer:
        viewer.move(robot.assemble([0.4, 0.4]))
        [node] = viewer.stage.bars
        q = viewer.q
        ends = [robot.forward_kinematics(q, tip)[:3, 3] for tip in tips]
        np.testing.assert_allclose(node.position, np.mean(ends, axis=0), atol=1e-9)
        along = Rotation.from_quat(np.roll(node.wxyz, -1)).as_matrix()[:, 2]
        np.testing.assert_allclose(along, ends[1] - ends[0], atol=1e-9)


def test_a_log_of_the_rig_is_played(tmp_path):
    robot = appell.load("puma560")
    q0 = np.deg2rad([0, -45, 60, 0, 30, 0])
    law = appell.control.PDGravity(robot)
    log = tmp_path / "log.mcap"
    appell.rig.run(law, appell.control.quintic(q0, q0 + 0.05, 0.2), channel="lockstep", log=log)
    motion = view_file(log, None)
    assert motion.robot.name == robot.name
    q, _ = motion.state(float(motion.t[-1]))
    np.testing.assert_allclose(q, q0 + 0.05, atol=0.01)
    assert {"position", "torque"} <= {curves.title for curves in motion.curves}


def test_a_run_of_the_rig_is_seen_while_it_goes_on(monkeypatch, capsys, opened):
    viewers, tables = [], []
    monkeypatch.setattr(RobotViewer, "open", lambda viewer: viewers.append(viewer))
    robot, units = appell.load("puma560"), units_of(["revolute"] * 5 + ["prismatic"], 6)
    row = {"q": np.full(6, 0.2), "qd": np.linspace(0.21, 0.26, 6), "tau": np.arange(6.0)}
    running = SimpleNamespace(now=lambda: row, ready=SimpleNamespace(machine=SimpleNamespace()))
    running.ready.machine.units = units
    with in_viewer(robot, tables.append) as look:
        page = opened(viewers[0].url)
        look(running)
        np.testing.assert_array_equal(viewers[0].q, row["q"])
        cells = page.locator('[data-table="live"] td[data-value]')
        cells.last.wait_for()
        values = cells.evaluate_all("all => all.map(e => Number(e.dataset.value))")
        texts = cells.all_inner_texts()
    assert capsys.readouterr().err.startswith("http://127.0.0.1:")
    scale = np.array([u.scale for u in units])
    wanted = np.stack([scale * row["q"], scale * row["qd"], row["tau"]], axis=1)
    np.testing.assert_array_equal(np.reshape(values, (6, 3)), wanted)
    assert texts[:3] == ["11.459 deg", "12.032 deg", "0.000 N m"]
    assert texts[-3:] == ["0.200 m", "0.260 m", "5.000 N"]
    assert tables == [running]


@pytest.fixture(scope="module")
def folder_of_a_run(tmp_path_factory):
    """What ``appell run`` leaves, and beside it a log."""
    folder = tmp_path_factory.mktemp("work")
    file = folder / "fall.toml"
    file.write_text('robot = "puma560"\ntask = {kind = "fall", until = 0.2}\n')
    arguments = ["run", str(file), "-o", str(folder / "run"), "-q"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    robot = appell.load("puma560")
    move = appell.control.quintic(np.zeros(6), np.full(6, 0.05), 0.2)
    log = folder / "log.mcap"
    appell.rig.run(appell.control.PDGravity(robot), move, channel="lockstep", log=log)
    return folder


@pytest.mark.parametrize(
    ("shown", "moves"),
    [
        ("puma560", False), ("run", True), ("run/run.npz", True), ("run/scenario.json", True),
        ("run/motion.csv", True), ("log.mcap", True), ("fall.toml", True),
    ],
)  # fmt: skip
def test_the_command_takes_robots_runs_folders_logs_scenarios_and_motions(
    folder_of_a_run, tmp_path, monkeypatch, shown, moves
):
    monkeypatch.chdir(folder_of_a_run)
    seen = []
    monkeypatch.setattr(Viewer, "wait", lambda viewer: seen.append(viewer))
    done = CliRunner().invoke(app, ["view", shown, "--no-browser"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("http://127.0.0.1:")
    [viewer] = seen
    if moves:
        assert viewer.motion.robot.name == "puma560"
        run = load_run("run/run.npz")
        wanted = np.full(6, 0.05) if shown == "log.mcap" else run(0.2)[0]
        found = viewer.motion.state(float(viewer.motion.t[-1]))[0]
        np.testing.assert_allclose(found, wanted, atol=0.01)
        speeds = viewer.motion.state(0.1)[1]
        if shown != "log.mcap":
            np.testing.assert_allclose(speeds, run(0.1)[1], atol=0.01)
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, ["view", shown, "--html", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert ('<iframe class="scene"' in text) is moves
    assert not re.search(r"<script[^>]* src=|<link[^>]* href=.http", text)


def test_a_motion_and_a_folder_without_what_is_needed_are_refused_with_the_cure(tmp_path):
    motion = tmp_path / "motion.csv"
    motion.write_text("t,q1 [deg],q2 [deg]\n0,0,0\n1,90,0\n")
    result = CliRunner().invoke(app, ["view", str(motion), "--no-browser"])
    assert (result.exit_code, "--robot" in result.output) == (2, True)
    played = view_file(tmp_path, appell.load("two_link"))
    np.testing.assert_allclose(played.state(1.0)[0], [np.pi / 2, 0])
    motion.unlink()
    result = CliRunner().invoke(app, ["view", str(tmp_path), "--no-browser"])
    assert (result.exit_code, "holds no motion" in result.output) == (2, True)


def test_a_motion_with_quaternions_is_played(tmp_path):
    file = tmp_path / "robot.urdf"
    heavy = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    file.write_text(URDF.replace('<link name="base">', f'<link name="base">{heavy}</inertial>'))
    robot = appell.load(file, base="free")
    t, v = np.linspace(0, 1, 101), np.array([0.1, 0, 0, 0, 0, 0.5, 0.2, 0.1])
    q = robot.integrate(robot.neutral(), t[:, None] * v)
    lines = [",".join(map(repr, row)) for row in np.column_stack([t, q]).tolist()]
    motion = tmp_path / "motion.csv"
    motion.write_text("\n".join(["t," + ",".join(f"q{k + 1}" for k in range(9)), *lines]))
    played = view_file(motion, robot)
    np.testing.assert_allclose(played.state(0.505)[1], v, atol=1e-6)


def test_the_motion_of_a_scenario_is_played(tmp_path):
    file = tmp_path / "scenario.json"
    for task in ('{"kind": "puma_line", "samples": 11}', '{"kind": "fall", "until": 0.1}'):
        file.write_text(f'{{"robot": "puma560", "task": {task}}}')
        motion = view_file(file, None)
        assert motion.robot.name == "puma560"


def test_several_viewers_live_side_by_side_and_none_is_seen_from_outside():
    robot = appell.load("puma560")
    with robot.view(browser=False) as one, robot.view(browser=False) as two:
        assert one.url != two.url
        one.move(np.full(6, 0.1))
        assert not two.q.any()
        assert one.server.get_host() == "127.0.0.1"
        with pytest.raises(InputError, match="6 finite"):
            robot.view([0.1], browser=False)


@pytest.mark.parametrize("wrong", [{"host": ""}, {"port": -1}, {"port": 70_000}, {"html": "a.txt"}])
def test_wrong_options_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        appell.view(appell.load("puma560"), browser=False, **wrong)
    with pytest.raises(InputError, match="expected a robot"):
        appell.view("puma560")


@pytest.mark.parametrize("host", ["192.0.2.1", "nonexistent.invalid", "a" * 70 + ".invalid"])
def test_an_address_of_no_interface_here_is_refused(host):
    with pytest.raises(AppellError, match=f"no viewer at {re.escape(host)}: .*127.0.0.1"):
        servers.start_server(host)


def test_a_port_that_is_taken_is_refused():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(AppellError, match=f"no viewer at 127.0.0.1:{port}: .*another port"):
            servers.start_server(port=port)


@pytest.mark.parametrize(
    ("host", "url"), [("::1", "http://[::1]:8000"), ("::", "http://[::1]:8000"),
                      ("0.0.0.0", "http://127.0.0.1:8000"), ("a.org", "http://a.org:8000")],
)  # fmt: skip
def test_the_address_of_a_page_can_be_opened(host, url):
    viewer = Viewer.__new__(Viewer)
    viewer.server = SimpleNamespace(get_host=lambda: host, get_port=lambda: 8000)
    assert viewer.url == url


def test_forces_of_legs_that_are_driven_are_in_newtons():
    robot = appell.load("stewart_gough")
    assert {u.force for u in units_of_actuators(robot)} == {"N"}
    n = len(robot.actuated)
    still = np.tile(robot.neutral(), (2, 1)), np.zeros((2, robot.nv))
    curves = of_samples(robot, [0.0, 1.0], *still, np.ones((2, n))).curves
    assert (curves[-1].title, curves[-1].unit, len(curves[-1].names)) == ("force", "N", n)


def test_what_is_missing_is_named_with_the_command_to_install_it(monkeypatch):
    monkeypatch.setattr(servers, "find_spec", lambda name: None)
    with pytest.raises(AppellError, match=r"pip install 'appell\[view\]'"):
        appell.load("puma560").view()


def test_control_c_ends_the_command_with_status_130(tmp_path):
    command = [sys.executable, "-m", "appell", "view", "puma560", "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:  # fmt: skip
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == ""  # it is how a viewer ends
    assert "Traceback" not in output


def test_the_command_writes_a_page(tmp_path):
    target = tmp_path / "arm.html"
    command = [sys.executable, "-m", "appell", "view", "puma560", "--html", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == target
    assert target.exists()


def test_a_shape_without_extent_is_warned_of_and_left_out():
    shape = Shape("arm", "sphere", (0.0,), np.eye(3), np.zeros(3), None)
    with pytest.warns(UrdfWarning, match="sphere of link 'arm' has no extent"):
        assert triangles(shape) == []
