"""Runs made up for tests of the report: small enough to read, with every kind of record in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from hydrograph_gauge.run_records import (
    PROVENANCE_FILE,
    RECORDS_FILE,
    ExclusionRecord,
    FunctionalRecord,
    Key,
    MaxRateRecord,
    MismatchRecord,
    OutcomeRecord,
    Provenance,
    QueryRecord,
    Record,
    RowExplanation,
    SampleRecord,
    WindowRecord,
    line_of,
)

STREAM = "".join(f"{t * 500}\t<urn:s{t % 3}> <urn:p> <urn:o{t % 2}> .\n" for t in range(20))
"""Stream of ten seconds, as timed N-Triples."""
ENGINES = ("hydrograph", "oxigraph incremental", "oxigraph periodic")
RATES = (100, 1000)
HOSTILE = (
    "</script><script>document.title='taken'</script>",
    "<img src=x onerror=\"document.title='taken'\">",
    "]]><!-- <b>bold</b> &amp; &#60;",
    "line\u2028separator \u2029 paragraph \u202e backwards",
    "javascript:document.title='taken'",
    "{{data}} {{program}}",
)

_SHAPES = ("linear", "star", "complex")


def origin() -> Provenance:
    """Return where the made-up figures come from."""
    return Provenance(
        experiment="social",
        title="Correctness and latency over a small social network",
        started="2026-03-01T09:30:00+01:00",
        seed=1024,
        settings={"users": 200, "duration": "60 s", "window": "5 s", "slide": "1 s", "limit": 0.05},
        machine={"system": "Linux 6.1", "processor": "x86_64", "cores": 2, "memory": "8 GB"},
        versions={"hydrograph": "0.1.0", "pyoxigraph": "0.5.13", "python": "3.11"},
        commit="c2db543f0a7e",
        published={
            "q1": {"CQELS": 24122, "C-SPARQL": 10, "JTALIS": 3790},
            "q2": {"CQELS": 8462, "C-SPARQL": 1.68, "JTALIS": 3857},
            "q5": {"CQELS": 7459, "C-SPARQL": 1.72, "JTALIS": None},
        },
    )


def records(queries: int = 12, windows: int = 40, repetitions: int = 3) -> Iterator[Record]:
    """Yield a run: the first engine is right, the second fails at some queries, the third shifts its windows."""
    for number in range(1, queries + 1):
        yield QueryRecord(
            test="latency",
            query=f"q{number}",
            text=f"SELECT ?user ?post\nFROM NAMED WINDOW :w ON :posts [RANGE PT5S STEP PT1S]\nWHERE {{ q{number} }}",
            variables=("user", "post"),
            features={
                "kind": "hybrid" if number % 3 == 0 else "pure",
                "patterns": 1 + number % 6,
                "shape": _SHAPES[number % 3],
                "cardinality": float(number * number * 11),
                "selectivity": number / 40,
                "selectivity deviation": number / 100,
            },
        )
    for rate in RATES:
        for number in range(1, queries + 1):
            for place, engine in enumerate(ENGINES):
                for repetition in range(repetitions):
                    key = Key(
                        test="latency",
                        engine=engine,
                        query=f"q{number}",
                        repetition=repetition,
                        settings={"rate": rate},
                    )
                    yield from _answers(key, number, place, rate, windows)
    yield ExclusionRecord(test="latency", query="q7", why="oxigraph incremental: runtime error")
    for size in (1_000, 10_000, 100_000):
        for place, engine in enumerate(ENGINES):
            key = Key(test="static size", engine=engine, query="q3", settings={"static": size})
            speed = 9_000 / (place + 1) / math.log10(size)
            yield OutcomeRecord(
                key=key, verdict="ok", phase="execution", executions_rate=speed, non_empty=3, windows=3, right=3
            )
    yield from _rest()


def _answers(key: Key, number: int, place: int, rate: int, windows: int) -> Iterator[Record]:
    wobble = 1 + 0.1 * math.sin(number * 7 + key.repetition * 3 + place)
    if place == 1 and number in (7, 8):
        verdict, words = (
            ("runtime error", "ConcurrentModificationException: null")
            if number == 7
            else ("syntax error", "expected a pattern, got NOT at line 4")
        )
        yield OutcomeRecord(
            key=key, verdict=verdict, phase="registration" if number == 8 else "execution", words=words, memory_peak=80
        )
        return
    is_shifted = place == 2 and number % 4 == 1
    right = 0
    for window in range(1, windows + 1):
        close = window * 1000 + 4000
        expected = 10 + (window * number) % 17
        hits = expected - 3 if is_shifted and window % 2 else expected
        right += hits == expected
        delay = (20 + 12 * number + rate / 50) * (place + 1) * wobble * (1 + 0.2 * math.sin(window))
        yield WindowRecord(
            key=key,
            t=close,
            open=close - 5000,
            close=close,
            used_open=close - 4600 if hits < expected else None,
            used_close=close + 400 if hits < expected else None,
            content=rate * 5,
            expected=expected,
            actual=hits,
            precision=hits / expected if hits < expected else 1,
            recall=hits / expected,
            delay=delay,
            missing=_blame(window, "missing") if hits < expected else (),
            extra=_blame(window, "extra") if hits < expected else (),
        )
    share = right / windows if windows else 1
    yield OutcomeRecord(
        key=key,
        verdict="ok" if right == windows else "wrong",
        phase="execution",
        faults=("windows shifted by 400 ms",) if right < windows else (),
        windows=windows,
        non_empty=windows,
        right=right,
        precision=share,
        recall=share,
        missing=3 * (windows - right),
        output=14 * windows,
        seconds=60,
        rate=rate,
        executions_rate=4000 / (place + 1) / number * wobble if rate == 100 else None,
        last_result=60_000 + 900 * place * wobble,
        delay_median=(20 + 12 * number + rate / 50) * (place + 1) * wobble,
        delay_95=90,
        memory_peak=(120 + 10 * number) * (1 + place) * wobble,
        memory_slope=0.1 * place,
        cpu=4.5 * (place + 1),
    )
    for step in range(0, 120, 2):
        at = step / 2
        memory = 60 + 60 * (1 + place) * (1 - math.exp(-at / 9)) + 4 * math.sin(step)
        yield SampleRecord(key=key, at=at, memory=memory, cpu=at * (0.3 + 0.2 * place), threads=8 + place * 5)


def _blame(window: int, what: str) -> tuple[RowExplanation, ...]:
    row = f"<http://example.org/user/{window}>", f'"{what} {HOSTILE[window % len(HOSTILE)]}"'
    triple = f"<http://example.org/user/{window}> <http://example.org/wrote> <http://example.org/post/{window}> ."
    return RowExplanation(row=row, triples=(triple,)), RowExplanation(row=(row[0], None), triples=(triple, triple))


def _rest() -> Iterator[Record]:
    for one in ENGINES:
        for other in ENGINES:
            if one != other:
                value = 0.0147 if "periodic" in one else 0.0
                yield MismatchRecord(
                    test="latency",
                    query="q1",
                    settings={"rate": 100},
                    one=one,
                    other=other,
                    value=value,
                    comparable=True,
                )
                yield MismatchRecord(
                    test="latency",
                    query="q4",
                    settings={"rate": 100},
                    one=one,
                    other=other,
                    value=0.5,
                    comparable=False,
                )
    for place, engine in enumerate(ENGINES):
        for group, name in (("R2R", "bind"), ("R2S", "istream"), ("S2R", "eviction"), ("Experiment 1", "t0 = 2")):
            passed = None if place == 1 and group == "R2S" else not (place == 2 and group == "S2R")
            yield FunctionalRecord(
                engine=engine, group=group, name=name, passed=passed, words="" if passed else f"said {HOSTILE[0]}"
            )
        key = Key(test="latency", engine=engine, query="q1", settings={"rate": 100})
        yield MaxRateRecord(key=key, rate=16_000 / (place + 1), tried=((1000, True), (32_000, False)))


def hostile_records() -> Iterator[Record]:
    """Yield a run whose every text tries to be markup."""
    for number, text in enumerate(HOSTILE):
        key = Key(test=text, engine=f"engine {text}", query=f"query {number} {text}", settings={text: text})
        yield QueryRecord(test=text, query=key.query, text=text, variables=(text,), features={text: text})
        yield WindowRecord(
            key=key,
            t=1000,
            open=0,
            close=1000,
            expected=1,
            actual=1,
            precision=0,
            recall=0,
            delay=1,
            missing=(RowExplanation(row=(text,), triples=(text,)),),
            extra=(RowExplanation(row=(f"<{text}>",), triples=(text,)),),
        )
        yield OutcomeRecord(key=key, verdict="wrong", phase=text, words=text, faults=(text,), windows=1, non_empty=1)
        yield FunctionalRecord(engine=text, group=text, name=text, passed=False, words=text)
        yield ExclusionRecord(test=text, query=key.query, why=text)


def write(folder: Path, given: Provenance, found: Iterator[Record]) -> Path:
    """Write a run to a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PROVENANCE_FILE).write_text(given.model_dump_json(), "utf-8")
    with (folder / RECORDS_FILE).open("w", encoding="utf-8") as file:
        file.writelines(map(line_of, found))
    return folder
