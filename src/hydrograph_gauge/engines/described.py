"""Engine made of a program with its own line format, by a description in TOML.

    python -m hydrograph_gauge.engines.described FILE.toml [FILES]

The description gives the start command, the line for each triple, and patterns for output lines: which are rows, and
which end an execution. `FILES` is the folder of files that the user supplies, such as the engine itself.
"""

from __future__ import annotations

import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from hydrograph.algebra.queries import Dataset, Select
from hydrograph.errors import DataError, QueryError, RunError, UnsupportedError, UsageError
from hydrograph.language import DIALECTS, parse
from hydrograph.rdf.nquads import split_triple, term_text
from hydrograph.rdf.terms import Iri
from hydrograph.rdf.terms import Literal as RdfLiteral
from hydrograph.rdf.vocab import XSD_DECIMAL, XSD_INTEGER
from hydrograph_gauge.engines.adapter import ForeignQueryError, Replies, classify_refusal, serve
from hydrograph_gauge.engines.protocol import Answer, Finished
from hydrograph_gauge.validation import find_invalid_field

DESCRIPTIONS = Path(__file__).with_name("descriptions")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Input(_Part):
    """What the program reads: a line for each triple, with {stream}, {t}, {s}, {p}, {o}; one for the end, if any."""

    triple: str
    terms: Literal["n-triples", "bare"] = "n-triples"
    """How terms are written: as in N-Triples, or IRIs and texts as they are."""
    element: str | None = None
    """A line after the triples of each element, with {stream} and {t}; None: the program is not told where one ends."""
    end: str | None = None


class Output(_Part):
    """What the program writes, as regular expressions that whole lines match."""

    row: str
    """A row; its first group holds the terms, in the order of SELECT."""
    separator: str = "\t"
    terms: Literal["n-triples", "bare"] = "n-triples"
    finished: str | None = None
    """The end of an execution, its first group the time of the report where it has one; None: each row is one."""
    ready: str | None = None
    """Line for a registered query; None: it is registered once the program runs."""
    refused: str | None = None
    """Line for a refused query; its first group is the reason."""
    syntax: str | None = None
    """Found in the words of a refusal that is for the query's syntax."""
    unsupported: str | None = None
    """Found in the words of a refusal that is for something the program does not do."""

    @field_validator("row", "finished", "ready", "refused", "syntax", "unsupported")
    @classmethod
    def _is_regular(cls, text: str | None) -> str | None:
        if text is not None:
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(f"no regular expression: {error}") from None
        return text


class Description(_Part):
    """A program as an engine.

    In its command, {query} and {static} are paths, {graphs} is that of a file with a line for each static graph that
    the query may name (its IRI, a tab, its path), {files} that of what the user supplies, {here} that of descriptions.
    """

    name: str
    command: tuple[str, ...] = Field(min_length=1)
    dialect: str = "rspql"
    profile: str = "rspql"
    by_clock: bool = False
    eager: bool = False
    needs: tuple[str, ...] = ()
    """Patterns of files that must lie in FILES."""
    programs: tuple[str, ...] = ()
    """Programs that must be there; none of them comes with Hydrograph."""
    versions: Mapping[str, tuple[str, ...]] = {}
    """Commands that print the version of a part in their first line, by the part's name."""
    settle: float = 2.0
    """Seconds without a line after which nothing more is expected at the end."""
    input: Input
    output: Output

    @property
    def announces(self) -> bool:
        """Whether the program announces the end of each execution, with or without rows."""
        return self.output.finished is not None

    @property
    def has_graphs(self) -> bool:
        """Whether the program is told the names of static graphs."""
        return any("{graphs}" in part for part in self.command)


def read_description(file: Path) -> Description:
    """Return a description, or raise UsageError with its first error."""
    try:
        return Description.model_validate(tomllib.loads(file.read_text("utf-8")))
    except FileNotFoundError:
        shipped = ", ".join(sorted(each.stem for each in DESCRIPTIONS.glob("*.toml")))
        raise UsageError(f"{file}: no such description; shipped are {shipped}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: no TOML: {error}") from None
    except ValidationError as error:
        raise UsageError(f"{file}: {find_invalid_field(error)}") from None


_PATIENCE = 120.0  # seconds for a program to become ready
_LOOK = 0.02


def described_command(file: Path, files: Path | None) -> list[str]:
    """Return how a described program is started; raise RunError where something that the user supplies is missing."""
    description = read_description(file)
    for pattern in description.needs:
        if files is None or not any(files.glob(pattern)):
            where = "no folder was given" if files is None else f"{files} holds none"
            raise RunError(f"{description.name} needs files that do not come with Hydrograph, {pattern}: {where}")
    if absent := [program for program in description.programs if shutil.which(program) is None]:
        raise RunError(f"{description.name} needs a program that does not come with Hydrograph: install {absent[0]}")
    module = "hydrograph_gauge.engines.described"
    return [sys.executable, "-m", module, str(file), *([] if files is None else [str(files)])]


