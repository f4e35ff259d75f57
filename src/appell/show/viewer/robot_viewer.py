"""A robot in the browser, moved by hand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from threading import Event, RLock
from typing import Any

import numpy as np

from appell.errors import AppellError
from appell.model.axes import as_array
from appell.model.model import BASE, CYCLE, Compound
from appell.model.shapes import Array
from appell.model.units import Units
from appell.robots.dynamics import Dynamics
from appell.show.viewer.overlays import Overlays
from appell.show.viewer.postures import Knob, Postures
from appell.show.viewer.read_outs import (
    actuator_rows,
    gravity_rows,
    live_table,
    summary_rows,
    table,
)
from appell.show.viewer.robot_scene import RobotScene
from appell.show.viewer.server import LOOPBACK, address, start_server, stop_server
from appell.show.viewer.stage import Stage, wxyz

_NUDGE = 0.1  # rad or m: what a press of a button moves


class Viewer:
    """A page in the browser, served while this process lives: ``url`` is its address.

    ``wait()`` stays until Ctrl-C, ``close()`` ends it. ``with robot.view() as viewer: ...`` ends it
    at the end of the block.
    """

    def __init__(self, host: str = LOOPBACK, port: int = 0) -> None:
        self.server = start_server(host, port)
        self.lock = RLock()  # viser calls back in threads of its own
        self._closed = Event()

    @property
    def url(self) -> str:
        """The page's address."""
        host = self.server.get_host()
        name = {"0.0.0.0": LOOPBACK, "::": "::1"}.get(host, host)
        return f"http://{address(name, self.server.get_port())}"

    def open(self) -> None:
        """Open the page in the user's browser, if there is one."""
        import webbrowser

        webbrowser.open(self.url)

    def wait(self) -> None:
        """Stay until Ctrl-C or `close`."""
        while not self._closed.wait(1.0):
            pass

    def close(self) -> None:
        """End the server."""
        self._closed.set()
        stop_server(self.server)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.url}>"


