"""The table of expressions, `compile/expressions/cases.txt`, and what evaluates it: for one row, on both targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from sqlglot import exp

from hydrograph.algebra.expressions import (
    And,
    Calculate,
    Call,
    Compare,
    Constant,
    Exists,
    Expression,
    In,
    Negate,
    Not,
    Or,
    Reference,
)
from hydrograph.algebra.nodes import Extend, Project
from hydrograph.compile import sql
from hydrograph.compile.expressions.demand import expression_demand
from hydrograph.compile.expressions.evaluate import evaluate
from hydrograph.compile.printers import Target, print_sql
from hydrograph.compile.program import Output, Program
from hydrograph.compile.relation import (
    EncodedLayout,
    Part,
    RankInterval,
    Relation,
    TermLayout,
    layout_columns,
    layout_types,
    part_of,
)
from hydrograph.language import parse
from hydrograph.rdf.encoding import encode, encode_text
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Term, Variable
from hydrograph.runtime.kernels import called_kernels
from hydrograph.runtime.placement.local import Local, as_columns
from hydrograph.runtime.placement.spark import Spark, register
from hydrograph.runtime.reports import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CASES = Path(__file__).parents[1] / "engine" / "compile" / "expressions" / "cases.txt"
PROLOGUE = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> BASE <http://example.org/base/> "
PARAMETERS = {"report_first": 1614834367500 - 3 * 1000, "report_step": 1000}
RANK = 3
_TYPES = {Part.ID: pa.int64(), Part.TEXT: pa.string(), Part.KIND: pa.int8(), Part.NUMBER: pa.float64()}
_ALL = EncodedLayout(frozenset(Part))


@dataclass(frozen=True, slots=True)
class Case:
    """An expression, what it gives (None: an error), and why pyoxigraph gives something else."""

    text: str
    expected: str | None
    deviation: str | None


def read_expression(text: str) -> Expression:
    """Return the algebra of an expression."""
    pattern = parse(f"{PROLOGUE} SELECT ({text} AS ?x) {{}}").pattern
    assert isinstance(pattern, Project)
    assert isinstance(pattern.inner, Extend)
    return pattern.inner.expression


def read_cases() -> list[Case]:
    """Return the cases of the table."""
    cases = []
    for line in _CASES.read_text().splitlines():
        if line and not line.startswith("#"):
            text, _, rest = line.rpartition(" -> ")
            expected, _, deviation = rest.partition(" ! ")
            term = None if expected == "error" else read_expression(expected)
            assert term is None or isinstance(term, Constant), line
            cases.append(Case(text, None if term is None else term_text(term.term), deviation or None))
    return cases


@dataclass(frozen=True, slots=True)
class Shape:
    """An expression, the variables in it that stand for constants, and their terms, one row for each case."""

    expression: Expression
    variables: tuple[Variable, ...] = ()
    rows: list[tuple[Term, ...]] = field(default_factory=list)
    cases: list[int] = field(default_factory=list)
    """Which expression each row is."""


def lifted(expression: Expression, terms: list[Term]) -> Expression:
    """Return the expression with variables in the place of constants, whose terms are added to `terms`."""

    def lift(inner: Expression) -> Expression:
        match inner:
            case Constant(term):
                terms.append(term)
                return Reference(Variable(f"c{len(terms) - 1}"))
            case And(operands) | Or(operands):
                return type(inner)(tuple(map(lift, operands)))
            case Not(operand) | Negate(operand):
                return type(inner)(lift(operand))
            case Compare(_, left, right) | Calculate(_, left, right):
                return replace(inner, left=lift(left), right=lift(right))
            case In(operand, choices):
                return replace(inner, operand=lift(operand), choices=tuple(map(lift, choices)))
            case Call("BOUND", _) | Reference() | Exists():
                return inner
            case Call(_, arguments):
                return replace(inner, arguments=tuple(map(lift, arguments)))

    return lift(expression)


def shapes_of(expressions: Sequence[Expression], *, lift: bool) -> list[Shape]:
    """Return each expression as a shape of its own, or lifted: then those that differ in constants only share one."""
    shapes: dict[Expression | int, Shape] = {}
    for number, expression in enumerate(expressions):
        terms: list[Term] = []
        wanted = lifted(expression, terms) if lift else expression
        variables = tuple(Variable(f"c{index}") for index in range(len(terms)))
        shape = shapes.setdefault(wanted if lift else number, Shape(wanted, variables))
        shape.rows.append(tuple(terms))
        shape.cases.append(number)
    return list(shapes.values())


@dataclass(slots=True)
class Plan:
    """Many shapes as one query: row i holds the case i of each shape, and nothing where it has fewer."""

    shapes: Sequence[Shape]
    constants: dict[str, str] = field(default_factory=dict)

    def parameter(self, text: str) -> sql.Sql:
        name = next((name for name, known in self.constants.items() if known == text), f"c{len(self.constants)}_")
        self.constants[name] = text
        return sql.parameter(name)

    def query(self) -> tuple[exp.Select, list[Output], pa.Table]:
        """Return the query, its outputs and the table `rows` that it reads."""
        outputs, columns = [], []
        for number, shape in enumerate(self.shapes):
            # Only the parts in the expression's demand exist: `part_of` refuses all others.
            demand = expression_demand(shape.expression)
            names = {variable: f"v{number}_{variable.name}" for variable in shape.variables}
            layouts: dict[Variable, TermLayout] = {
                name: EncodedLayout(demand[name]) for name in names if name in demand
            }
            relation = Relation("rows", layouts, frozenset(layouts), (), RankInterval(), names)
            stem = f"e{number}"
            value = evaluate(shape.expression, relation, self.parameter, site=stem)
            assert [stem + suffix for suffix in value.columns] == layout_columns(stem, value.layout)
            outputs.append(Output(Variable(stem), stem, value.layout))
            columns += [sql.alias(column, stem + suffix) for suffix, column in value.columns.items()]
        return sql.from_(sql.select(*columns, sql.col("number")), "rows"), outputs, self._table()

    def _table(self) -> pa.Table:
        height = max(len(shape.rows) for shape in self.shapes)
        cells: dict[str, pa.Array] = {
            "lo": pa.array([RANK] * height), "hi": pa.array([RANK + 1] * height), "number": pa.array(range(height)),
        }  # fmt: skip
        for number, shape in enumerate(self.shapes):
            for index, variable in enumerate(shape.variables):
                terms = [encode(row[index]) for row in shape.rows]
                parts: dict[Part, list[Any]] = {
                    Part.ID: [term.id for term in terms],
                    Part.TEXT: [term.text for term in terms],
                    Part.KIND: [int(term.kind) for term in terms],
                    Part.NUMBER: [term.num for term in terms],
                    Part.DECIMAL: [term.dec for term in terms],
                }
                names = layout_columns(f"v{number}_{variable.name}", _ALL)
                for name, (part, values) in zip(names, parts.items(), strict=True):
                    padded = [*values, *[None] * (height - len(values))]
                    cells[name] = pa.array(padded, _TYPES.get(part, pa.decimal128(38, 18)))
        return pa.table(cells)


Run = Callable[[str, dict[str, int | str], pa.Table], pa.Table]


def run_locally(text: str, parameters: dict[str, int | str], rows: pa.Table) -> pa.Table:
    """Return the result on DuckDB."""
    with Local(1) as local:
        local.add_table("rows", rows)
        return local.query(text, parameters)


def on_spark(session: SparkSession) -> Run:
    """Return what runs a query on Spark."""

    def run(text: str, parameters: dict[str, int | str], rows: pa.Table) -> pa.Table:
        with Spark(session) as spark:
            spark.add_table("rows", rows)
            for kernel in called_kernels(text):
                register(session, kernel)
            return session.sql(text, args=parameters).toArrow()

    return run


def texts(expressions: Sequence[Expression], run: Run, target: Target, *, lift: bool, batch: int) -> list[str | None]:
    """Return the canonical text of each expression's value, None for an error; `batch` shapes make one query."""
    found: dict[int, str | None] = {}
    values: dict[TermLayout, Values] = {}
    shapes = shapes_of(expressions, lift=lift)
    for start in range(0, len(shapes), batch):
        plan = Plan(shapes[start : start + batch])
        query, outputs, rows = plan.query()
        table = run(print_sql(query, target), {**PARAMETERS, **plan.constants}, rows).sort_by("number")
        columns = as_columns(table)
        columns["r"] = columns["number"]
        written = zip(*rows_of(cast("Program", _Outputs(tuple(outputs))), columns), strict=True)
        for shape, output, answers in zip(plan.shapes, outputs, written, strict=True):
            answered = answers[: len(shape.cases)]
            found.update(zip(shape.cases, answered, strict=True))
            values.setdefault(output.layout, Values(output.layout)).add(table, output.stem, answered)
    for kept in values.values():
        kept.check(run, target)
    return [found[number] for number in range(len(expressions))]


