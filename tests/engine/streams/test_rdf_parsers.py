"""What a parser complains of is said as an error in the data."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import IO, cast

import pyoxigraph as ox
import pytest

from hydrograph.errors import DataError
from hydrograph.streams.rdf_parsers import BUFFER, JSON_LD, TRIG, TURTLE, Complaints, quads
from hydrograph.streams.static_graphs import read_static

TOO_LONG = "expected terms of at most 16 MiB, got a longer one"


class Endless(io.RawIOBase):
    """A beginning, and then the same for ever."""

    def __init__(self, beginning: bytes) -> None:
        """Begin."""
        self.beginning = beginning
        self.given = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data, self.beginning = self.beginning or b"x" * size, b""
        self.given += len(data)
        return data


@pytest.mark.parametrize("syntax", [TURTLE, TRIG, JSON_LD])
@pytest.mark.parametrize("quote", ['"', "<"])
def test_a_term_without_end_is_an_error_in_the_data(syntax: ox.RdfFormat, quote: str) -> None:
    beginning = b'{"@id":"' if syntax == JSON_LD else f"<urn:a> <urn:b> {quote}urn:".encode()
    endless = Endless(beginning)
    with pytest.raises(DataError, match=TOO_LONG):
        list(quads(cast("IO[bytes]", endless), syntax))
    assert endless.given < 2 * BUFFER


def test_a_file_with_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "g.ttl"
    file.write_bytes(b'<urn:a> <urn:b> """' + b"x" * BUFFER + b'""" .')
    with pytest.raises(DataError, match=re.escape(f"{file}: {TOO_LONG}")):
        read_static(str(file))


def test_a_lack_of_memory_is_no_error_in_the_data() -> None:
    with pytest.raises(MemoryError), Complaints():
        raise MemoryError