class RobotViewer(Viewer):
    """A robot that is moved by sliders and handles, with what it answers there.

    Examples:
        >>> viewer = appell.load("planar_chain").view(browser=False)
        >>> viewer.move([0.5, 0, 0])
        >>> viewer.show()
        >>> viewer.q.tolist()
        [0.5, 0.0, 0.0]
        >>> viewer.close()
    """

    def __init__(
        self, robot: Dynamics, q: Any = None, *, host: str = LOOPBACK, port: int = 0
    ) -> None:
        self.scene = RobotScene(robot)
        self.postures = Postures(robot, q, room=self.scene.length)
        super().__init__(host, port)
        try:
            self.stage = Stage(self.server, self.scene, [self.postures.q])
            self._build()
            self.show()
        except BaseException:
            self.close()
            raise

    @property
    def robot(self) -> Dynamics:
        """The robot that is shown."""
        return self.scene.robot

    @property
    def q(self) -> Array:
        """The coordinates that are shown, (nq,), rad or m; `move` changes them."""
        return self.postures.q.copy()

    def move(self, q: Any) -> None:
        """Show the robot at a configuration; refused where it cannot be there.

        Args:
            q: Coordinates, (nq,), rad or m.
        """
        with self.lock:
            why = self.postures.go(np.asarray(q, dtype=float))
            if why:
                raise AppellError(why)
            self.show()

    def show_cycle(self, row: Any, units: Sequence[Units]) -> None:
        """Show the robot where it is in a cycle of a run of the rig, with what is desired and the
        torques beside it.

        Args:
            row: A row of the log: its fields q, qd and tau are shown.
            units: Of the joints.

        Examples:
            >>> machine = appell.rig.puma560_machine()
            >>> with appell.load("puma560").view(browser=False) as viewer:
            ...     row = {"q": [0.1] * 6, "qd": [0.0] * 6, "tau": [0.0] * 6}
            ...     viewer.show_cycle(row, machine.units)
            ...     viewer.q.tolist()
            [0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
        """
        with self.lock, self.server.atomic():
            self.move(row["q"])
            self.live.content = live_table(self.robot.joint_names, units, row)

    # What is on the page

    def _build(self) -> None:
        gui, robot = self.server.gui, self.robot
        gui.set_panel_label(robot.name)
        self.message = gui.add_html("")
        self.live = gui.add_html("")
        buttons = gui.add_button_group("", ("neutral", "random", "reset"))
        self._start = self.postures.q.copy()
        buttons.on_click(lambda event: self._press(event.target.value))
        with gui.add_folder("Joints"):
            self.sliders = {i: self._slider(i, x) for i, x in enumerate(self.postures.knobs)}
            self.handles = [self._handle(c) for c in self.postures.handles]
        with gui.add_folder("Holding still against gravity"):
            self.torques = gui.add_html("")
        with gui.add_folder("Energy and mass"):
            self.summary = gui.add_html("")
        self.overlays = Overlays(self.stage, self._again)

    def _slider(self, i: int, knob: Knob) -> Any:
        gui, u = self.server.gui, knob.units
        label = f"{knob.name}, {u.shown}"
        if knob.place is None:
            buttons = gui.add_button_group(f"{knob.name}, {u.position}", ("- 0.1", "+ 0.1"))
            buttons.on_click(
                lambda event: self._turn({i: _NUDGE if event.target.value[0] == "+" else -_NUDGE})
            )
            return buttons
        digits = 2 + u.more
        low, high = (round(u.scale * x, digits) for x in (knob.low, knob.high))
        step = 10.0**-digits
        slider = gui.add_slider(
            label, low, max(high, low + step), step, self._shown(knob),
            hint="within the joint's limits" if knob.limited else "the joint has no limits",
        )  # fmt: skip

        def moved(event: Any) -> None:
            if event.client is not None:  # and not this program itself
                x = float(slider.value) / u.scale
                self._turn({i: min(max(x, knob.low), knob.high)})

        slider.on_update(moved)
        return slider

    def _shown(self, knob: Knob) -> float:
        """A coordinate in the units and digits of its slider."""
        assert knob.place is not None
        return round(knob.units.scale * float(self.postures.q[knob.place]), 2 + knob.units.more)

    def _handle(self, c: Compound) -> Any:
        """A handle to turn a ball, or to move and turn a free body, in the frame of its joint."""
        model, size = self.robot.model, 0.25 * self.stage.width
        first = model.bodies[c.body]
        frame = next(f for f in model.frames if f.body == first.parent or first.parent == BASE)
        parent = self.stage.node(frame.name) if first.parent != BASE else ""
        R, s = as_array(first.R0) @ as_array(CYCLE.T), np.array([float(x) for x in first.s0])
        if first.parent != BASE:
            E = as_array(frame.R).T
            R, s = E @ R, E @ (s - np.array([float(x) for x in frame.s]))
        name = f"{parent}/joint-{c.body}"
        self.server.scene.add_frame(name, show_axes=False, wxyz=wxyz(R), position=s)
        handle = self.server.scene.add_transform_controls(
            f"{name}/handle", scale=size, disable_axes=not c.free, disable_sliders=not c.free,
            line_width=2.0, opacity=0.6,
        )  # fmt: skip
        at = model.place(c.speed)

        def moved(event: Any) -> None:
            if getattr(event, "client", None) is None:
                return
            with self.lock:
                q = self.q
                w, x, y, z = map(float, handle.wxyz)
                if c.free:
                    q[at : at + 3] = handle.position
                q[at + c.size - 3 : at + c.size + 1] = (x, y, z, w)
                self._say(self.postures.go(q))
                self.show(moving=handle)

        handle.on_update(moved)
        return c, handle

    def _press(self, button: str) -> None:
        with self.lock:
            try:
                there = {
                    "neutral": self.robot.neutral,
                    "random": self.postures.drawn,
                    "reset": self._start.copy,
                }[button]()
                self._say(self.postures.go(np.asarray(there, dtype=float)))
            except AppellError as problem:
                self._say(str(problem))
            self.show()

    def _turn(self, positions: dict[int, float]) -> None:
        with self.lock:
            self._say(self.postures.turn(positions))
            self.show()

    def _again(self) -> None:
        with self.lock:
            self.show()

    def _say(self, problem: str | None) -> None:
        self.message.content = (
            f'<div class="appell-message" style="padding:4px 10px;color:#c2410c;font-size:12px">'
            f"It stays where it is: {escape(problem)}</div>"
            if problem
            else ""
        )

    # Following the coordinates

    def show(self, moving: Any = None) -> None:
        """Bring all that is seen to the coordinates.

        Args:
            moving: A handle that is there already.
        """
        q, robot = self.postures.q, self.robot
        with self.server.atomic():
            poses = self.stage.move(q)
            for i, slider in self.sliders.items():
                knob = self.postures.knobs[i]
                if knob.place is not None:
                    slider.value = min(max(self._shown(knob), slider.min), slider.max)
            for c, handle in self.handles:
                if handle is not moving:
                    at = robot.model.place(c.speed)
                    x, y, z, w = q[at + c.size - 3 : at + c.size + 1]
                    handle.wxyz = (w, x, y, z)
                    if c.free:
                        handle.position = q[at : at + 3]
            why = self.overlays.update(q, poses)
            if why:
                self._say(why)
            heads = ("joint", "gravity", "")
            content = table(heads, gravity_rows(robot, q), "gravity")
            actuators = actuator_rows(robot, q)
            if actuators:
                content += table(("actuator", "force", ""), actuators, "actuators")
            self.torques.content = content
            self.summary.content = table(("", "", ""), summary_rows(robot, q), "summary")
