"""Feeding of engines: independent feeds, one process for all queries, acknowledged hand-over, and who is to blame."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.described import DESCRIPTIONS, read_description
from hydrograph_gauge.engines.error_output import attribute, relevant_lines
from hydrograph_gauge.engines.outcome import Origin, Verdict
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, SessionResult, run_session
from hydrograph_gauge.player import AsFastAsTaken, ByEventTime

STREAM = Iri("urn:s")
PROGRAM = Path(__file__).with_name("shared_program.py")
WIDE = "x" * 100_000
"""More than a pipe holds, so that a program that does not read blocks the one that writes to it."""
ELEMENTS = [Element.of(100 * n, n, Triple(Iri(f"urn:e{n}"), Iri("urn:p"), Literal(WIDE))) for n in range(8)]
ONE = f"""
name = "shared"
dialect = "none"
processes = "one"
by_clock = true
command = ["{sys.executable}", "{PROGRAM}"]
settle = 3.0

[input]
register = "register\\t{{number}}\\t{{query}}"
unregister = "unregister\\t{{number}}"
triple = "triple\\t{{s}}\\t{{p}}\\t{{o}}"
element = "element\\t{{n}}"

[output]
ready = 'ready\\t(?P<query>\\d+)'
refused = 'refused\\t(?P<query>\\d+)\\t(?P<words>.*)'
failed = 'failed\\t(?P<query>\\d+)\\t(?P<words>.*)'
syntax = 'what is'
row = 'row\\t(?P<query>\\d+)\\t(?P<terms>.*)'
finished = 'finished\\t(?P<query>\\d+)'
taken = 'taken\\t(?P<n>\\d+)\\t(?P<at>[\\d.]+)'
"""
EACH = ONE.replace('processes = "one"', "").replace(f'"{PROGRAM}"]', f'"{PROGRAM}", "{{query}}"]')


def asked(description: str, folder: Path, **words: str) -> SessionResult:
    """Ask a described program queries whose texts have these words, at the pace of the stream."""
    file = folder / "shared.toml"
    file.write_text(description)
    questions = {
        name: EngineQuery(f"# variables: pid streams: <urn:s>\n{each}", ("pid",), frozenset({STREAM}))
        for name, each in words.items()
    }
    task = SessionInput(questions, {STREAM: ELEMENTS}, {STREAM: ByEventTime()})
    return run_session(registry.start_command(f"described:{file}"), task, Limits(seconds=90), folder / "stderr.txt")


def processes(found: SessionResult, query: str) -> set[object]:
    return {row for block in found.blocks[query] for row in block.rows}


def test_a_slow_query_does_not_delay_another(tmp_path: Path) -> None:
    found = asked(EACH, tmp_path, slow="SLOW", quick="QUICK")
    assert found.outcomes == {}
    assert processes(found, "slow") != processes(found, "quick")
    slow, quick = (
        [at - each.due for at, each in zip(found.taken[name], found.handed, strict=True) if at is not None]
        for name in ("slow", "quick")
    )
    assert len(slow) == len(quick) == len(ELEMENTS)
    # Each element takes the slow one 300 ms and comes 100 ms after the one before.
    assert slow[-1] - slow[0] > 1_000
    assert quick[-1] - quick[0] < slow[-1] - slow[0] - 500
    assert found.blocks["quick"][-1].at < found.blocks["slow"][-1].at - 500


def test_the_recorded_hand_over_is_when_the_engine_took_the_element(tmp_path: Path) -> None:
    found = asked(ONE, tmp_path, slow="SLOW")
    last = found.handed[-1]
    assert last.told is not None
    assert last.told < 1_500
    assert last.at - last.told > 1_000
    assert [each.at for each in found.handed] == sorted(each.at for each in found.handed)
    assert found.taken == {}


def test_one_process_has_all_queries(tmp_path: Path) -> None:
    found = asked(ONE, tmp_path, a="IGNORED", b="", bad="BROKEN", dead="FAILING")
    assert processes(found, "a") == processes(found, "b")
    assert len(processes(found, "a")) == 1
    assert found.executions == {"a": len(ELEMENTS), "b": len(ELEMENTS)}
    outcomes = {name: (each.verdict, each.origin, each.words) for name, each in found.outcomes.items()}
    assert outcomes == {
        "bad": (Verdict.SYNTAX_ERROR, Origin.TEXT, "what is BROKEN?"),
        "dead": (Verdict.RUNTIME_ERROR, Origin.ENGINE, "no more"),
    }
    assert found.errors == {"a": ("warning: IGNORED is ignored",)}
    assert "IGNORED is ignored" in (tmp_path / "stderr.txt").read_text()


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('\nregister = "', '\nend = "', "needs input.register"),
        ("row = 'row\\t(?P<query>\\d+)", "row = 'row\\t(\\d+)", r"needs a group \(\?P<query>…\) in output.row"),
    ],
)
def test_one_process_needs_lines_that_name_the_query(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(ONE.replace(old, new))
    with pytest.raises(UsageError, match=complaint):
        read_description(file)


LAZY = """
import json, sys, threading, time, queue
waiting, sent, most = queue.SimpleQueue(), 0, 0
def say(**reply): print(json.dumps(reply), flush=True)
def acknowledge():
    global most
    done = 0
    while (n := waiting.get()) is not None:
        most = max(most, sent - done)
        time.sleep(0.0002)
        say(reply="taken", n=n, at=[time.time() * 1000])
        done += 1
    sys.stderr.write(f"warning: {most} were waiting\\n")
    sys.stderr.flush()
    say(reply="ended")
