"""Generated stream of the replay benchmark: observations of sensors (a star) and a social network (a chain).

10,000 triples a second of event time. Subjects and objects of the social triples recur all the time, whole triples only
after 12 s, so an engine that does not count repeats is right as well. Row i depends on i alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hydrograph.rdf.encoding import encode_text, salt_of
from hydrograph.rdf.vocab import XSD_DECIMAL, XSD_INTEGER
from hydrograph.streams.formats.parquet import write_spark
from hydrograph.streams.schema import TRIPLES
from hydrograph.streams.spark_encoding import encode_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

NAMESPACE = "http://example.org/"
STREAM = NAMESPACE + "events"
RATE = 10
"""Triples in a millisecond of event time."""
USERS, POSTS, TAGS, SENSORS, ROOMS, CITIES = 20_000, 20_000, 300, 500, 200, 50
_PREDICATES = ("by", "value", "at", "follows", "posted", "tagged")

QUERIES = {
    "filter": "SELECT ?o ?v {window} { ?o :value ?v FILTER(?v > 95) } }",
    "star": "SELECT ?o ?s ?v ?r {window} { ?o :by ?s . ?o :value ?v . ?o :at ?r } }",
    "linear": "SELECT ?a ?b ?c ?d {window} { ?a :follows ?b . ?b :posted ?c . ?c :tagged ?d } }",
    "group": "SELECT ?s (COUNT(?v) AS ?n) (AVG(?v) AS ?m) {window} { ?o :by ?s . ?o :value ?v } } GROUP BY ?s",
    "static": "SELECT ?a ?b ?age {window} { ?a :follows ?b } ?b :livesIn :city7 . ?b :age ?age }",
}
"""The five queries; `{window}` is replaced by what precedes the window's patterns."""
_PREFIX = f"PREFIX : <{NAMESPACE}>\n"


def query_text(name: str, step: str = "1s", operator: str = "RSTREAM") -> str:
    """Return a query in RSP-QL."""
    window = f"FROM NAMED WINDOW :w ON :events [RANGE 5s STEP {step}] WHERE {{ WINDOW :w"
    return _PREFIX + QUERIES[name].replace("SELECT", f"SELECT {operator}").replace("{window}", window)


def plain_text(name: str) -> str:
    """Return a query in SPARQL, for a store that holds window and static data together."""
    return _PREFIX + QUERIES[name].replace("{window}", "WHERE {")


def triples(spark: SparkSession, rows: int) -> DataFrame:
    """Return the stream as texts: `t`, `seq`, `s`, `p`, `o`, one element a triple."""
    from pyspark.sql import functions as f

    i = f.col("id")
    turn = (i / 6).cast("bigint")
    position = (i % 6).cast("int")

    def draw(purpose: str, below: int) -> Column:
        return f.pmod(f.xxhash64(f.lit(purpose), turn), f.lit(below))

    def iri(kind: str, number: Column) -> Column:
        return f.concat(f.lit(f"<{NAMESPACE}{kind}"), number.cast("string"), f.lit(">"))

    a, b = draw("a", USERS), draw("b", USERS)
    hundredths = draw("value", 10_000)
    # Canonical decimals: no needless zeros.
    digits = f.regexp_replace(f.format_string("%d.%02d", f.floor(hundredths / 100), hundredths % 100), r"\.?0+$", "")
    whole = f.when(hundredths % 100 == 0, f.floor(hundredths / 100).cast("string")).otherwise(digits)
    value = f.concat(f.lit('"'), whole, f.lit(f'"^^<{XSD_DECIMAL}>'))
    subjects = [iri("o", turn)] * 3 + [iri("u", a), iri("u", b), iri("post", turn % POSTS)]
    objects = [
        iri("sensor", draw("sensor", SENSORS)),
        value,
        iri("room", draw("room", ROOMS)),
        iri("u", (a * 7 + turn) % USERS),
        iri("post", (b * 11 + turn) % POSTS),
        iri("tag", draw("tag", TAGS)),
    ]
    predicates = [f.lit(f"<{NAMESPACE}{name}>") for name in _PREDICATES]

    def by_position(values: list[Column]) -> Column:
        chosen = f.when(position == 0, values[0])
        for number, column in enumerate(values[1:], 1):
            chosen = chosen.when(position == number, column)
        return chosen

    return spark.range(rows).select(
        (i / RATE).cast("bigint").alias("t"),
        i.alias("seq"),
        by_position(subjects).alias("s"),
        by_position(predicates).alias("p"),
        by_position(objects).alias("o"),
    )


def write_parquet(spark: SparkSession, rows: int, target: Path) -> None:
    """Write the stream in the encoded schema, as `hydrograph convert` does."""
    write_spark(encode_columns(triples(spark, rows), "t", "seq"), target, salt=salt_of(STREAM))


def write_text(spark: SparkSession, rows: int, target: Path) -> None:
    """Write the stream as a directory of timed N-Triples."""
    from pyspark.sql import functions as f

    line = f.concat_ws(" ", "s", "p", "o", f.lit("."))
    parts = triples(spark, rows).orderBy("seq").select(f.concat(f.col("t").cast("string"), f.lit("\t"), line))
    parts.write.text(str(target))
    for file in sorted(target.glob("part-*")):
        file.rename(target / f"{file.name.split('-')[1]}.tnt")


def static_table() -> pa.Table:
    """Return the static graph: 60,000 triples about the users."""
    texts = []
    for user in range(USERS):
        subject = f"<{NAMESPACE}u{user}>"
        texts.append((subject, f"<{NAMESPACE}livesIn>", f"<{NAMESPACE}city{user * 7919 % CITIES}>"))
        texts.append((subject, f"<{NAMESPACE}age>", f'"{18 + user * 31 % 60}"^^<{XSD_INTEGER}>'))
        texts.append((subject, f"<{NAMESPACE}name>", f'"user {user}"'))
    rows = []
    for s, p, o in texts:
        item = encode_text(o)
        ids = encode_text(s).id, encode_text(p).id, item.id
        rows.append((s, p, o, *ids, int(item.kind), item.num, item.dec))
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), TRIPLES, strict=True)]
    return pa.table(columns, schema=TRIPLES)
