"""LSBench over a network of a few people, written by hand: all texts of a query, in every language, answer alike."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hydrograph.api import query as query_of
from hydrograph.language.dialects.strider import STREAM as STRIDERS_STREAM
from hydrograph.rdf.vocab import XSD_DOUBLE
from hydrograph.temporal import HOUR, SECOND
from hydrograph_gauge.queries.query_sets import SetQuery, read_query_set, read_set_description
from hydrograph_gauge.worlds.social.triples import DBPPROP, FOAF, NAMES, SIB, SIOC, STREAM_IRIS
from tests.support.compared_answers import compared

QUERIES = read_query_set("lsbench")
USER, PERSON = NAMES["user"], NAMES["person"]
CONSTANTS = {"USER": f"{USER}1", "PERSON": f"{PERSON}1", "DISTANCE": "0.5"}
START, SECONDS = 2 * 24 * HOUR, 6
"""Windows have been open since the epoch: the longest of a query is one of a day."""
END = START + SECONDS * SECOND
FRIENDS = ((1, 2), (2, 3), (3, 4))


def triple_line(subject: str, predicate: str, object_: str) -> str:
    shown = object_ if object_.startswith('"') else f"<{object_}>"
    return f"<{subject}> <{predicate}> {shown} .\n"


def number(value: float) -> str:
    return f'"{value}"^^<{XSD_DOUBLE}>'


def position(subject: str, where: float) -> list[str]:
    return [
        triple_line(subject, f"{DBPPROP}latd", number(where)),
        triple_line(subject, f"{DBPPROP}longd", number(where)),
    ]


def static() -> list[str]:
    """Return who knows whom, where they live and what they read, and a group that user 2 founded."""
    lines = [triple_line(f"{USER}2", f"{SIOC}creator_of", f"{NAMES['group']}1")]
    for one in range(1, 5):
        lines.append(triple_line(f"{USER}{one}", f"{SIOC}account_of", f"{PERSON}{one}"))
        lines += position(f"{PERSON}{one}", one)
        lines += [
            triple_line(f"{USER}{one}", f"{SIOC}subscriber_of", f"{NAMES['forum']}{other}") for other in range(1, 5)
        ]
    for one, other in FRIENDS:
        lines += [triple_line(f"{USER}{a}", f"{FOAF}knows", f"{USER}{b}") for a, b in ((one, other), (other, one))]
    return lines


def streamed(second: int) -> dict[str, list[str]]:
    """Return the events of a second: a user posts and shows a photo, others like both, and a user moves."""
    author, liker = second % 4 + 1, (second + 1) % 4 + 1
    post, album, photo = f"{NAMES['post']}{second}", f"{NAMES['album']}{second}", f"{NAMES['photo']}{second}"
    fix = f"{NAMES['gps']}{second}"
    return {
        "posts": [
            triple_line(f"{USER}{author}", f"{SIOC}creator_of", post),
            triple_line(f"{NAMES['forum']}{author}", f"{SIOC}container_of", post),
            triple_line(post, f"{SIB}hashtag", f'"tag{second % 2}"'),
        ],
        "post_likes": [triple_line(f"{USER}{one}", f"{SIB}like", post) for one in (liker, 3)],
        "photos": [
            triple_line(album, f"{SIOC}container_of", photo),
            triple_line(photo, f"{SIB}usertag", f"{USER}{author}"),
            *position(photo, liker),
        ],
        "photo_likes": [triple_line(f"{USER}{one}", f"{SIB}like", photo) for one in (liker, 3)],
        "gps": [triple_line(f"{USER}{liker}", f"{SIB}trackedAt", fix), *position(fix, liker)],
    }


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("network")
    for founded, lines in ((True, static()), (False, static()[1:])):
        (folder / f"static-{founded}.nt").write_text("".join(lines))
    happened = [streamed(second) for second in range(SECONDS)]
    for name in happened[0]:
        lines = [
            f"{START + SECOND * second + 100}\t{line}" for second in range(SECONDS) for line in happened[second][name]
        ]
        (folder / f"{name}.tnt").write_text("".join(lines))
    return folder


def asked(query: SetQuery, text: str, language: str, network: Path, *, founded: bool = False) -> list[Counter[object]]:
    """Return the rows of each report; all texts are run with the profile of RSP-QL, so that they report alike."""
    streams = {STREAM_IRIS[name]: network / f"{name}.tnt" for name in query.about.streams}
    if language == "strider":
        (place,) = streams.values()
        streams = {STRIDERS_STREAM.value: place}
    static = {read_set_description("lsbench").graph: network / f"static-{founded}.nt"}
    found = query_of(text, dialect=language, preset="rspql")
    with found.over(streams, static, placement="local", after=START, until=END) as run:
        return [Counter(report.rows) for report in run.reports()]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_every_language_gives_the_answers_of_the_source(query: SetQuery, network: Path) -> None:
    source = query.text(CONSTANTS)
    streams = {STREAM_IRIS[name]: network / f"{name}.tnt" for name in query.about.streams}
    compared(
        source, streams, {read_set_description("lsbench").graph: network / "static-False.nt"}, after=START, until=END
    )
    right = asked(query, source, "rspql", network)
    assert any(right)
    for language in query.texts:
        assert asked(query, query.text(CONSTANTS, language), language, network) == right, language


MERGED = [query for query in QUERIES if query.merged]


@pytest.mark.parametrize("query", MERGED, ids=lambda query: query.name)
def test_one_graph_of_everything_gives_the_same_where_its_parts_have_nothing_in_common(
    query: SetQuery, network: Path
) -> None:
    """Apart from Q9: each branch of its union finds what the other one looks for, and every answer comes twice."""
    right = asked(query, query.text(CONSTANTS), "rspql", network)
    if query.name == "q9":
        right = [rows + rows for rows in right]
    assert asked(query, query.merged_text(CONSTANTS, "csparql"), "csparql", network) == right


def test_who_founds_a_group_is_a_creator_in_one_graph(network: Path) -> None:
    (q3,) = (query for query in MERGED if query.name == "q3")
    right = asked(q3, q3.text(CONSTANTS), "rspql", network, founded=True)
    merged = asked(q3, q3.merged_text(CONSTANTS, "csparql"), "csparql", network, founded=True)
    group = (f"<{USER}2>", f"<{NAMES['group']}1>")
    assert [rows - one for rows, one in zip(merged, right, strict=True)] == [Counter([group])] * len(right)
