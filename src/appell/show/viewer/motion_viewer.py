"""A motion in the browser: played, stepped and scrubbed, with plots that follow the time."""

from __future__ import annotations

from bisect import bisect_right
from threading import Thread
from time import monotonic, sleep
from typing import Any

import numpy as np

from appell.charts.palette import INK, THIRTY
from appell.model.shapes import Array
from appell.show.viewer.impact_marks import ImpactMarks
from appell.show.viewer.overlays import Overlays
from appell.show.viewer.played_motion import Curves, PlayedMotion
from appell.show.viewer.read_outs import Row, summary_rows, table
from appell.show.viewer.robot_scene import RobotScene
from appell.show.viewer.robot_viewer import Viewer
from appell.show.viewer.server import LOOPBACK
from appell.show.viewer.stage import Stage, wxyz
from appell.show.viewer.wall_shapes import push, wall_surfaces

_SLOWEST, _FASTEST = 1e-4, 1e4  # of the speed that can be asked for
_FRAMES, _PLOTS = 30.0, 8.0  # per second


class MotionStage:
    """A robot's stage with the walls, impacts and contact forces of its motion."""

    def __init__(self, server: Any, motion: PlayedMotion) -> None:
        self.motion = motion
        self.stage = Stage(server, RobotScene(motion.robot), motion.views)
        self.size = 0.015 * self.stage.width
        for k, wall in enumerate(motion.walls):
            for part, (surface, shape) in enumerate(wall_surfaces(wall, self.stage.width)):
                self.stage.add_solid(
                    f"/walls/{k}/{part}", surface, position=shape.position,
                    wxyz=wxyz(shape.rotation), cast_shadow=False,
                )  # fmt: skip
        self.marks = ImpactMarks(server, motion.strikes, self.size)
        self.forces: Any = None
        if motion.reactions is not None:
            lines = np.zeros((len(motion.contacts), 2, 3))
            self.forces = server.scene.add_arrows(
                "/contact forces", lines, (213, 94, 0), shaft_radius=0.4 * self.size,
                head_radius=self.size, head_length=2 * self.size, visible=False,
            )  # fmt: skip
            every = [np.max(np.abs(motion.reactions(t)), initial=0.0) for t in motion.t]
            self.largest = float(max(every)) or 1.0

    def move(self, t: float) -> tuple[Array, Array, Array]:
        """Bring all to a time; q, v and the links' poses are returned."""
        q, v = self.motion.state(t)
        poses = self.stage.move(q)
        self.marks.move(t)
        if self.forces is not None:
            self._push(t, poses)
        return q, v, poses

    def _push(self, t: float, poses: Array) -> None:
        assert self.motion.reactions is not None
        where = dict(zip(self.stage.scene.links, poses, strict=True))
        lines = []
        for (place, wall), force in zip(
            self.motion.contacts, self.motion.reactions(t), strict=True
        ):
            if force > 0:
                foot = where[place.link][:3] @ [*place.position, 1.0]
                long = 0.35 * self.stage.width * float(force) / self.largest
                lines.append([foot, foot + long * push(wall, foot, 1e-4 * self.stage.width)])
        self.forces.visible = bool(lines)
        if lines:
            self.forces.points = np.array(lines, dtype=np.float32)