@dataclass(slots=True)
class _Running:
    """The program of one query."""

    process: subprocess.Popen[str]
    variables: tuple[str, ...]
    streams: frozenset[str]
    lines: queue.SimpleQueue[str]
    rows: list[dict[str, str]] = field(default_factory=list)


class DescribedEngine:
    """Adapter with one process for each query; their output is polled."""

    def __init__(self, description: Description, files: Path | None, folder: Path) -> None:
        """Start without queries."""
        self._description, self._files, self._folder = description, files, folder
        self._static = folder / "static.nt"
        self._static.touch()
        self._graphs: dict[str, Path] = {}
        self._running: dict[str, _Running] = {}
        self._number = 0

    def load(self, file: str, graph: str | None) -> None:
        """Store static data for programs that are started later, each graph in its own file."""
        if graph is None:
            target = self._static
        elif self._description.has_graphs:
            target = self._graphs.setdefault(graph, self._folder / f"graph{len(self._graphs)}.nt")
        else:
            raise RunError(
                f"{self._description.name} is described without named graphs such as <{graph}>: its command has no "
                "{graphs}"
            )
        with target.open("ab") as kept:
            kept.write(Path(file).read_bytes())

    def register(self, name: str, text: str) -> None:
        """Start the program with the query in a file."""
        asked = _asked(text, self._description.dialect)
        self._number += 1
        file = self._folder / f"query{self._number}"
        file.write_text(text, "utf-8")
        places = {
            "query": file,
            "static": self._default(asked.dataset),
            "graphs": self._named(asked.dataset),
            "files": self._files or "",
            "here": DESCRIPTIONS,
        }
        command = [part.format_map(_strings(places)) for part in self._description.command]
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        except OSError as error:
            raise RunError(f"cannot start {command[0]}: {error.strerror}") from None
        assert process.stdout is not None
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
        running = _Running(process, asked.variables, asked.streams, lines)
        self._running[name] = running
        try:
            self._wait(running)
        except (QueryError, RunError):
            self.unregister(name)
            raise

    def _graph(self, name: str) -> Path:
        """Return the data of a graph that a query names: where none has that name, it means the default data."""
        return self._graphs.get(name, self._static)

    def _default(self, dataset: Dataset) -> Path:
        """Return the file of a query's default graph: the graphs of its FROM together, the default data without one."""
        places = list(dict.fromkeys(self._graph(name.value) for name in dataset.default)) or [self._static]
        if len(places) == 1:
            return places[0]
        target = self._folder / f"static{self._number}.nt"
        target.write_bytes(b"".join(place.read_bytes() for place in places))
        return target

    def _named(self, dataset: Dataset) -> Path:
        """Return a file with the paths of the graphs: those that were loaded, and others that the query names."""
        places = self._graphs | {each.value: self._graph(each.value) for each in (*dataset.default, *dataset.named)}
        target = self._folder / f"graphs{self._number}"
        target.write_text("".join(f"{name}\t{place}\n" for name, place in places.items()), "utf-8")
        return target

    def _wait(self, running: _Running) -> None:
        """Wait until the query is registered, or raise QueryError."""
        output = self._description.output
        if output.ready is None:
            return
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                line = running.lines.get(timeout=_LOOK)
            except queue.Empty:
                if running.process.poll() is not None:
                    raise RunError(f"{self._description.name} ended with {running.process.returncode}") from None
                continue
            if re.fullmatch(output.ready, line):
                return
            if output.refused is not None and (found := re.fullmatch(output.refused, line)):
                words = found[1] if found.groups() else line
                raise ForeignQueryError(classify_refusal(words, output.syntax, output.unsupported), words)
        raise RunError(f"{self._description.name} was not ready after {_PATIENCE:g} s")

    def unregister(self, name: str) -> None:
        """End a program."""
        if (running := self._running.pop(name, None)) is not None:
            running.process.kill()
            running.process.wait()

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:
        """Write a line for each triple to the programs that read the stream."""
        given = self._description.input
        lines = []
        for triple in triples:
            s, p, o = (text if given.terms == "n-triples" else _bare(text) for text in split_triple(triple))
            lines.append(given.triple.format(stream=stream, t=t, s=s, p=p, o=o) + "\n")
        if given.element is not None:
            lines.append(given.element.format(stream=stream, t=t) + "\n")
        for running in self._running.values():
            if stream in running.streams:
                self._write(running, "".join(lines))
        return self.tick()

    def _write(self, running: _Running, text: str) -> None:
        assert running.process.stdin is not None
        try:
            running.process.stdin.write(text)
            running.process.stdin.flush()
        except BrokenPipeError:
            raise RunError(f"{self._description.name} ended with {running.process.wait()}") from None

    def end(self) -> Replies:
        """Say that all is sent, and wait until no more lines come."""
        for running in self._running.values():
            if self._description.input.end is not None:
                self._write(running, self._description.input.end + "\n")
            assert running.process.stdin is not None
            running.process.stdin.close()
        last = time.monotonic()
        while time.monotonic() - last < self._description.settle:
            for answer in self.tick():
                last = time.monotonic()
                yield answer
            if all(r.process.poll() is not None and r.lines.empty() for r in self._running.values()):
                break
            time.sleep(_LOOK)
        yield from self.tick()

    def due(self) -> float | None:
        """Look for lines again soon."""
        return _LOOK

    def tick(self) -> Replies:
        """Say what the programs have written."""
        for name, running in self._running.items():
            while not running.lines.empty():
                yield from self._line(name, running, running.lines.get())

    def _line(self, name: str, running: _Running, line: str) -> Replies:
        output = self._description.output
        if output.finished is not None and (found := re.fullmatch(output.finished, line)):
            rows, running.rows = tuple(running.rows), []
            t = int(found[1]) if found.groups() and found[1] is not None else None
            yield Answer(query=name, rows=rows, t=t)
            yield Finished(query=name)
        elif found := re.fullmatch(output.row, line):
            running.rows.append(_row(found[1] if found.groups() else line, running.variables, output))
            if output.finished is None:
                yield Answer(query=name, rows=(running.rows.pop(),))
                yield Finished(query=name)
        # Other lines are the program's own talk.


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a query asks for, and of what."""

    variables: tuple[str, ...]
    streams: frozenset[str]
    dataset: Dataset = field(default_factory=Dataset)


_HEADING = re.compile(r"\W*variables:((?: +\w+)*) +streams:((?: +<[^>]*>)*)\s*")


def _asked(text: str, dialect: str) -> _Asked:
    """Return the form of a query; its first line gives it if the language is not one of ours."""
    heading = _HEADING.fullmatch(text.partition("\n")[0])
    if heading is not None:
        return _Asked(tuple(heading[1].split()), frozenset(stream[1:-1] for stream in heading[2].split()))
    if dialect not in DIALECTS:
        raise QueryError("expected a first line such as `% variables: a b streams: <urn:s>`")
    query = parse(text, dialect)
    if not isinstance(query.form, Select):
        raise UnsupportedError("only SELECT is described")
    names = tuple(variable.name for variable in query.form.variables)
    return _Asked(names, frozenset(window.stream.value for window in query.windows), query.dataset)


def _row(text: str, variables: Sequence[str], output: Output) -> dict[str, str]:
    parts = text.split(output.separator)
    if len(parts) != len(variables):
        raise DataError(f"expected {len(variables)} terms in a row, got {len(parts)}: {text[:80]!r}")
    named = zip(variables, parts, strict=True)
    return {name: part if output.terms == "n-triples" else _term(part) for name, part in named if part}


def _bare(text: str) -> str:
    """Return a term without marks: the IRI, or the text of a literal."""
    return text[1:-1] if text.startswith("<") else text[1 : text.rindex('"')] if text.startswith('"') else text


def _term(text: str) -> str:
    """Return the term that a bare text most likely is.

    >>> _term("http://ex.org/a"), _term("12"), _term("red")
    ('<http://ex.org/a>', '"12"^^<http://www.w3.org/2001/XMLSchema#integer>', '"red"')
    """
    if re.fullmatch(r"[a-zA-Z][a-zA-Z0-9+.-]*:[^\s<>\"]+", text):
        return term_text(Iri(text))
    if re.fullmatch(r"[+-]?\d+", text):
        return term_text(RdfLiteral(text, XSD_INTEGER))
    if re.fullmatch(r"[+-]?\d*\.\d+", text):
        return term_text(RdfLiteral(text, XSD_DECIMAL))
    return term_text(RdfLiteral(text))


def _strings(places: Mapping[str, object]) -> dict[str, str]:
    return {name: str(place) for name, place in places.items()}


def _read(source: IO[str], lines: queue.SimpleQueue[str]) -> None:
    for line in source:
        lines.put(line.rstrip("\r\n"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="described-") as made:
        supplied = Path(sys.argv[2]) if len(sys.argv) > 2 else None
        serve(DescribedEngine(read_description(Path(sys.argv[1])), supplied, Path(made)))
