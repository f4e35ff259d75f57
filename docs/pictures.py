"""Make the pictures of the README and of the documentation: ``make pictures``.

With names on the command line, those whose names begin so: ``python docs/pictures.py viewer``;
films are ``film_`` and the name of the scenario or example.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import cards
import films

import appell
from appell.show import plots
from appell.show.figure import svg_of
from appell.show.report_folder import write
from appell.show.svg import whole
from appell.study.straight_line import run
from appell.study.study_timing import measure

IMAGES = Path(__file__).resolve().parent / "images"
BROWSED = ("viewer", "report", "tutorials")  # what needs a browser
sys.path.insert(0, str(Path(__file__).parents[1]))  # for the browser that tests use, too


def photograph(browser, url, path):
    """Save a page of a viewer once it has come to rest: what is drawn fades in."""
    page = browser.new_page(viewport={"width": 1000, "height": 560})
    page.set_default_timeout(120_000)
    page.goto(url)
    page.get_by_role("alert").get_by_role("button").click()  # that there is no graphics card
    before, now = b"", page.screenshot()
    for _ in range(5):
        if before == now:
            break
        page.wait_for_timeout(1000)
        before, now = now, page.screenshot()
    path.write_bytes(now)
    page.close()


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


def tutorials(wanted, browser):
    """The pictures that the tutorials' own code draws, and photographs of the pages it writes."""
    from matplotlib import rcParams

    from tests.docs.blocks import ROOT, blocks, pages, pictures
    from tests.docs.blocks import run as run_blocks

    os.environ["SOURCE_DATE_EPOCH"], rcParams["svg.hashsalt"] = "0", "appell"  # the same each time
    for page in filter(pictures, pages()):
        if not f"tutorials/{Path(page).stem}".startswith(wanted):
            continue
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            run_blocks(page, blocks(page))
            for name in pictures(page):
                path = IMAGES / "tutorials" / name
                if path.suffix == ".svg":
                    path.write_bytes(Path(name).read_bytes())
                else:
                    html = Path(name).with_suffix(".html").resolve()
                    photograph(browser, html.as_uri(), path)
            os.chdir(ROOT)


def main():
    """Draw all of them, or with names on the command line, those whose names begin so."""
    wanted = tuple(sys.argv[1:]) or ("",)
    for name in films.SHOTS:
        if f"film_{name}".startswith(wanted):
            (IMAGES / f"film_{name}.svg").write_text(films.draw(name))
    for name, badge in cards.badges().items():
        if name.startswith(wanted):
            (IMAGES / name).write_text(badge)
    if "exported".startswith(wanted):
        (IMAGES / "exported.svg").write_text(cards.exported())
    if "straight_line".startswith(wanted):
        drawn = svg_of(plots.arm(run()), "A PUMA arm follows a straight line")
        (IMAGES / "straight_line.svg").write_text(whole(drawn))
    if not any(x.startswith(y) or y.startswith(x) for x in wanted for y in BROWSED):
        return
    from tests.browser import headless

    with headless() as browser:
        if "report".startswith(wanted):
            report(browser)
        tutorials(wanted, browser)
        for name, viewer in viewers():
            if name.startswith(wanted):
                viewer.server.scene.configure_default_lights(True, cast_shadow=False)  # slow here
                photograph(browser, viewer.url, IMAGES / f"{name}.png")
            viewer.close()


if __name__ == "__main__":
    main()
