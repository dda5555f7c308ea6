"""Text forms: lines in the order of the original generators, in words that other tools read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox

from hydrograph.streams.formats.parquet import Manifest
from hydrograph_gauge.worlds import stream_files as texts
from hydrograph_gauge.worlds.social.triples import DBP, DC, NAMES, PREFIXES, SIB, SIOC, SIOCT, TYPE
from hydrograph_gauge.worlds.world import ElementLine, StreamPlan

FIRST = f"<{NAMES['post']}700003>"
SECOND = f"<{NAMES['comment']}1>"
ALBUM = f"<{NAMES['album']}9>"
ROWS = [
    (5, 1, FIRST, f"<{SIB}hashtag>", '"it\'s a \\"tag\\"^^<http://www.w3.org/2001/XMLSchema#date>"'),
    (5, 1, FIRST, f"<{TYPE}>", f"<{SIOC}Post>"),
    (5, 1, FIRST, f"<{TYPE}>", f"<{SIB}Post>"),
    (5, 1, FIRST, f"<{DC}created>", '"2010-02-01T00:00:05Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'),
    (5, 2, SECOND, f"<{SIOC}reply_of>", FIRST),
    (4, 0, ALBUM, f"<{TYPE}>", f"<{SIOCT}ImageGallery>"),
    (6, 3, f"<{NAMES['person']}1>", f"<{SIB}based>", f"<{DBP}United_States>"),
    (6, 4, f"<{NAMES['person']}2>", f"<{SIB}based>", f"<{DBP}Saint-Pierre>"),
]
ORDER = (
    ElementLine(f"<{TYPE}>", f"<{SIB}"),
    ElementLine(f"<{TYPE}>"),
    ElementLine(f"<{DC}created>"),
    ElementLine(f"<{SIB}hashtag>"),
)

MANIFEST = Manifest(
    version=1, rows=8, elements=5, first=4, last=6, blanks=False, kinds=(0,), t_next=True, salt="",
    files=("part.parquet",),
)  # fmt: skip


def place_of(tmp_path: Path) -> Path:
    place = tmp_path / "posts"
    place.mkdir()
    columns = dict(zip(("t", "seq", "s", "p", "o"), map(list, zip(*ROWS, strict=True)), strict=True))
    pq.write_table(pa.table(columns), place / "part.parquet")
    return place


def test_lines_without_an_order_of_their_own_are_sorted(tmp_path: Path) -> None:
    nothing: Any = None
    stream = StreamPlan(name="posts", iri="urn:posts", elements=nothing, expand=nothing)
    texts.write_stream("watdiv", stream, place_of(tmp_path), MANIFEST, tmp_path)
    lines = (tmp_path / "posts.txt").read_text("utf-8").splitlines()
    assert [line.split("\t")[3] for line in lines] == ["4", "5", "5", "5", "5", "5", "6", "6"]
    assert lines[1:5] == sorted(lines[1:5])


def test_s2gens_turtle_is_a_triple_in_a_line_in_the_order_of_time(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    nothing: Any = None
    stream = StreamPlan(name="posts", iri="urn:posts", elements=nothing, expand=nothing, order=ORDER)
    assert texts.write_stream("s2gen", stream, place, MANIFEST, tmp_path) == "posts.ttl"
    text = (tmp_path / "posts.ttl").read_text("utf-8")
    lines = text.splitlines()
    assert len(PREFIXES) == 23
    assert lines[:23] == [f"@prefix {name}: <{space}> ." for name, space in PREFIXES.items()]
    assert lines[23:] == [
        "sibpha:pa9 rdf:type sioct:ImageGallery .",
        "sibpo:po700003 a sib:Post .",
        "sibpo:po700003 a sioc:Post .",
        'sibpo:po700003 dc:created "2010-02-01T00:00:05Z"^^xsd:dateTime .',
        'sibpo:po700003 sib:hashtag "it\'s a \\"tag\\"^^<http://www.w3.org/2001/XMLSchema#date>" .',
        "sibc:co1 sioc:reply_of sibpo:po700003 .",
        "sibp:p1 sib:based dbp:United_States .",
        f"sibp:p2 sib:based <{DBP}Saint-Pierre> .",
    ]
    plain = "".join(f"{s} {p} {o} .\n" for _, _, s, p, o in ROWS)
    read, right = ox.parse(text, ox.RdfFormat.TURTLE), ox.parse(plain, ox.RdfFormat.N_TRIPLES)
    assert {str(quad) for quad in read} == {str(quad) for quad in right}


def test_the_static_graph_is_in_turtle_with_s2gen_and_else_in_n_triples(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    assert texts.write_static((), place, ("part.parquet",)) == ()
    names = texts.write_static(("tnt", "watdiv", "s2gen"), place, ("part.parquet",))
    assert names == ("posts.nt", "posts.ttl")
    plain, turtle = ((tmp_path / name).read_text("utf-8") for name in names)
    assert sorted(plain.splitlines()) == sorted(f"{s} {p} {o} ." for _, _, s, p, o in ROWS)
    assert len(turtle.splitlines()) == 23 + len(ROWS)
