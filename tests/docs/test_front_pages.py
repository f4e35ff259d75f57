"""The README, the home page, the gallery and the install page agree with what is there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]+)|(?:src|href)=\"([^\"#]+)\"")


@pytest.fixture(scope="module")
def tools():
    """The programs that draw the pictures: docs/films.py and docs/cards.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        import cards
        import films

        yield films, cards


def commands() -> dict[str, str]:
    """The command that runs each scenario and each example, by its name."""
    scenarios = (ROOT / "examples" / "scenarios").glob("*.toml")
    runs = {
        x.stem: f"appell run examples/scenarios/{x.name}"
        for x in scenarios
        if not x.stem.endswith("_loops")
    }
    examples = {x.stem: f"python examples/{x.name}" for x in (ROOT / "examples").glob("*.py")}
    return runs | examples


def test_the_gallery_shows_every_scenario_and_example(tools):
    films, _ = tools
    assert set(films.SHOTS) == set(commands())
    items = (DOCS / "gallery.md").read_text().split("\n-   ")[1:]
    shown = {}
    for item in items:
        image = re.search(r"!\[.+?\]\(images/film_(\w+)\.svg\)", item)
        command = re.search(r"^ +`((?:appell|python) .+)`$", item, re.MULTILINE)
        shown[image[1]] = command[1]
    assert shown == commands()


def test_films_move_need_nothing_else_and_are_light():
    files = sorted((DOCS / "images").glob("film_*.svg"))
    assert {x.stem[5:] for x in files} == set(commands())
    for file in files:
        root = ElementTree.parse(file).getroot()
        tags = {x.tag.split("}")[1] for x in root.iter()}
        assert "animate" in tags, file.name
        assert not tags & {"script", "image", "foreignObject"}
        assert all(x.get("href", "#").startswith("#") for x in root.iter())
        assert root.get("aria-label")
    assert sum(x.stat().st_size for x in files) < 3e6  # what a clone is made to carry


@pytest.mark.parametrize("name", ["five_bar_line", "closed_four_bar"])
def test_films_are_what_the_programs_draw(name, tools):
    """To a quarter of a pixel: both round to a tenth, and a run's steps may differ by processor."""
    kept, drawn = (DOCS / "images" / f"film_{name}.svg").read_text(), tools[0].draw(name)
    number = re.compile(r"-?\d+\.?\d*")
    assert number.sub("#", drawn) == number.sub("#", kept), "make pictures"
    pairs = zip(number.findall(drawn), number.findall(kept), strict=True)
    assert max(abs(float(a) - float(b)) for a, b in pairs) < 0.25


def test_badges_say_what_pyproject_says(tools):
    _, cards = tools
    made = cards.badges()
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {cards.facts()['version']}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation
    for name, badge in made.items():
        assert (DOCS / "images" / name).read_text() == badge, "make pictures"
        assert f"docs/images/{name}" in (ROOT / "README.md").read_text()


def test_every_page_asks_for_the_same_python():
    least = re.fullmatch(r">=([\d.]+)", PROJECT["requires-python"])[1]
    for page in ("README.md", "CONTRIBUTING.md", "docs/install.md", "Makefile"):
        named = re.findall(r"Python ([\d.]+\d) or newer", (ROOT / page).read_text())
        assert named, page
        assert set(named) == {least}, page


def test_the_table_of_extras_is_that_of_pyproject():
    rows = re.findall(
        r"^\| (none|`\w+`) \|.*\| (.+) \|$", (DOCS / "install.md").read_text(), re.MULTILINE
    )
    named = {name.strip("`"): set(re.findall(r"[\w-]+", brings.lower())) for name, brings in rows}
    extras = PROJECT["optional-dependencies"]
    for_work = {"test", "bench", "docs"}
    assert set(named) - {"none"} == set(extras) - for_work
    for name, packages in {"none": PROJECT["dependencies"], **extras}.items():
        if name not in for_work:
            wanted = {re.match(r"[\w-]+", x)[0] for x in packages if "python_version" not in x}
            assert named[name] == wanted, name


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/gallery.md"])
def test_links_lead_somewhere(page):
    path = ROOT / page
    links = [a or b for a, b in LINK.findall(path.read_text())]
    assert links
    missing = [x for x in links if "://" not in x and not (path.parent / x).exists()]
    assert not missing


def test_counts_on_the_front_pages_are_those_of_the_table():
    rows = re.findall(r"^\| \d+ \| .+? \| (natural|awkward|no) \|",
                      (DOCS / "capabilities.md").read_text(), re.MULTILINE)  # fmt: skip
    for page in ("README.md", "docs/index.md"):
        told = re.search(
            r"(\d+) things\s+that users of other\s+libraries do\S*\s+(\d+)",
            (ROOT / page).read_text(),
        )
        assert told, page
        assert (int(told[1]), int(told[2])) == (len(rows), rows.count("natural")), page
