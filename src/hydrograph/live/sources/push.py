"""Streams that a program fills: `push:`. `LiveStream.send` returns once an element is durable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from hydrograph.errors import DataError, UsageError
from hydrograph.live.sources.logged import LoggedPartition
from hydrograph.live.sources.source import PartitionSpec, SinglePartitionSource
from hydrograph.live.sources.validate_rows import check_rows
from hydrograph.live.step.records import Partition
from hydrograph.rdf.nquads import split_triple, term_text
from hydrograph.rdf.terms import Triple
from hydrograph.streams.event_time import Texts
from hydrograph.streams.schema import EVENTS, check_limits
from hydrograph.temporal import Instant


class PushSource(SinglePartitionSource):
    """A stream that this program fills."""

    def open(self, partition: PartitionSpec) -> PushPartition:
        """Return the reader."""
        return PushPartition(partition)


class PushPartition(LoggedPartition):
    """A partition that is filled through a handle instead of by a thread."""

    def push_stream(self, name: Partition) -> LiveStream:
        """Return the handle."""
        return LiveStream(name, self)


@dataclass(frozen=True, slots=True)
class LiveStream:
    """Handle for pushing elements into a stream; any thread may use it."""

    name: str
    source: LoggedPartition

    def send(self, what: Instant | str | bytes, *triples: str | Triple) -> None:
        """Send one element: triples, as lines of N-Triples or as records, that happened at an instant.

        A text, or bytes, holds whole elements with their times instead, in the format that the stream was given with
        (`push:?format=trig`; timed N-Triples without); if one of them is broken, none is sent.

        When this returns the elements are durable, and will be part of the answers. After an error they may or may
        not be: with FencedError another driver has taken over, and may have read them.
        """
        if isinstance(what, int) and not isinstance(what, bool):
            if not -(2**63) <= what < 2**63:
                raise DataError(f"expected an event time of at most 64 bits, in milliseconds, got {what}")
            self.source.send(what, [_texts(triple) for triple in triples])
        elif triples:
            raise UsageError(
                "expected a text of whole elements alone, or an instant and triples; "
                f"got {'a text' if isinstance(what, str | bytes) else repr(what)} and triples"
            )
        else:
            self.source.send_payload(_utf8(what))

    def send_table(self, events: pa.Table) -> None:
        """Send encoded rows, as `hydrograph convert` writes them; rows with one `seq` are one element.

        Raise DataError with the number of the first invalid row, and send nothing then.
        """
        if events.schema.names != EVENTS.names:
            raise DataError(f"expected the columns {', '.join(EVENTS.names)}, got {', '.join(events.schema.names)}")
        self.source.send_table(check_rows(events))

    def send_lines(self, lines: Iterable[str]) -> None:
        """Send lines of timed N-Triples; broken ones are counted and left out.

        When this returns all elements are in the log, the last one too: what follows in another call is another
        element, so that all lines of one, `ms:n`, have to be given in one call.
        """
        text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        # A line with half of a surrogate pair is broken, and no more.
        self.source.send_lines(text.encode("utf-8", "surrogatepass"))

    def end(self) -> None:
        """Say that nothing follows: all windows close."""
        self.source.take_rest()
        self.source.finish()


def _texts(triple: str | Triple) -> Texts:
    if isinstance(triple, str):
        texts = split_triple(triple.strip())
    else:  # a record may hold anything
        texts = split_triple(f"{term_text(triple.subject)} {term_text(triple.predicate)} {term_text(triple.object)} .")
    check_limits(*texts)
    return texts


def _utf8(what: object) -> bytes:
    if isinstance(what, bytes):
        return what
    if not isinstance(what, str):
        raise UsageError(f"expected a text or bytes of whole elements, or an instant and triples; got {what!r}")
    try:
        return what.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"character {error.start + 1}: expected text that UTF-8 can hold, got half of a surrogate pair"
        ) from None
