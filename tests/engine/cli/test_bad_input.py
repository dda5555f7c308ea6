"""Bad input: one clear message on standard error, the right exit code, no stack trace, no half-written output."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrograph.cli.main import main

QUERY = """PREFIX : <http://example.org/>
SELECT ?s FROM NAMED WINDOW :w ON :st [RANGE 10s STEP 5s] WHERE { WINDOW :w { ?s :p ?o } }"""
LINE = "7\t<http://example.org/s> <http://example.org/p> <http://example.org/o> .\n"
USAGE, QUERY_ERROR, DATA_ERROR = 2, 3, 4


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    file = tmp_path / "stream.tnt"
    file.write_text(LINE)
    return file


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run the command, which has to fail; return exit code and message."""
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("hydrograph: ")
    assert "Traceback" not in captured.err
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, captured.err


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT ?s WHERE { ?s ex:p ?o }", "unknown prefix"),
        (QUERY.replace("10s", "0s"), "at least 1 ms"),
        (QUERY.replace("5s", "0s"), "at least 1 ms"),
        (QUERY.replace("10s", "99999d"), "31"),
        (QUERY.replace("5s", "1 parsec"), "line 2, column"),
        (QUERY.replace("WINDOW :w {", "WINDOW :v {"), "window"),
        (QUERY + " " * 70_000, "65536"),
        ("SELECT ?s WHERE " + "{" * 10_000 + "}" * 10_000, "100"),
        ("SELECT ?s WHERE { FILTER(" + "(" * 10_000 + "1" + ")" * 10_000 + ") }", "100"),
        (QUERY.replace("?s :p ?o", "?s :p ?o SERVICE <http://127.0.0.1/> { ?s ?p ?o }"), "SERVICE"),
        ("LOAD <http://127.0.0.1/>", "LOAD"),
        ("SELECT", "expected"),
        ("", "expected"),
        ("SELECT ?s WHERE { ?s ?p ?o }", "window"),
    ],
)
def test_a_wrong_query(stream: Path, capsys: pytest.CaptureFixture[str], query: str, words: str) -> None:
    code, message = fails(capsys, "run", "-q", query, "--stream", str(stream))
    assert code == QUERY_ERROR
    assert words in message
    assert len(message.strip().splitlines()) in (1, 3)  # a syntax error shows the line and a caret


@pytest.mark.parametrize(
    "line", ["7\tnonsense\n", "x\t<urn:a> <urn:b> <urn:c> .\n", '7\t<urn:a> <urn:b> "c .\n', "7\n"]
)
def test_a_broken_line_stops_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    file = tmp_path / "broken.tnt"
    file.write_text(LINE + line + LINE)
    output = tmp_path / "out.json"
    code, message = fails(capsys, "run", "-q", QUERY, "--stream", str(file), "-o", str(output))
    assert code == DATA_ERROR
    assert "broken.tnt" in message
    assert "line 2" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.tnt"]


def test_broken_lines_are_skipped_or_written_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, elsewhere = tmp_path / "broken.tnt", tmp_path / "bad.txt"
    file.write_text(LINE + "nonsense\n")
    main(["run", "-q", QUERY, "--stream", str(file), "--bad-lines", "skip", "--until", "10000"])
    captured = capsys.readouterr()
    assert '"t":10000' in captured.out
    assert "1 broken lines" in captured.err
    main(["run", "-q", QUERY, "--stream", str(file), "--bad-lines", str(elsewhere), "--until", "10000"])
    assert "nonsense" in elsewhere.read_text()


def test_invalid_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "latin.tnt"
    file.write_bytes(b'7\t<urn:a> <urn:b> "caf\xe9" .\n')
    assert fails(capsys, "run", "-q", QUERY, "--stream", str(file))[0] == DATA_ERROR
    query = tmp_path / "query.rq"
    query.write_bytes(b"SELECT \xff")
    assert fails(capsys, "run", "-f", str(query), "--stream", str(file))[0] == DATA_ERROR


def test_missing_files(tmp_path: Path, stream: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none.tnt")
    code, message = fails(capsys, "run", "-q", QUERY, "--stream", missing)
    assert (code, "none.tnt" in message) == (DATA_ERROR, True)
    assert fails(capsys, "run", "-q", QUERY, "--stream", str(stream), "--static", missing)[0] == DATA_ERROR
    assert fails(capsys, "run", "-f", str(tmp_path / "none.rq"), "--stream", str(stream))[0] == USAGE
    odd = tmp_path / "stream.xyz"
    odd.write_text(LINE)
    assert fails(capsys, "run", "-q", QUERY, "--stream", str(odd))[0] == DATA_ERROR


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", "-q", QUERY),
        ("run", "-q", QUERY, "--stream", "urn:other=x.tnt"),
        ("run", "-q", QUERY, "--placement", "moon"),
        ("run", "-q", QUERY, "--preset", "unknown", "--stream", "x.tnt"),
        ("run", "-q", QUERY, "--from", "5", "--until", "5", "--stream", "x.tnt"),
        ("nonsense",),
        ("run", "--nonsense"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    code, message = fails(capsys, *arguments)
    assert code == USAGE
    assert len(message.strip().splitlines()) == 1


def test_an_output_that_can_not_be_written(stream: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = fails(capsys, "run", "-q", QUERY, "--stream", str(stream), "-o", str(tmp_path / "no" / "out.json"))
    assert code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", "stream.tnt", "nowhere/out.trig"),
        ("convert", "stream.tnt", "nowhere/out.tnt"),
        ("convert", "stream.tnt", "stream.tnt/out"),
        ("run", "-q", QUERY, "--stream", "stream.tnt", "--bad-lines", "nowhere/bad"),
        ("run", "-q", QUERY, "--stream", "stream.tnt", "-o", "nowhere/out"),
        ("run", "-q", QUERY, "--stream", "stream.tnt", "--format", "csv", "-o", "stream.tnt/out/"),
    ],
)
def test_places_that_can_not_be_written(
    stream: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(stream.parent)
    code, message = fails(capsys, *arguments)
    assert code == 1
    assert len(message.splitlines()) == 1
    assert [file.name for file in stream.parent.iterdir()] == ["stream.tnt"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.trig", b":g { :a :b :c }", "line 1, column 1"),
        ("a.nq", b"<urn:a> <urn:b> <urn:c> <urn:g> .", "graph <urn:g>: no time"),
        ("a.ttl", b"<urn:a> <urn:b> <urn:c> .", "no time"),
        ("a.jsonld", b"{", "line 1"),
        ("a.ndjsonld", b"{}\n[1", "line 2"),
        ("a.jelly", b"not jelly", "expected a frame"),
        ("a.yabench", b"<urn:a> <urn:b> <urn:c> .", "line 1"),
        ("a.watdiv", b"a b c", "line 1"),
        ("m.trig", b'VERSION "1.2-messages"\n<urn:a> <urn:b> .', "message 1"),
        ("a.trig.gz", b"no gzip", "damaged"),
        ("a.jelly.zst", b"no zstd", "damaged"),
    ],
)
def test_broken_files_of_other_formats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, words: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    code, message = fails(capsys, "run", "-q", QUERY, "--stream", str(file))
    assert code == DATA_ERROR
    assert str(file) in message
    assert words in message
    assert len(message.splitlines()) == 1
