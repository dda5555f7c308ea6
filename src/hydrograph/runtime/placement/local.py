"""Local placement: DuckDB in the driver's process, without a JVM."""

from __future__ import annotations

import itertools
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import gettempdir
from types import TracebackType
from typing import Any, ClassVar, Self

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType
from sqlglot import exp

from hydrograph.compile.printers import Target, print_sql
from hydrograph.compile.program import Program
from hydrograph.runtime.kernels import Kernel, called_kernels
from hydrograph.runtime.placement import Parameters, executor
from hydrograph.runtime.placement.executor import PreparedProgram

_NUMBERS = itertools.count()
_PARAMETER = re.compile(r"\$(\w+)")
_MOST = 1_000
"""Queries after which a database is renewed, which takes as long as a few of them."""


class Local:
    """A DuckDB database in memory that holds the tables of one run."""

    name: ClassVar = "local"
    in_process: ClassVar = True
    supports_incremental: ClassVar = True
    is_retryable: ClassVar = False
    target: ClassVar = Target.DUCKDB
    prefix = ""
    """Prefix of table names: none, since the database belongs to one run."""

    def __init__(self, threads: int | None = None, *, small: bool = False) -> None:
        """Open the database; `threads` limits it, for tests that run side by side.

        `small` is for small answers over small data, where planning takes longest: each query is planned once instead
        of twice, and its answer copied once more.
        """
        self._small = small
        self._threads = threads
        self._database = self._opened()
        self._kernels: set[str] = set()
        self._tables: dict[str, pa.Table] = {}
        self._has_views = False
        self._asked = 0

    def _opened(self) -> duckdb.DuckDBPyConnection:
        database = duckdb.connect()
        database.execute("SET TimeZone = 'UTC'")
        # Our optimizer has ordered the joins. DuckDB knows nothing of how intervals meet: where two windows share a key
        # with static data it may join them by time alone, and pile up gigabytes.
        database.execute("SET disabled_optimizers = 'join_order'")
        # Spill to the system's temporary directory, not to the working directory. DuckDB creates the folder when it
        # needs it; no two databases may share one.
        aside = Path(gettempdir(), f"hydrograph-{os.getpid()}-{next(_NUMBERS)}")
        database.execute("SET temp_directory = $aside", {"aside": str(aside)})
        if self._threads is not None:
            database.execute(f"SET threads = {int(self._threads)}")
        return database

    def _renew(self) -> None:
        """Open another database with the same tables.

        Until it is closed, DuckDB 2.0 keeps 160 bytes of every table that is named; and 190 of every block of a hash
        table that may be evicted, of which it forgets those that are gone only after thousands. A live join with a few
        queries a report so gains some ten kilobytes a second.
        """
        self._database.close()
        self._database = self._opened()
        self._kernels.clear()
        self._asked = 0
        for name, table in self._tables.items():
            self._database.register(name, table)

    def __enter__(self) -> Self:
        """Return the placement itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop everything."""
        self._database.close()

    def add_table(self, name: str, rows: pa.Table | pa.RecordBatchReader) -> None:
        """Name rows in memory, or rows that arrive in batches; a reader is read once, here."""
        table = rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows
        self._name(name, table)

    def add_files(self, name: str, paths: list[str]) -> None:
        """Name the rows of Parquet files, which are read where a program needs them."""
        self._database.read_parquet(paths).create_view(name)
        self._has_views = True

    def add_alias(self, name: str, table: str) -> None:
        """Name a table a second time."""
        self._database.table(table).create_view(name)
        self._has_views = True

    def count(self, table: str) -> int:
        """Return how many rows a table has."""
        counted: int = self.query(f'SELECT COUNT(*) AS n FROM "{table}"', {}).column("n")[0].as_py()
        return counted

    def first_time(self, table: str) -> int | None:
        """Return the time of the first event in a table; None where there is none."""
        first: int | None = self.query(f'SELECT MIN(t) AS t FROM "{table}"', {}).column("t")[0].as_py()
        return first

    def prepare(
        self,
        program: Program,
        outputs: Sequence[exp.Select],
        static_prefix: str | None = None,
        whole: Program | None = None,
    ) -> PreparedProgram:
        """Print the steps of a program and its output queries."""
        return PreparedProgram.of(
            program,
            outputs,
            lambda query: print_sql(query, self.target),
            static_prefix=static_prefix,
            whole=whole,
        )

    def load_static(self, prepared: PreparedProgram) -> None:
        """Compute the static steps of a program for all later runs; called again after static data was replaced."""
        executor.load_static(prepared, self)

    def run(self, prepared: PreparedProgram, parameters: Mapping[str, int]) -> list[pa.Table]:
        """Return the rows of each output query."""
        return executor.execute(prepared, self, parameters)

    def rows(self, program: Program, output: exp.Select, parameters: Mapping[str, int]) -> pa.Table:
        """Return the rows of one output query of a program that is run once."""
        return self.run(self.prepare(program, [output]), parameters)[0]

    def read(self, query: exp.Query, parameters: Parameters) -> pa.Table:
        """Return the rows of one query."""
        return self.query(print_sql(query, self.target), parameters)

    def fetch(self, text: str, parameters: Parameters) -> pa.Table:
        """Return the rows of a SQL text, as `query` does."""
        return self.query(text, parameters)

    def store(self, table: str, rows: pa.Table, earlier: pa.Table | None = None) -> tuple[pa.Table, bool]:
        """Name rows, behind the earlier rows of the table; return all its rows and whether some are new."""
        stored = rows if earlier is None else pa.concat_tables([earlier, rows])
        self._name(table, stored)
        return stored, rows.num_rows > 0

    def _name(self, name: str, table: pa.Table) -> None:
        self._database.register(name, table)
        self._tables[name] = table

    def forget(self) -> None:
        """Drop the tables in memory; opening another database takes as long as a small query."""
        for name in self._tables:
            self._database.unregister(name)
        self._tables.clear()

    def query(self, text: str, parameters: Parameters) -> pa.Table:
        """Return the rows of a SQL text; parameters that it does not name are left out."""
        self._asked += 1
        if self._asked > _MOST and not self._has_views:
            self._renew()
        for kernel in called_kernels(text):
            self._register(kernel)
        names = set(_PARAMETER.findall(text))
        used = {name: value for name, value in parameters.items() if name in names}
        if not self._small:
            return self._database.sql(text, params=used).to_arrow_table()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)
            return self._database.execute(text, used).to_arrow_table()

    def _register(self, kernel: Kernel) -> None:
        if kernel.name in self._kernels:
            return
        self._kernels.add(kernel.name)
        self._database.create_function(
            kernel.name,
            kernel.run,
            [duckdb.type(argument) for argument in kernel.arguments],
            duckdb.type(kernel.result),
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )


def as_columns(table: pa.Table) -> dict[str, list[Any]]:
    """Return a table's columns as lists."""
    return {name: table.column(name).to_pylist() for name in table.column_names}