threading.Thread(target=acknowledge).start()
for line in sys.stdin:
    command = json.loads(line)
    if command["do"] == "register": say(reply="registered", query=command["query"])
    if command["do"] == "unregister": say(reply="unregistered", query=command["query"])
    if command["do"] == "send": sent += 1; waiting.put(command["n"])
    if command["do"] == "end": waiting.put(None)
    if command["do"] == "stop": break
"""
"""Engine that reads everything at once, and takes it slowly."""


def test_only_the_engine_limits_the_rate_where_no_pace_is_given(tmp_path: Path) -> None:
    file = tmp_path / "lazy.py"
    file.write_text(LAZY)
    many = [Element.of(n, n, Triple(Iri("urn:a"), Iri("urn:p"), Iri("urn:o"))) for n in range(2_500)]
    task = SessionInput({"q": EngineQuery("", ())}, {STREAM: many}, {STREAM: AsFastAsTaken()})
    found = run_session([sys.executable, str(file)], task, Limits(seconds=60))
    (line,) = found.errors[""]
    assert 500 < int(line.split()[1]) <= 1_002
    assert len(found.handed) == len(many)


STARTED = "import sys; sys.stderr.write({errors!r}); sys.stderr.flush(); {then}"


@pytest.mark.parametrize(
    ("errors", "then", "verdict", "origin"),
    [
        ("java.lang.OutOfCheese: no\n\tat a.B.c(D.java:1)\n", "sys.exit(3)", Verdict.CRASH, Origin.ENGINE),
        ("Error: Could not find or load main class Engine\n", "sys.exit(1)", Verdict.CRASH, Origin.ADAPTER),
        ("", "print('hello', flush=True); sys.stdin.read()", Verdict.RUNTIME_ERROR, Origin.ADAPTER),
    ],
)
def test_a_program_that_stops_is_charged_to_engine_or_adapter(
    errors: str, then: str, verdict: Verdict, origin: Origin
) -> None:
    task = SessionInput({"q": EngineQuery("", ())}, {STREAM: []}, {STREAM: AsFastAsTaken()})
    command = [sys.executable, "-c", STARTED.format(errors=errors, then=then)]
    found = run_session(command, task, Limits(seconds=60))
    assert (found.outcomes["q"].verdict, found.outcomes["q"].origin) == (verdict, origin)
    assert found.errors.get("", ()) == tuple(errors.splitlines()[:1])


def test_what_java_refuses_its_libraries_is_not_charged_to_the_engine() -> None:
    assert (
        attribute("NoClassDefFoundError: Could not initialize class net.sf.cglib.core.ReflectUtils") is Origin.ADAPTER
    )
    assert attribute("NullPointerException: null") is Origin.ENGINE
    assert relevant_lines("") == ()
    for name in ("csparql", "cqels"):
        file = DESCRIPTIONS / f"{name}.toml"
        given = read_description(file)
        assert given.processes == "one"
        at = given.command.index("--add-opens")
        assert given.command[at + 1] == "java.base/java.lang=ALL-UNNAMED"


@pytest.mark.parametrize(
    ("engine", "text", "why"),
    [
        (
            "csparql",
            "SELECT * FROM STREAM <urn:s> [RANGE 1500ms STEP 1s] { ?s ?p ?o }",
            "no windows in milliseconds, such as 1500 ms",
        ),
        (
            "csparql",
            "REGISTER QUERY q COMPUTED EVERY 5s AS SELECT * FROM STREAM <urn:s> [RANGE 2s STEP 1s] { ?s ?p ?o }",
            "C-SPARQL 0.9.7 has no COMPUTED EVERY",
        ),
        (
            "cqels",
            "SELECT * { STREAM <urn:s> [NOW] { ?s ?p ?o } OPTIONAL { STREAM <urn:s> [RANGE 2s] { ?s ?q ?r } } }",
            "CQELS 1.x has no STREAM inside of OPTIONAL",
        ),
        (
            "cqels",
            "SELECT * { STREAM <urn:s> [NOW] { ?s ?p ?o FILTER EXISTS { ?s ?q ?r } } }",
            "ignores everything but",
        ),
    ],
)
def test_what_a_version_cannot_be_asked(engine: str, text: str, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        registry.print_for_engine(f"{engine}:jars", parse(text))


def test_a_name_that_a_language_cannot_say_is_left_out() -> None:
    text = "REGISTER STREAM <urn:out> AS SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 2s STEP 1s] "
    asked = registry.print_for_engine("csparql:jars", parse(f"{text} {{ WINDOW <urn:w> {{ ?s ?p ?o }} }}"))
    assert asked.startswith("REGISTER QUERY anonymous AS\n")
    filtered = "SELECT ?s { STREAM <urn:s> [NOW] { ?s ?p ?o FILTER(?o > 1) } }"
    assert "}\n  FILTER" in registry.print_for_engine("cqels:jars", parse(filtered))
