"""Engine made of a program with its own line format, by a description in TOML.

    python -m hydrograph_gauge.engines.described FILE.toml [FILES]

The description gives the start command, the line for each triple, and patterns for output lines: which are rows, and
which end an execution. `FILES` is the folder of files that the user supplies, such as the engine itself. A program runs
once for each query, each with a feed of its own, or once for all of them.
"""

from __future__ import annotations

import queue
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from hydrograph.algebra.queries import Dataset, Select
from hydrograph.errors import DataError, QueryError, RunError, UnsupportedError, UsageError
from hydrograph.language import DIALECTS, parse
from hydrograph.rdf.nquads import split_triple, term_text
from hydrograph.rdf.terms import Iri
from hydrograph.rdf.terms import Literal as RdfLiteral
from hydrograph.rdf.vocab import XSD_DECIMAL, XSD_INTEGER
from hydrograph_gauge.engines.adapter import AdapterError, ForeignQueryError, Replies, classify_refusal, serve
from hydrograph_gauge.engines.program_feed import ProgramFeed
from hydrograph_gauge.engines.protocol import Answer, Failed, Finished, Taken
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
    """A line after the triples of each element, with {stream}, {t} and {n}, its number; None: it is not told."""
    register_query: str | None = Field(default=None, alias="register")
    """Line for a query, if one process has them all, with {number}, its number, and the paths of the command."""
    unregister: str | None = None
    """Line to forget a query, with {number}."""
    end: str | None = None


class Output(_Part):
    """What the program writes, as regular expressions that whole lines match.

    Where one process has all queries, a group named `query` is the number of the query that a line is about. The other
    groups may have names as well: `terms`, `t`, `words`, `n` and `at`.
    """

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
    failed: str | None = None
    """Line for a query that has failed; its first group is the reason."""
    taken: str | None = None
    """Line for an element that the engine has taken, with groups `n` and `at`, its time in Unix milliseconds.

    None: an element counts as taken when it has been written to the program.
    """
    syntax: str | None = None
    """Found in the words of a refusal that is for the query's syntax."""
    unsupported: str | None = None
    """Found in the words of a refusal that is for something the program does not do."""

    @field_validator("row", "finished", "ready", "refused", "failed", "taken", "syntax", "unsupported")
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
    processes: Literal["each", "one"] = "each"
    """Whether each query has a process of its own, or one process has them all."""
    version: str | None = None
    """Version whose limits are known, see `version_limits`: what it cannot be asked is not asked."""
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
        return any("{graphs}" in part for part in (*self.command, self.input.register_query or ""))

    @model_validator(mode="after")
    def _is_consistent(self) -> Description:
        if self.processes == "each":
            return self
        if self.input.register_query is None or self.output.ready is None:
            raise ValueError("one process for all queries needs input.register and output.ready")
        for name in ("row", "finished", "ready", "refused", "failed"):
            text = getattr(self.output, name)
            if text is not None and "query" not in re.compile(text).groupindex:
                raise ValueError(f"one process for all queries needs a group (?P<query>…) in output.{name}")
        return self


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
    """Query and the program that has it."""

    feed: ProgramFeed
    number: int
    variables: tuple[str, ...]
    streams: frozenset[str]
    rows: list[dict[str, str]] = field(default_factory=list)
    failed: bool = False


