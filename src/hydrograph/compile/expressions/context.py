"""Evaluation context of an expression: its rows, the report instant, and the seeds of random values (A6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions.values import (
    LexicalValue,
    NumberValue,
    Parameters,
    StringValue,
    TermValue,
    Value,
    double,
)
from hydrograph.compile.relation import EncodedLayout, Part, RankInterval, Relation, null_part, report_name, report_time
from hydrograph.compile.sql import Sql
from hydrograph.errors import UnsupportedError
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.vocab import XSD_DATE_TIME

_BITS = 52


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """Context in which one expression is evaluated."""

    relation: Relation
    parameters: Parameters
    site: str = ""
    """Tells equal expressions at different places of the query apart."""
    row: Sql | None = None
    """Tells equal rows at one instant apart."""
    calls: Iterator[int] = field(default_factory=count)
    """Numbers the calls of one expression, so that two calls in a row differ."""

    def _valid(self) -> RankInterval:
        """Return the ranks at which the row is valid: one only, see `reads_clock`."""
        validity = self.relation.validity
        if not isinstance(validity, RankInterval):
            raise UnsupportedError("NOW() and random values need a window; static data alone has no instant")
        return validity

    def now(self) -> Value:
        """Return the event time of the report."""
        instant = sql.cast(report_time(self._valid()), "BIGINT")
        return LexicalValue(frozenset({Kind.DATETIME}), sql.kernel("hydrograph_instant", instant), XSD_DATE_TIME)

    def _row_text(self) -> Sql:
        """Return a text that differs where rows differ, the same in both targets and whatever is asked of the rows.

        Chunks are not part of a row. Terms are represented by their ids, which the demand of a random value always
        includes; which other parts are present depends on other operators.
        """
        relation = self.relation
        cells = [sql.cast(sql.col(key), "TEXT") for key in relation.keys if key != "chunk"]
        if self.row is not None:
            cells.append(sql.cast(self.row.copy(), "TEXT"))
        for variable, layout in relation.layouts.items():
            if not isinstance(layout, EncodedLayout) or Part.ID in layout.parts:
                cells.append(sql.cast(relation.part(variable, Part.ID), "TEXT"))
        separated = [part for cell in cells for part in (sql.text("|"), sql.coalesce(cell, sql.text("-")))]
        valid = self._valid()
        instant = sql.cast(sql.col(valid.lo), "TEXT") if valid.instants is None else report_name(valid)
        return sql.concat(instant, *separated)

    def _seed(self, *more: Sql) -> Sql:
        texts = [part for text in (*more, self._row_text()) for part in (text, sql.text("#"))]
        return nodes.TextDigest(this=sql.concat(*texts), function="MD5")

    def _call(self) -> Sql:
        return self.parameters(f"{self.site} {next(self.calls)}")

    def random(self) -> Value:
        """Return RAND: 52 bits of the seed's digest, at least 0 and below 1."""
        digits = nodes.HexNumber(this=sql.call("left", self._seed(self._call()), sql.num(_BITS // 4)))
        number = sql.multiply(sql.cast(digits, "DOUBLE"), double(2.0**-_BITS))
        return NumberValue(frozenset({Kind.DOUBLE}), sql.num(Kind.DOUBLE), None, number)

    def _uuid(self) -> Sql:
        """Return a UUID of version 4, variant 1."""

        def write(digest: Sql) -> Sql:
            def digits(start: int, length: int) -> Sql:
                return sql.call("substring", digest.copy(), sql.num(start), sql.num(length))

            dash = sql.text("-")
            return sql.concat(
                digits(1, 8), dash, digits(9, 4), sql.text("-4"), digits(14, 3), sql.text("-a"), digits(18, 3),
                dash.copy(), digits(21, 12),
            )  # fmt: skip

        return write(self._seed(self._call()))

    def uuid(self) -> Value:
        """Return UUID."""
        return LexicalValue(frozenset({Kind.IRI}), sql.concat(sql.text("urn:uuid:"), self._uuid()))

    def str_uuid(self) -> Value:
        """Return STRUUID."""
        return StringValue(self._uuid())

    def blank_node(self, label: Sql | None, solution: Sql | None = None) -> Value:
        """Return BNODE: fresh at each call, or one for each label and row, or for each label and named solution."""
        if label is None:
            seed = self._seed(self._call())
        elif solution is None:
            seed = self._seed(sql.text("label"), label)
        else:
            seed = nodes.TextDigest(this=sql.concat(solution, sql.text("#"), label), function="MD5")
        text = sql.concat(sql.text("_:r"), seed)

        def part(part: Part) -> Sql:
            match part:
                case Part.TEXT:
                    return text.copy()
                case Part.ID:
                    return nodes.TermId(this=text.copy())
                case Part.KIND:
                    return sql.cast(sql.when((sql.not_null(text.copy()), sql.num(Kind.BLANK))), "TINYINT")
                case Part.NUMBER | Part.DECIMAL:
                    return null_part(part)

        return TermValue(part, frozenset({Kind.BLANK}))
