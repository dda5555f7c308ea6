"""What `import hydrograph` offers: a query, data to run it over, and the answers in the form you like.

>>> text = '''
... PREFIX : <http://example.org/>
... SELECT ?room FROM NAMED WINDOW :w ON :visits [RANGE 10s STEP 10s]
... WHERE { WINDOW :w { :ann :detectedAt ?room . :bob :detectedAt ?room } }'''
>>> visits = [(1000, ":ann :detectedAt :red"), (3000, ":bob :detectedAt :red")]
>>> lines = [(t, " ".join(f"<http://example.org/{x[1:]}>" for x in s.split()) + " .") for t, s in visits]
>>> with query(text).over(streams={"http://example.org/visits": events(lines)}) as run:
...     [(report.open, report.close, report.rows) for report in run.reports()]
[(0, 10000, (('<http://example.org/red>',),))]
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import UsageError
from hydrograph.language import dialect_of, parse
from hydrograph.live.driver.batch_loop import UnitCallback
from hydrograph.live.query import LiveQuery
from hydrograph.live.settings import Driver, ProgressTracking, Settings
from hydrograph.live.step.watermark import Lateness
from hydrograph.rdf.encoding import salt_of
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.plan import plan
from hydrograph.runtime.replay.replay import Data
from hydrograph.runtime.replay.run import Options, Run
from hydrograph.streams.sources import BadLines, RecordedStream, open_stream
from hydrograph.streams.static_graphs import Given, load_graphs
from hydrograph.temporal import Duration, Instant
from hydrograph.windows.profile import Profile, ProfileOverrides
from hydrograph.windows.profile import preset as profile_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ProfileOverrides", "Query", "events", "query", "stream"]

Location = str | Path
Streams = Mapping[str, Location | RecordedStream] | Location | RecordedStream
Static: TypeAlias = Given


@dataclass(frozen=True, slots=True)
class Query:
    """A continuous query, parsed and checked; it can be run over any data."""

    algebra: ContinuousQuery
    profile: Profile

    def over(
        self,
        streams: Streams,
        static: Static | None = None,
        *,
        t0: Instant | None = None,
        after: Instant | None = None,
        until: Instant | None = None,
        placement: str = "auto",
        session: SparkSession | None = None,
        master: str | None = None,
        memory: str | None = None,
    ) -> Run:
        """Bind data to the query; the run is a context manager that gives reports, a DataFrame or pandas.

        `streams` maps IRIs to files, or is one file where the query reads one stream. `static` is a file with the
        default graph, and named ones if it is TriG or N-Quads, or maps the IRIs of named graphs to files, None to
        that of the default graph. Reports are those in `(after, until]`. A given `session`, or else the active one,
        is used and left as it is.
        """
        options = Options(
            placement=_placement(placement),
            after=after,
            until=until,
            master=master,
            memory=memory,
            session=session,
        )
        data = Data(self._streams(streams), load_graphs(static))
        return Run(plan(self.algebra, self.profile, t0), data, options)

    def live(
        self,
        streams: Mapping[str, str] | Sequence[tuple[str, str]],
        static: Static | None = None,
        *,
        checkpoint: str | Path,
        results: str | Path | None = None,
        lateness: Duration = 0,
        idle: float | None = None,
        max_ahead: Duration | None = None,
        on_unit: UnitCallback | None = None,
        t0: Instant | None = None,
        bad: str = "skip",
        sync: bool = False,
        placement: str = "auto",
        driver: str = "loop",
        progress: str = "async",
        master: str | None = None,
        memory: str | None = None,
        session: SparkSession | None = None,
    ) -> LiveQuery:
        """Bind unbounded streams to the query; what comes back can be started, watched and stopped.

        `streams` are URLs by the IRIs of streams: `push:` for one that `send` fills, `-`, `tcp://host:port`, or a
        growing directory. A later start resumes from the `checkpoint`; `results` gets every unit exactly
        once, and `on_unit` too, except that it may get the last ones again after a crash. `lateness` is how many
        milliseconds late elements still count, `idle` after how many seconds a silent stream is not waited for, and
        times more than `max_ahead` milliseconds in the future are held back. With the `driver` spark, or the placement
        spark, Structured Streaming reads the sources and calls the query; with the `progress` sync it writes down each
        batch of its own before the next, and not behind.
        """
        pairs = streams.items() if isinstance(streams, Mapping) else streams
        settings = Settings(
            checkpoint=str(checkpoint),
            results=None if results is None else str(results),
            lateness=Lateness(delay=lateness, max_ahead=max_ahead),
            idle_after=idle,
            bad=bad,
            sync=sync,
            placement=_placement(placement),
            driver=Driver(driver),
            progress=ProgressTracking(progress),
            master=master,
            memory=memory,
            session=session,
        )
        return LiveQuery(
            plan(self.algebra, self.profile, t0),
            self.algebra.name or "query",
            [(Iri(name), url) for name, url in pairs],
            load_graphs(static),
            settings,
            () if on_unit is None else (on_unit,),
        )

    def start(
        self, streams: Mapping[str, str] | Sequence[tuple[str, str]], static: Static | None = None, **settings: Any
    ) -> LiveQuery:
        """Start the query on unbounded streams, see `live`; it is ready to answer when this returns."""
        return self.live(streams, static, **settings).start()

    def _streams(self, streams: Streams) -> dict[Iri, RecordedStream]:
        named = list(dict.fromkeys(window.stream for window in self.algebra.windows))
        if not isinstance(streams, Mapping):
            if len(named) != 1:
                names = ", ".join(f"<{name.value}>" for name in named) or "none"
                raise UsageError(f"the query reads {len(named)} streams ({names}): give each its own data")
            return {named[0]: _stream(streams, named[0].value)}
        return {Iri(name): _stream(location, name) for name, location in streams.items()}


def query(
    text: str,
    *,
    dialect: str | None = None,
    preset: str | None = None,
    overrides: ProfileOverrides | None = None,
) -> Query:
    """Parse a query; `preset` names the engine whose profile (report, tick, t0) applies, by default its dialect's.

    `overrides` replaces parts of it: `ProfileOverrides(report=When.CONTENT_CHANGE, expiry=True)`.
    """
    profile = profile_of(dialect_of(text, dialect).preset if preset is None else preset)
    return Query(parse(text, dialect), profile if overrides is None else profile.with_overrides(overrides))


def stream(
    location: Location,
    *,
    time: str | None = None,
    format: str | None = None,  # noqa: A002
    bad_lines: str = "fail",
) -> RecordedStream:
    """Return the recorded stream at a location, where its name alone does not tell how to read it.

    `time` is the property that holds the time of an element, or `name` for the names of the files; `format` one of
    those that `hydrograph convert --help` lists; `bad_lines` is `fail`, `skip` or the file to which broken input goes.
    """
    return open_stream(str(location), bad_lines=BadLines.read(bad_lines), format=format, time=time)


def events(lines: Iterable[tuple[Instant, str]]) -> RecordedStream:
    """Return a small stream written down in Python: event times and N-Triples statements."""
    with tempfile.NamedTemporaryFile("w", suffix=".tnt", prefix="hydrograph-", delete=False, encoding="utf-8") as file:
        file.writelines(f"{t}\t{statement}\n" for t, statement in lines)
    return open_stream(file.name)


def _stream(location: Location | RecordedStream, name: str) -> RecordedStream:
    if not isinstance(location, RecordedStream):
        return open_stream(str(location), name=name)
    if location.name or location.manifest is not None:
        return location
    return replace(location, name=name, salt=salt_of(name))  # its blank nodes are not those of other streams


def _placement(name: str) -> PlacementChoice:
    try:
        return PlacementChoice(name)
    except ValueError:
        raise UsageError(f"no placement named {name!r}; placements: {', '.join(PlacementChoice)}") from None
