"""Make the pictures of the README and of the documentation: ``make pictures``."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import appell
from appell.show import plots
from appell.show.figure import svg_of
from appell.show.report_folder import write
from appell.show.svg import whole
from appell.study.straight_line import run
from appell.study.study_timing import measure

IMAGES = Path(__file__).parent / "images"
sys.path.insert(0, str(Path(__file__).parents[1]))  # for the browser that tests use, too


def photograph(page, path):
    """Save a page once it has come to rest: what is drawn fades in."""
    page.get_by_role("alert").get_by_role("button").click()  # that there is no graphics card
    before, now = b"", page.screenshot()
    for _ in range(5):
        if before == now:
            break
        page.wait_for_timeout(1000)
        before, now = now, page.screenshot()
    path.write_bytes(now)


def viewers():
    """The pictures of the viewer, with what each shows."""
    ur5 = appell.load("ur5").view([0.4, -1.1, 1.3, -0.9, -1.2, 0.3], browser=False)
    ur5.overlays.ticks["joint axes"].value = True
    ur5.overlays.ticks["mobility"].value = True
    ur5.show()
    yield "viewer", ur5
    yield "viewer_five_bar", appell.load("five_bar").view(browser=False)
    chain = appell.load("planar_chain")
    floor = appell.walls.Plane((0, 1, 0), -1.5)
    fall = appell.simulate(chain, [0.3, 0.2, 0.1], until=2, walls=[floor], restitution=0.6)
    falling = fall.view(browser=False)
    falling.seek(1.2)
    falling.follow()
    yield "viewer_run", falling


def report(browser):
    """The picture of a report, with the pointer over a chart."""
    with TemporaryDirectory() as folder:
        study = run()
        page = browser.new_page(viewport={"width": 1100, "height": 640})
        page.goto(write(study, measure(study), Path(folder, "run")).as_uri())
        page.locator("h2").nth(2).evaluate("heading => heading.scrollIntoView()")
        page.locator("figure.chart").nth(1).locator(".plot").nth(1).hover()
        page.screenshot(path=IMAGES / "report.png")
        page.close()


def main():
    """Draw all of them, or with names on the command line, those whose names begin so."""
    wanted = tuple(sys.argv[1:]) or ("",)
    if "straight_line".startswith(wanted):
        drawn = svg_of(plots.arm(run()), "A PUMA arm follows a straight line")
        (IMAGES / "straight_line.svg").write_text(whole(drawn))
    if not any("viewer".startswith(x) or x.startswith(("viewer", "report")) for x in wanted):
        return
    from tests.browser import headless

    with headless() as browser:
        if "report".startswith(wanted):
            report(browser)
        for name, viewer in viewers():
            if name.startswith(wanted):
                viewer.server.scene.configure_default_lights(True, cast_shadow=False)  # slow here
                page = browser.new_page(viewport={"width": 1000, "height": 560})
                page.set_default_timeout(120_000)
                page.goto(viewer.url)
                photograph(page, IMAGES / f"{name}.png")
                page.close()
            viewer.close()


if __name__ == "__main__":
    main()
