"""The viewer in a real browser: what is dragged moves, and what is shown is what robots answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell
from appell.cli.control_view import in_viewer
from appell.errors import AppellError, InputError
from appell.show.viewer import server as servers
from appell.show.viewer.robot_viewer import RobotViewer
from appell.show.viewer.view import view_file
from appell.simulation.run import load_run
from tests.browser import headless

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
SIZE = {"width": 560, "height": 320}
PATIENCE = 180_000  # ms, of a machine that draws without a graphics card and has much else to do


@pytest.fixture(scope="module")
def browser():
    with headless() as one:
        yield one


@pytest.fixture
def opened(browser):
    """A page at an address; errors on its console are errors."""
    pages, errors = [], []

    def opens(url, **options):
        page = browser.new_context(**{"viewport": SIZE, **options}).new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda problem: errors.append(str(problem)))
        page.goto(url)
        pages.append(page)
        return page

    yield opens
    for page in pages:
        page.context.close()
    assert not errors


@contextmanager
def viewed(subject):
    """A viewer without shadows, which take most of the time where there is no graphics card."""
    with subject.view(browser=False) as viewer:
        viewer.server.scene.configure_default_lights(True, cast_shadow=False)
        yield viewer


def value(page, table, name):
    """A number that a table shows, to its last digit."""
    cell = page.locator(f'[data-table="{table}"] tr[data-name="{name}"] td[data-value]')
    return float(cell.get_attribute("data-value"))


def until(holds):
    """Wait for something to become true."""
    end = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def run_of_chain(until_=0.6):
    robot = appell.load("planar_chain")
    walls = [appell.walls.Plane((0, 1, 0), -1.0)]
    return appell.simulate(robot, [0.1, 0.2, 0.3], until=until_, walls=walls, restitution=0.5)


def test_a_slider_moves_the_arm_of_a_file_and_the_torque_shown_is_its_gravity(tmp_path, opened):
    file = tmp_path / "robot.urdf"
    file.write_text(URDF)
    robot = appell.load(file)
    with viewed(robot) as viewer:
        assert viewer.url.startswith("http://127.0.0.1:")
        page = opened(viewer.url)
        page.get_by_text("shoulder, deg").wait_for()
        thumbs = page.get_by_role("slider")
        assert [thumbs.nth(k).get_attribute("aria-valuemin") for k in range(2)] == ["-85.94", "0"]
        thumbs.nth(0).focus()
        for _ in range(20):
            page.keyboard.press("ArrowRight")
        until(lambda: thumbs.nth(0).get_attribute("aria-valuenow") == "0.2")
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
    with viewed(robot) as viewer:
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
    with viewed(run) as viewer:
        page = opened(viewer.url)
        page.get_by_role("button", name="Play").click()
        until(lambda: viewer.playing)
        until(lambda: not viewer.playing)
        assert viewer.t == run.t[-1]
        until(lambda: value(page, "now", "time") == run.t[-1])
        q, v = run(run.t[-1])
        assert value(page, "now", "kinetic energy") == viewer.motion.robot.kinetic_energy(q, v)
        page.get_by_text(f"{len(run.impacts)} of {len(run.impacts)} impacts").wait_for()
        assert all(mark.visible for _, mark in viewer.on_stage.marks)
        page.get_by_role("button", name="|<", exact=True).click()
        until(lambda: viewer.t == 0 and not any(m.visible for _, m in viewer.on_stage.marks))


def test_a_page_of_a_run_moves_without_a_network(tmp_path, opened):
    path = run_of_chain(2.0).view(html=tmp_path / "run.html")
    asked = []
    page = opened("about:blank", offline=True, viewport={"width": 480, "height": 240})
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    clock = page.locator("input").first
    seen = {}
    until(
        lambda: (
            seen.setdefault(clock.input_value(), page.screenshot()) and len({*seen.values()}) > 2
        )
    )
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


def test_a_run_from_a_file_knows_its_robot_by_name_or_is_given_it(tmp_path):
    robot = appell.load("puma560")
    run = appell.simulate(robot, np.zeros(6), until=0.05)
    again = load_run(run.save(tmp_path / "run.npz"))
    assert again.view(html=tmp_path / "run.html").exists()
    other = load_run(run_of_chain(0.05).save(tmp_path / "other.npz"))
    with pytest.raises(InputError, match="--robot"):
        other.view(browser=False)
    with pytest.raises(InputError, match="3 coordinates"):
        other.view(robot=robot, browser=False)


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


def test_a_run_of_the_rig_is_seen_while_it_goes_on(monkeypatch, capsys):
    monkeypatch.setattr("webbrowser.open", lambda url: True)
    robot, seen, tables = appell.load("puma560"), [], []
    row = {"q": np.full(6, 0.2)}
    running = SimpleNamespace(now=lambda: row)
    monkeypatch.setattr(RobotViewer, "move", lambda self, q: seen.append(q))
    with in_viewer(robot, tables.append) as look:
        look(running)
    assert capsys.readouterr().out.startswith("http://127.0.0.1:")
    assert seen == [row["q"]]
    assert tables == [running]


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
    assert "Traceback" not in errors + output


def test_the_command_writes_a_page(tmp_path):
    target = tmp_path / "arm.html"
    command = [sys.executable, "-m", "appell", "view", "puma560", "--html", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == target
    assert target.exists()
