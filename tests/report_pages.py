"""Reports in a real browser: nothing is cut off, nothing is asked for, charts answer."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from typing import Any

from tests.browser import executable

WIDTHS, THEMES = (1400, 1000, 400), ("light", "dark")
# Lines are drawn quickest by the processor; a sandbox within a container is none.
OPTIONS = ["--disable-gpu", *(["--no-sandbox"] if getattr(os, "geteuid", int)() == 0 else [])]
USED = ((1400, "light"), (400, "dark"))  # where charts are tried
LEAST = 9  # pixels of a letter's height that can be read

# What does not fit: elements beyond the page's edge, cells whose words are cut, tables that scroll.
CUT = """() => {
  const width = document.documentElement.clientWidth, cut = [];
  const tell = (what, e) => cut.push(`${what}: ${e.tagName} ${e.textContent.slice(0, 60)}`);
  for (const e of document.querySelectorAll("body *:not(svg *)")) {
    const box = e.getBoundingClientRect();
    if (box.width && (box.right > width + 1 || box.left < -1)) tell("beyond the page", e);
  }
  for (const e of document.querySelectorAll("td, th, .table, pre"))
    if (e.scrollWidth > e.clientWidth + 1) tell("cut off", e);
  if (document.documentElement.scrollWidth > width) cut.push("the page scrolls sideways");
  return cut;
}"""
SMALLEST = """() => Math.min(99, ...[...document.querySelectorAll("svg text")].map((t) =>
  t.hasAttribute("transform") ? t.getBBox().height : t.getBoundingClientRect().height)
  .filter((x) => x))"""  # turned words are as high as they are long
TICKS = '(plot) => [...plot.querySelectorAll("text")].map((t) => t.textContent).join(" ")'


def examine(report: Path, *, charts: bool = True) -> None:
    """Open a report at every width in light and dark; where ``charts`` are wanted, which takes
    longest, hover and zoom the first. The animation beside a report is left empty: the viewer's
    tests see such pages."""
    from playwright.sync_api import sync_playwright

    beside = report.with_name("animation.html")
    allowed = {report.as_uri(), *([beside.as_uri()] if beside.exists() else [])}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(playwright), args=OPTIONS)
        for width, theme in product(WIDTHS, THEMES):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
            problems: list[str] = []
            page.on("console", lambda message, to=problems: to.append(message.text))
            page.on("pageerror", lambda error, to=problems: to.append(str(error)))
            page.on("request", lambda request, to=problems: to.append(request.url))
            page.route(beside.as_uri(), lambda route: route.fulfill(body="<!doctype html>"))
            page.goto(report.as_uri())
            assert problems[0] == report.as_uri()
            assert {*problems} <= allowed
            assert page.locator("iframe.scene").count() == len(allowed) - 1
            assert page.evaluate(CUT) == [], f"{report.name} at {width} px, {theme}"
            assert page.evaluate(SMALLEST) >= LEAST
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (dark == "rgb(20, 23, 27)") is (theme == "dark")
            if charts and (width, theme) in USED:
                use_charts(page)
            page.close()
        browser.close()


def zoom_upwards(page: Any, plot: Any) -> None:
    """A drag upwards zooms along y alone; Shift with the arrow up does, too."""
    heights = 'p => [...p.querySelectorAll("text[text-anchor=end]")].map(t => t.textContent).join()'
    over = 'p => [...p.querySelectorAll("text[text-anchor=middle]")].map(t => t.textContent).join()'
    before = [plot.evaluate(heights), plot.evaluate(over)]
    box = plot.bounding_box()
    x = box["x"] + 0.5 * box["width"]
    page.mouse.move(x, box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(x + 2, box["y"] + 0.6 * box["height"], steps=3)
    page.mouse.up()
    assert [plot.evaluate(heights) != before[0], plot.evaluate(over)] == [True, before[1]]
    plot.dblclick()
    assert [plot.evaluate(heights), plot.evaluate(over)] == before
    page.locator("figure.chart .panel").first.focus()
    page.keyboard.press("Shift+ArrowUp")
    assert plot.evaluate(heights) != before[0]
    page.keyboard.press("Escape")
    assert [plot.evaluate(heights), plot.evaluate(over)] == before


def use_charts(page: Any) -> None:
    """Hovering shows a value of every line, dragging zooms, a double click shows all again."""
    plot = page.locator("figure.chart .plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    before = plot.evaluate(TICKS)
    y = box["y"] + box["height"] / 3
    page.mouse.move(box["x"] + 0.5 * box["width"], y)
    readout = plot.locator(".readout")
    assert readout.is_visible()
    lines = page.evaluate(
        'JSON.parse(document.querySelector("figure.chart script").textContent).panels[0].lines'
    )
    assert readout.locator(".values > div").count() == len(lines)
    assert any(character.isdigit() for character in readout.locator("em").first.inner_text())
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], y, steps=3)
    page.mouse.up()
    assert plot.evaluate(TICKS) != before
    assert page.locator("button.reset").first.is_visible()
    plot.dblclick()
    assert plot.evaluate(TICKS) == before
    page.locator("figure.chart .panel").first.focus()
    page.keyboard.press("ArrowRight")
    assert readout.is_visible()
    page.keyboard.press("+")
    assert plot.evaluate(TICKS) != before
    page.keyboard.press("Escape")
    assert plot.evaluate(TICKS) == before
    zoom_upwards(page, plot)
    entries = page.locator("figure.chart").first.locator(".entry")
    if entries.count():
        drawn = plot.locator("path.line")
        count = drawn.count()
        entries.first.click()
        assert drawn.count() < count
        entries.first.click()
        assert drawn.count() == count