class MotionViewer(Viewer):
    """A motion that plays, pauses, steps and is scrubbed, at any speed.

    Examples:
        >>> run = appell.simulate(appell.load("planar_chain"), [0.3, 0.2, 0.1], until=0.2)
        >>> with run.view(browser=False) as viewer:
        ...     viewer.seek(0.1)
        ...     viewer.play()
        ...     viewer.pause()
    """

    def __init__(self, motion: PlayedMotion, *, host: str = LOOPBACK, port: int = 0) -> None:
        self.motion, self.playing = motion, False
        self.t = float(motion.t[0])
        super().__init__(host, port)
        try:
            self.on_stage = MotionStage(self.server, motion)
            self._build()
            self.seek(self.t)
        except BaseException:
            self.close()
            raise
        Thread(target=self._play, name="appell viewer", daemon=True).start()

    def play(self) -> None:
        """Play from where it is, or again from the start where it is at the end."""
        with self.lock:
            if self.t >= self.motion.t[-1]:
                self.seek(float(self.motion.t[0]))
            self._set_playing(True)

    def pause(self) -> None:
        """Stop where it is."""
        with self.lock:
            self._set_playing(False)

    def seek(self, t: float) -> None:
        """Show the motion at a time; times beyond its ends are these.

        Args:
            t: The time, s.
        """
        with self.lock:
            self.t = float(np.clip(t, self.motion.t[0], self.motion.t[-1]))
            self.slider.value = round(self.t, 6)  # first: what is scrubbed while it moves stays
            with self.server.atomic():
                q, v, poses = self.on_stage.move(self.t)
                self.overlays.update(q, poses)
                now = [Row("time", self.t, "s"), *summary_rows(self.motion.robot, q, v)]
                self.summary.content = table(("", "", ""), now, "now")
                if strikes := self.motion.strikes:
                    passed = bisect_right(strikes, self.t, key=lambda x: x.time)
                    last = f"; last: {strikes[passed - 1].text}" if passed else ""
                    self.impacts.content = f"{passed} of {len(strikes)} impacts{last}"

    # What is on the page

    def _build(self) -> None:
        gui, motion = self.server.gui, self.motion
        start, end = (float(x) for x in motion.t[[0, -1]])
        gui.set_panel_label(motion.robot.name)
        self.button = gui.add_button("Play")
        self.button.on_click(lambda _: self.pause() if self.playing else self.play())
        step = max(round((end - start) / 1000, 6), 1e-6)
        self.slider = gui.add_slider("time, s", start, max(end, start + step), step, start)
        self.slider.on_update(self._scrubbed)
        self.steps = gui.add_button_group("step", ("|<", "<", ">", ">|"))
        self.steps.on_click(lambda event: self._stepped(event.target.value))
        self.speed = gui.add_number(
            "speed", 1.0, min=_SLOWEST, max=_FASTEST, step=0.1,
            hint="1 is real time, 0.1 ten times slower; any number",
        )  # fmt: skip
        self.again = gui.add_checkbox("repeat", False)
        if motion.note:
            gui.add_markdown(f"It ended early: {motion.note}")
        self.impacts = gui.add_markdown("")
        self.plots = [self._plot(k) for k in range(min(2, len(motion.curves)))]
        with gui.add_folder("Energy and mass"):
            self.summary = gui.add_html("")
        self.overlays = Overlays(self.on_stage.stage, lambda: self.seek(self.t))

    def _plot(self, k: int) -> tuple[Any, Any]:
        gui, curves = self.server.gui, self.motion.curves
        names = tuple(f"{c.title}, {c.unit}" for c in curves)
        # The second begins with what is said last: the energies, or the torques.
        choice = gui.add_dropdown("plot", names, initial_value=names[0 if k == 0 else -1])
        handle = self._uplot(curves[names.index(choice.value)])
        pair = [choice, handle]

        def changed(_: Any) -> None:
            with self.lock:
                pair[1].remove()
                pair[1] = self._uplot(curves[names.index(choice.value)], choice.order + 0.5)

        choice.on_update(changed)
        return choice, pair

    def _uplot(self, curves: Curves, order: float | None = None) -> Any:
        from viser import uplot

        lines = [
            uplot.Series(label=name, stroke=THIRTY[j % len(THIRTY)], width=1.5)
            for j, name in enumerate(curves.names)
        ]
        now = uplot.Series(label="now", stroke=INK, width=1.0)
        return self.server.gui.add_uplot(
            data=self._data(curves),
            series=(uplot.Series(label="t, s"), *lines, now),
            scales={"x": uplot.Scale(time=False)},
            axes=(uplot.Axis(label="t, s", size=34, labelSize=16), uplot.Axis(size=56)),
            height=210,
            order=order,
        )

    def _data(self, curves: Curves) -> tuple[Array, ...]:
        """The curves, and one that leaves the lowest value at the present time only, for the
        highest: an upright line."""
        values = np.nan_to_num(curves.values)
        at, low = int(np.searchsorted(self.motion.t, self.t)), values.min()
        t = np.insert(self.motion.t, [at] * 3, self.t)
        lines = [np.insert(y, [at] * 3, np.interp(self.t, self.motion.t, y)) for y in values.T]
        now = np.full(len(t), low)
        now[at + 1] = values.max()
        return (t, *lines, now)

    def _scrubbed(self, event: Any) -> None:
        if event.client is not None:
            with self.lock:
                self._set_playing(False)
                self.seek(float(self.slider.value))
                self.follow()

    def _stepped(self, button: str) -> None:
        start, end = (float(x) for x in self.motion.t[[0, -1]])
        step = (end - start) / 100
        with self.lock:
            self._set_playing(False)
            self.seek({"|<": start, "<": self.t - step, ">": self.t + step, ">|": end}[button])
            self.follow()

    def _set_playing(self, on: bool) -> None:
        self.playing = on
        self.button.label = "Pause" if on else "Play"

    def follow(self) -> None:
        """Bring the plots to the present time."""
        names = [f"{c.title}, {c.unit}" for c in self.motion.curves]
        for choice, pair in self.plots:
            pair[1].data = self._data(self.motion.curves[names.index(choice.value)])

    def _play(self) -> None:
        before, plotted = monotonic(), 0.0
        while not self._closed.is_set():
            sleep(1 / _FRAMES)
            now = monotonic()
            passed, before = now - before, now
            with self.lock:
                scrubbed = self.slider.value != round(self.t, 6)  # seen before it is heard of
                if not self.playing or scrubbed or self._closed.is_set():
                    continue
                end = float(self.motion.t[-1])
                t = self.t + passed * float(self.speed.value)
                if t >= end and self.again.value:
                    t = float(self.motion.t[0])
                self.seek(t)
                if t >= end:
                    self._set_playing(False)
                if now - plotted > 1 / _PLOTS or not self.playing:
                    plotted = now
                    self.follow()