@dataclass(frozen=True, slots=True)
class Values:
    """All values of one form: their columns, and the texts that the sink makes of them."""

    form: TermLayout
    texts: list[str | None] = field(default_factory=list)
    columns: dict[str, list[pa.Array]] = field(default_factory=dict)

    def add(self, table: pa.Table, stem: str, texts: Sequence[str | None]) -> None:
        """Add the first rows of a result."""
        self.texts.extend(texts)
        for suffix in layout_types(self.form):
            column = table.column(stem + suffix).slice(0, len(texts)).combine_chunks()
            self.columns.setdefault(f"x{suffix}", []).append(column)

    def check(self, run: Run, target: Target) -> None:
        """Check that SQL reads every part of a computed term from its columns as the encoding has it."""
        parts = [sql.alias(part_of(self.form, "x", part), f"part_{part.value}") for part in Part]
        query = sql.from_(sql.select(sql.col("number"), *parts), "rows")
        rows = {name: pa.concat_arrays(arrays) for name, arrays in self.columns.items()}
        numbered = pa.table({**rows, "number": pa.array(range(len(self.texts)))})
        table = as_columns(run(print_sql(query, target), {**PARAMETERS}, numbered).sort_by("number"))
        read = zip(*(table[f"part_{part.value}"] for part in Part), strict=True)
        for text, got in zip(self.texts, read, strict=True):
            term = None if text is None else encode_text(text)
            wanted = (None,) * 5 if term is None else (term.id, term.text, int(term.kind), term.num, term.dec)
            assert got == wanted or str(got) == str(wanted), text  # as texts, NaN is NaN


@dataclass(frozen=True, slots=True)
class _Outputs:
    outputs: tuple[Output, ...]


def differences(cases: list[Case], run: Run, target: Target, *, lift: bool, batch: int) -> list[str]:
    """Return a line for each case that gives another term."""
    found = texts([read_expression(case.text) for case in cases], run, target, lift=lift, batch=batch)
    pairs = zip(cases, found, strict=True)
    return [f"{case.text} is {got}, not {case.expected}" for case, got in pairs if got != case.expected]
