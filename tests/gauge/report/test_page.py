"""The page as a text: nothing from elsewhere, and no data that could be markup."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.errors import DataError, UsageError
from hydrograph_gauge.report import build
from hydrograph_gauge.report.document import Document, RunPart, Section, Text
from hydrograph_gauge.report.page import data, render
from hydrograph_gauge.run_records import Key, OutcomeRecord, Record, WindowRecord
from tests.support.gauge_runs import HOSTILE, hostile_records, origin, records, write


@given(st.text())
def test_data_stands_in_its_element_whatever_it_holds(text: str) -> None:
    found = data(Document(text, (RunPart(text, text, (text,), (Section(text, (Text(text),)),)),)))
    assert not set(found) & set("<>&\u2028\u2029\0")
    assert found.isascii()
    assert json.loads(found)["parts"][0]["sections"][0]["blocks"][0]["text"] == text


def test_hostile_texts_are_nowhere_in_the_markup(tmp_path: Path) -> None:
    given_ = origin().model_copy(update={"title": HOSTILE[0], "settings": {HOSTILE[1]: HOSTILE[1]}})
    build([write(tmp_path / "run", given_, hostile_records())], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert not any(text in page for text in HOSTILE if "<" in text)
    assert page.count("<script") == 2
    assert page.count("</script>") == 2


def test_the_page_asks_nobody_for_anything() -> None:
    page = render(Document("t", ()))
    assert re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]+)""", page) == ["data:,", "#content"]
    assert set(re.findall(r"https?://[^\"'\s]+", page)) == {"http://www.w3.org/2000/svg"}  # the name of SVG's elements
    assert "@import" not in page
    assert "url(" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src &#x27;none&#x27;; script-src &#x27;sha256-")
    assert "unsafe" not in policy[1]


def test_the_program_makes_no_markup_of_texts() -> None:
    program = render(Document("t", ()))
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"):
        assert way not in program


def test_a_large_run_makes_a_page_that_can_be_opened(tmp_path: Path) -> None:
    def large() -> list[Record]:
        found: list[Record] = []
        for query in range(20):
            for engine in ("a", "b"):
                key = Key(test="t", engine=engine, query=f"q{query}")
                found += [
                    WindowRecord(
                        key=key, t=n * 1000, expected=9, actual=9, precision=1, recall=n % 2, delay=1 / (n + 3)
                    )
                    for n in range(500)
                ]
                found.append(OutcomeRecord(key=key, verdict="wrong", phase="execution", windows=500))
        return found

    folder = write(tmp_path / "run", origin(), iter(large()))
    start = time.monotonic()
    build([folder], tmp_path / "page.html")
    assert time.monotonic() - start < 20
    # Points by series are bounded, so that 100,000 windows make no larger page than these 20,000.
    assert (tmp_path / "page.html").stat().st_size < 4_000_000


def test_what_is_broken_leaves_the_old_page(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    with pytest.raises(DataError, match="holds no run"):
        build([tmp_path], target)
    with pytest.raises(UsageError, match="at least one run"):
        build([], target)
    assert target.read_text() == "old"


def test_the_made_up_run_has_every_section(tmp_path: Path) -> None:
    build([write(tmp_path / "run", origin(), records(queries=12, windows=6))], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    found = json.loads(page.partition('type="application/json">')[2].partition("</script>")[0])
    assert [section["title"] for section in found["parts"][0]["sections"]] == [
        "Summary", "Verdicts", "Functionality", "Queries answered", "Failed queries", "Published figures",
        "Output sizes and mismatch", "Throughput", "Windows", "Wrong windows", "Latency", "Delay by engine",
        "Scaling", "Memory and processor", "Repetitions", "Queries", "Origin",
    ]  # fmt: skip