class DescribedEngine:
    """Adapter of a described program, whose output is polled. Programs are fed independently of each other."""

    def __init__(self, description: Description, files: Path | None, folder: Path) -> None:
        """Start without queries."""
        self._description, self._files, self._folder = description, files, folder
        self._static = folder / "static.nt"
        self._static.touch()
        self._graphs: dict[str, Path] = {}
        self._running: dict[str, _Running] = {}
        self._shared: ProgramFeed | None = None
        self._early: list[Answer | Finished | Failed | Taken] = []
        self._number = 0
        self._sent = 0

    def load(self, file: str, graph: str | None) -> None:
        """Store static data for queries that are registered later, each graph in its own file."""
        if graph is None:
            target = self._static
        elif self._description.has_graphs:
            target = self._graphs.setdefault(graph, self._folder / f"graph{len(self._graphs)}.nt")
        else:
            raise AdapterError(
                f"{self._description.name} is described without named graphs such as <{graph}>: its command has no "
                "{graphs}"
            )
        with target.open("ab") as kept:
            kept.write(Path(file).read_bytes())

    def register(self, name: str, text: str) -> None:
        """Start the program with the query in a file, or give the file to the one that runs."""
        asked = _asked(text, self._description.dialect)
        self._number += 1
        file = self._folder / f"query{self._number}"
        file.write_text(text, "utf-8")
        places = _strings(
            {
                "query": file,
                "number": self._number,
                "static": self._default(asked.dataset),
                "graphs": self._named(asked.dataset),
                "files": self._files or "",
                "here": DESCRIPTIONS,
            }
        )
        register = self._description.input.register_query
        if self._description.processes == "each" or register is None:
            feed = self._start(places)
        else:
            feed = self._shared = self._shared or self._start(places)
            feed.put(register.format_map(places) + "\n")
        running = _Running(feed, self._number, asked.variables, asked.streams)
        self._running[name] = running
        try:
            self._wait(running)
        except (QueryError, RunError):
            self.unregister(name)
            raise

    def _start(self, places: Mapping[str, str]) -> ProgramFeed:
        return ProgramFeed([part.format_map(places) for part in self._description.command])

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
        """Wait until the query is registered, or raise QueryError. Lines about other queries are kept."""
        output = self._description.output
        if output.ready is None:
            return
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                line = running.feed.lines.get(timeout=_LOOK)
            except queue.Empty:
                if (code := running.feed.ended) is not None and running.feed.lines.empty():
                    raise RunError(f"{self._description.name} ended with {code}") from None
                continue
            if (found := re.fullmatch(output.ready, line)) and self._is_about(found, running):
                return
            if (
                output.refused is not None
                and (found := re.fullmatch(output.refused, line))
                and self._is_about(found, running)
            ):
                words = _group(found, "words", line) or ""
                raise ForeignQueryError(classify_refusal(words, output.syntax, output.unsupported), words)
            self._early += self._line(running.feed, line)
        raise AdapterError(f"{self._description.name} was not ready after {_PATIENCE:g} s")

    def _is_about(self, found: re.Match[str], running: _Running) -> bool:
        return self._description.processes == "each" or found["query"] == str(running.number)

    def unregister(self, name: str) -> None:
        """Forget a query; end its program, if it has one of its own."""
        if (running := self._running.pop(name, None)) is None:
            return
        if self._description.processes == "each":
            running.feed.kill()
        elif (line := self._description.input.unregister) is not None and not running.feed.fed:
            running.feed.put(line.format(number=running.number) + "\n")

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:
        """Let a line for each triple wait for the programs that read the stream."""
        given = self._description.input
        number, self._sent = self._sent, self._sent + 1
        lines = []
        for triple in triples:
            s, p, o = (text if given.terms == "n-triples" else _bare(text) for text in split_triple(triple))
            lines.append(given.triple.format(stream=stream, t=t, s=s, p=p, o=o) + "\n")
        if given.element is not None:
            lines.append(given.element.format(stream=stream, t=t, n=number) + "\n")
        text = "".join(lines)
        for feed in self._feeds(stream):
            feed.put(text, number)
        yield from self.tick()

    def _feeds(self, stream: str | None = None) -> list[ProgramFeed]:
        """Return the programs that read a stream; one that has all queries reads every stream."""
        if self._shared is not None:
            return [self._shared]
        return [each.feed for each in self._running.values() if stream is None or stream in each.streams]

    def end(self) -> Replies:
        """Close the input of the programs, and wait until they have read it and no more lines come."""
        feeds = self._feeds()
        for feed in feeds:
            if self._description.input.end is not None:
                feed.put(self._description.input.end + "\n")
            feed.close()
        last = time.monotonic()
        while time.monotonic() - last < self._description.settle:
            for reply in self.tick():
                last = time.monotonic()
                yield reply
            if not all(feed.fed for feed in feeds):
                last = time.monotonic()  # a slow program has not read everything yet
            if all(feed.ended is not None and feed.lines.empty() for feed in feeds):
                break
            time.sleep(_LOOK)
        yield from self.tick()

    def due(self) -> float | None:
        """Look for lines again soon."""
        return _LOOK

    def tick(self) -> Replies:
        """Return what the programs have written, what they have taken, and which of them have failed."""
        early, self._early = self._early, []
        yield from early
        for feed in dict.fromkeys(self._feeds()):
            while not feed.lines.empty():
                yield from self._line(feed, feed.lines.get())
        for name, running in self._running.items():
            yield from self._taken(name, running)
            code = running.feed.ended
            if code not in (None, 0) and not running.failed and running.feed.lines.empty():
                running.failed = True
                yield Failed(query=name, words=f"{self._description.name} ended with {code}")

    def _taken(self, name: str, running: _Running) -> Replies:
        """Acknowledge elements by the times at which they were written, if the program does not do so itself."""
        if self._description.output.taken is not None:
            return
        own = self._description.processes == "each"
        while not running.feed.written.empty():
            number, at = running.feed.written.get()
            yield Taken(n=number, at=(at,), query=name if own else None)

    def _line(self, feed: ProgramFeed, line: str) -> Replies:
        output = self._description.output
        if output.taken is not None and (found := re.fullmatch(output.taken, line)):
            own = next((name for name, each in self._running.items() if each.feed is feed), None)
            shared = self._description.processes == "one"
            yield Taken(n=int(found["n"]), at=(float(found["at"]),), query=None if shared else own)
        elif output.finished is not None and (found := re.fullmatch(output.finished, line)):
            for name, running in self._about(feed, found):
                rows, running.rows = tuple(running.rows), []
                t = _group(found, "t", None)
                yield Answer(query=name, rows=rows, t=None if t is None else int(t))
                yield Finished(query=name)
        elif output.failed is not None and (found := re.fullmatch(output.failed, line)):
            for name, running in self._about(feed, found):
                running.failed = True
                yield Failed(query=name, words=_group(found, "words", line) or "")
        elif found := re.fullmatch(output.row, line):
            for name, running in self._about(feed, found):
                running.rows.append(_row(_group(found, "terms", line) or "", running.variables, output))
                if output.finished is None:
                    yield Answer(query=name, rows=(running.rows.pop(),))
                    yield Finished(query=name)
        # Other lines are messages of the program.

    def _about(self, feed: ProgramFeed, found: re.Match[str]) -> list[tuple[str, _Running]]:
        """Return the query that a line is about; none if it has been forgotten."""
        return [
            (name, running)
            for name, running in self._running.items()
            if running.feed is feed and self._is_about(found, running)
        ]


def _group(found: re.Match[str], name: str, otherwise: str | None) -> str | None:
    """Return a group by its name, or the first one of a pattern without names, or something else without groups."""
    if name in found.re.groupindex:
        return found[name]
    return found[1] if found.re.groups and not found.re.groupindex else otherwise


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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="described-") as made:
        supplied = Path(sys.argv[2]) if len(sys.argv) > 2 else None
        serve(DescribedEngine(read_description(Path(sys.argv[1])), supplied, Path(made)), acknowledge=False)
