"""Public API: queries, the data to run them over, and their reports.

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
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import UsageError
from hydrograph.language import dialect_of, parse
from hydrograph.live.driver.batch_loop import UnitCallback
from hydrograph.live.query import LiveQuery
from hydrograph.live.settings import Driver, ProgressTracking, Settings
from hydrograph.live.sources.push import LiveStream
from hydrograph.live.step.records import Lateness, ResultUnit
from hydrograph.rdf.encoding import salt_of
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.plan import plan
from hydrograph.runtime.replay.replay import Data
from hydrograph.runtime.replay.run import Options, Run
from hydrograph.runtime.reports import Report
from hydrograph.streams.sources import BadLines, RecordedStream, open_stream
from hydrograph.streams.static_graphs import Given, load_graphs
from hydrograph.temporal import Duration, Instant
from hydrograph.windows.profile import Profile, ProfileOverrides
from hydrograph.windows.profile import preset as profile_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "LiveQuery",
    "LiveStream",
    "ProfileOverrides",
    "Query",
    "Report",
    "ResultUnit",
    "Run",
    "events",
    "query",
    "stream",
]

Location = str | Path
Streams = Mapping[str, Location | RecordedStream] | Location | RecordedStream
LiveUrls = Mapping[str, str] | Sequence[tuple[str, str]]
Static: TypeAlias = Given


class LiveOptions(TypedDict, total=False):
    """Options of a live query; each has a default."""

    results: str | Path | None
    """Directory or URL that gets every report exactly once."""
    lateness: Duration
    """Milliseconds to wait for late elements; 0 by default."""
    idle: float | None
    """Seconds of silence after which a stream is not waited for; by default it always is."""
    max_ahead: Duration | None
    """Milliseconds into the future beyond which elements are held back; by default none are."""
    bad: str
    """Treatment of elements that cannot be parsed: `skip` (default) counts them, `fail` ends the query."""
    sync: bool
    """True flushes each write to the disk, which survives a power failure."""
    placement: str
    """`auto` (default), `local` or `spark`."""
    driver: str
    """`loop` (default), or `spark`: Structured Streaming reads the sources and calls the query."""
    progress: str
    """`async` (default): Spark commits its own progress after the batches; `sync`: with each."""
    master: str | None
    """Spark's master."""
    memory: str | None
    """Memory of Spark's driver, such as `4g`."""
    session: SparkSession | None
    """A Spark session to use; it is left open."""


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
        streams: LiveUrls,
        static: Static | None = None,
        *,
        checkpoint: str | Path,
        on_unit: UnitCallback | None = None,
        t0: Instant | None = None,
        **options: Unpack[LiveOptions],
    ) -> LiveQuery:
        """Bind unbounded streams to the query; the result can be started, watched and stopped.

        `streams` are URLs by the IRIs of streams: `push:` for one that `send` fills, `-`, `tcp://host:port`,
        `tail:GLOB`, or a growing directory. A later start resumes from the `checkpoint`. `on_unit` is called with each
        report; after a crash it may get the last ones again.
        """
        pairs = streams.items() if isinstance(streams, Mapping) else streams
        return LiveQuery(
            plan(self.algebra, self.profile, t0),
            self.algebra.name or "query",
            [(Iri(name), url) for name, url in pairs],
            load_graphs(static),
            _live_settings(checkpoint, options),
            () if on_unit is None else (on_unit,),
        )

    def start(self, streams: LiveUrls, static: Static | None = None, **settings: Any) -> LiveQuery:
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


def _live_settings(checkpoint: str | Path, options: LiveOptions) -> Settings:
    """Return the settings of a live query; raise TypeError for an unknown option."""
    values: dict[str, Any] = dict(options)
    lateness = Lateness(delay=values.pop("lateness", 0), max_ahead=values.pop("max_ahead", None))
    results = values.pop("results", None)
    return Settings(
        checkpoint=str(checkpoint),
        results=None if results is None else str(results),
        lateness=lateness,
        idle_after=values.pop("idle", None),
        placement=_placement(values.pop("placement", "auto")),
        driver=Driver(values.pop("driver", Driver.LOOP)),
        progress=ProgressTracking(values.pop("progress", ProgressTracking.ASYNC)),
        **values,
    )


def _placement(name: str) -> PlacementChoice:
    try:
        return PlacementChoice(name)
    except ValueError:
        raise UsageError(f"no placement named {name!r}; placements: {', '.join(PlacementChoice)}") from None
