"""The page in a real browser: charts are drawn, the way to guilty triples can be clicked, foreign text stays text."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hydrograph_gauge.report import build
from tests.support.chromium import Browser, Page, find_chromium, started
from tests.support.gauge_runs import HOSTILE, hostile_records, origin, records, write

PROGRAM = find_chromium()
pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium: install one, or name it in CHROMIUM"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert PROGRAM is not None
    with started(PROGRAM, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    build([write(folder / "run", origin(), records(windows=12, repetitions=2))], folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    given = origin().model_copy(update={"title": HOSTILE[0], "published": {HOSTILE[1]: {HOSTILE[2]: HOSTILE[0]}}})
    build([write(folder / "run", given, hostile_records())], folder / "report.html")
    return folder / "report.html"


def opened(browser: Browser, file: Path, width: int = 1280, *, dark: bool = False) -> Page:
    page = browser.page()
    page.resize(width, 900, dark=dark)
    page.open(file.as_uri())
    page.wait_for("[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('svg'))")
    return page


def unfold(page: Page, rows: int) -> None:
    """Open every fold, those inside of others too, until so many tables of guilty rows are there."""
    page.wait_for(
        "(() => { document.querySelectorAll('details:not([open])').forEach((each) => { each.open = true; });"
        f" return document.querySelectorAll('table.rows').length >= {rows}; }})()"
    )


def assert_quiet(page: Page, file: Path) -> None:
    """The console is empty, nothing but the page itself was requested, and no dialog opened."""
    assert page.complaints == []
    assert {url for url in page.requests if not url.startswith("data:")} == {file.as_uri()}
    assert page.dialogs == []


def test_every_kind_of_chart_is_drawn(browser: Browser, report: Path) -> None:
    page = opened(browser, report)
    drawn = page.value(
        "[...document.querySelectorAll('.plot svg')].map((svg) => ["
        " svg.querySelectorAll('.line, .mark, .bar, .box').length, svg.querySelectorAll('text').length,"
        " svg.outerHTML.includes('NaN')])"
    )
    assert len(drawn) >= 9
    assert all(marks > 2 and texts > 4 and not broken for marks, texts, broken in drawn), drawn
    assert page.value("document.querySelectorAll('rect.box').length") >= 9
    assert page.value("document.querySelectorAll('.panel path.line').length") >= 9
    assert page.value("document.querySelectorAll('.tiles td.tone-wrong').length") >= 3
    assert_quiet(page, report)


def test_a_choice_shows_another_query(browser: Browser, report: Path) -> None:
    page = opened(browser, report)
    before = page.value("document.querySelector('.chosen figcaption').textContent")
    page.click(".choice button:last-child")
    after = page.value("document.querySelector('.chosen figcaption').textContent")
    assert "q1 in test latency" in before
    assert "q2 in test latency" in after
    page.wait_for("document.querySelector('.chosen svg path.line') !== null")
    assert_quiet(page, report)


def test_from_a_letter_to_guilty_rows_and_triples_by_clicking(browser: Browser, report: Path) -> None:
    page = opened(browser, report)
    assert page.value("document.querySelectorAll('table.rows').length") == 0
    page.click(".tiles td.tone-wrong a")
    page.wait_for("document.querySelector('details.group[open] details.window[open] table.rows') !== null")
    assert page.value("document.querySelector('table.rows').offsetHeight") > 20
    assert "Missing rows: 3, 2 shown" in page.value("document.querySelector('details.window[open]').textContent")
    page.click("table.rows details.triples summary")
    triple = page.value("document.querySelector('table.rows details.triples[open] pre').textContent")
    assert triple.startswith("<http://example.org/user/1> <http://example.org/wrote> ")
    page.click("details.group[open] > details.window:nth-of-type(3) > summary")
    page.wait_for("document.querySelectorAll('details.window[open]').length === 2")
    assert_quiet(page, report)


def test_hostile_texts_are_shown_as_texts(browser: Browser, hostile: Path) -> None:
    page = opened(browser, hostile)
    unfold(page, rows=12)
    assert page.value("document.title") == HOSTILE[0]
    shown = page.value("[...document.querySelectorAll('table.rows code')].map((each) => each.textContent)")
    assert shown == [text for each in HOSTILE for text in (each, f"<{each}>")]
    queries = page.value("[...document.querySelectorAll('.queries pre')].map((each) => each.textContent)")
    assert queries == list(HOSTILE)
    said = page.value("[...document.querySelectorAll('code.words')].map((each) => each.textContent)")
    assert set(HOSTILE) <= set(said)
    made = page.value(
        "document.querySelectorAll('main script, main img, main b, main [onerror], a[href^=\"java\"]').length"
    )
    assert made == 0
    assert page.value("document.querySelectorAll('script').length") == 2
    assert_quiet(page, hostile)


@pytest.mark.parametrize("name", ["report", "hostile"])
def test_a_phone_scrolls_tables_not_the_page(browser: Browser, name: str, request: pytest.FixtureRequest) -> None:
    page = opened(browser, request.getfixturevalue(name), width=390)
    unfold(page, rows=12)
    assert page.value("document.documentElement.scrollWidth") <= 390
    assert page.value("window.scrollTo(999, 0), window.scrollX") == 0
    wide = page.value(
        "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length"
    )
    assert wide > 0
    assert page.complaints == []


def test_colours_follow_the_system_until_the_reader_chooses(browser: Browser, report: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = opened(browser, report), opened(browser, report, dark=True)
    light_ground, dark_ground = light.value(ground), dark.value(ground)
    assert light_ground != dark_ground
    dark.click("button.theme")
    assert dark.value("document.documentElement.dataset.theme") == "light"
    assert dark.value(ground) == light_ground
    dark.click("button.theme")
    assert dark.value(ground) == dark_ground


@pytest.mark.parametrize("dark", [False, True])
def test_texts_have_contrast(browser: Browser, report: Path, dark: bool) -> None:
    page = opened(browser, report, dark=dark)
    low = page.value((Path(__file__).parent / "contrast.js").read_text("utf-8"))
    assert low == {}


def test_headings_and_tables_are_marked_up(browser: Browser, report: Path) -> None:
    page = opened(browser, report)
    levels = page.value("[...document.querySelectorAll('h1, h2, h3, h4')].map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert page.value("[...document.querySelectorAll('table')].every((t) => t.querySelector('thead th[scope=col]'))")
    named = "document.getElementById(svg.getAttribute('aria-labelledby'))"
    assert page.value(f"[...document.querySelectorAll('.plot svg')].every((svg) => {named})")
    assert page.value(
        "[...document.querySelectorAll('button, select')].every((b) => (b.ariaLabel || b.textContent).trim())"
    )


def test_charts_and_tables_can_be_taken_away(browser: Browser, report: Path, tmp_path: Path) -> None:
    page = opened(browser, report)
    browser.tell("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.click("figure.chart .tools button:nth-child(1)")
    page.click("figure.chart .tools button:nth-child(2)")
    deadline = 100
    while len(names := [file.name for file in tmp_path.iterdir() if file.suffix in (".svg", ".csv")]) < 2 and deadline:
        page.value("new Promise((done) => setTimeout(done, 50))")
        deadline -= 1
    assert sorted(Path(name).suffix for name in names) == [".csv", ".svg"]
    (drawing,) = tmp_path.glob("*.svg")
    text = drawing.read_text("utf-8")
    assert text.startswith("<svg")
    assert 'xmlns="http://www.w3.org/2000/svg"' in text
    assert "var(" not in text
    assert "class=" not in text
    (rows,) = tmp_path.glob("*.csv")
    with rows.open(encoding="utf-8", newline="") as file:
        names_, *lines = csv.reader(file)
    assert len(lines) > 3
    assert {len(line) for line in lines} == {len(names_)}
    assert lines[0][:3] == ["latency, rate 100", "q1", "hydrograph"]
    assert float(lines[0][3]) > 0
    assert page.complaints == []


def test_the_order_of_the_keyboard_reaches_the_wrong_windows(browser: Browser, report: Path) -> None:
    page = opened(browser, report)
    page.value("document.querySelector('.tiles td.tone-wrong a').focus()")
    for kind in ("keyDown", "keyUp"):
        page.tell("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
    page.wait_for("document.querySelector('details.group[open] details.window[open] table.rows') !== null")
    assert json.loads(page.value("JSON.stringify(location.hash)")).startswith("#wrong-0-")
