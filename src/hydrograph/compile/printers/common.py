"""Printers that both targets share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from hydrograph.compile import sql_nodes as nodes

Printer = Callable[[Any, Any], str]


def both(self: Any, node: exp.Expression) -> tuple[str, str]:
    """Return the texts of both operands."""
    return self.sql(node, "this"), self.sql(node, "expression")


def arguments(self: Any, node: exp.Expression) -> str:
    """Return the texts of all arguments."""
    return ", ".join(self.sql(argument) for argument in node.expressions)


def call(name: str) -> Printer:
    """Return the printer of a function of one argument."""

    def write(self: Any, node: exp.Expression) -> str:
        return f"{name}({self.sql(node, 'this')})"

    return write


def points(explode: str, series: str, distinct: str, array: tuple[str, str]) -> Printer:
    """Return the printer of `Points`."""

    def write(self: Any, node: exp.Expression) -> str:
        start, end, every = (self.sql(node, name) for name in ("this", "to", "every"))
        some = f"{distinct}({array[0]}{arguments(self, node)}{array[1]})"
        return f"{explode}(CASE WHEN {every} THEN {series}({start}, {end}) ELSE {some} END)"

    return write


def safe_cast(self: Any, node: exp.Expression) -> str:
    """Print a cast that gives NULL where the value does not fit."""
    return f"TRY_CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})"


def kernel_call(self: Any, node: exp.Expression) -> str:
    """Print the call of a kernel."""
    return f"{node.this}({arguments(self, node)})"


def let(self: Any, node: exp.Expression, template: str) -> str:
    """Print a name bound in an expression; names go by depth, so that the text does not depend on what came before."""
    value = arguments(self, node) if isinstance(node, nodes.MapItems) else self.sql(node, "this")
    names: dict[int, str] = self.__dict__.setdefault("hydrograph_names", {})
    names[node.args["key"]] = name = f"x{len(names)}"
    body = self.sql(node, "expression")
    del names[node.args["key"]]
    return template.format(value=value, name=name, body=body)


def let_name(self: Any, node: exp.Expression) -> str:
    """Print a name that `let` has bound."""
    return str(self.hydrograph_names[node.args["key"]])


def sum_of(first: str, second: str, third: str, fourth: str) -> str:
    """Return a sum of decimals that is NULL with more than 19 digits before the point."""
    pairs = f"{first} + {second}", f"{third} + {fourth}"
    return " + ".join(f"TRY_CAST({pair} AS DECIMAL(37, 18))" for pair in pairs)


def round_decimal(self: Any, node: exp.Expression) -> str:
    """Print FLOOR or CEIL of a decimal."""
    return f"TRY_CAST({node.args['function']}({self.sql(node, 'this')}) AS DECIMAL(38, 18))"


def _identifier(self: Any, node: exp.Identifier) -> str:
    """Print a name; most are plain, and sqlglot's own printer takes several times as long for them."""
    name: str = node.args["this"]
    plain = not node.args.get("quoted") and name.lower() not in self.RESERVED_KEYWORDS
    return name if plain else str(self.identifier_sql(node))


def _column(self: Any, node: exp.Column) -> str:
    """Print a column; ours name a table at most."""
    if node.args.keys() - {"this", "table"}:
        return str(self.column_sql(node))
    name, table = self.sql(node.args["this"]), node.args.get("table")
    return f"{self.sql(table)}.{name}" if table else name


def _select(self: Any, node: exp.Select) -> str:
    """Print SELECT without the preprocessing of sqlglot.

    sqlglot would first look through everything below each SELECT for what a dialect lacks, such as ANY or QUALIFY,
    and say it in other words. Our trees hold none of it, and with many steps that takes longer than all the rest.
    """
    return str(self.select_sql(node))


def _data_type(self: Any, node: exp.DataType) -> str:
    """Print a type; there are few, and each is worked out once."""
    if node.args.get("nested"):
        return str(self.datatype_sql(node))
    key = (node.args["this"], *[parameter.name for parameter in node.expressions])
    known: dict[tuple[object, ...], str] = self.hydrograph_types
    if key not in known:
        known[key] = self.datatype_sql(node)
    return known[key]


def generator(base: Any, printers: dict[Any, Printer]) -> Any:
    """Return sqlglot's generator of a dialect, with our printers in it."""
    quick = {exp.Identifier: _identifier, exp.Column: _column, exp.Select: _select, exp.DataType: _data_type}
    printed = {"TRANSFORMS": {**base.TRANSFORMS, **quick, **printers}, "hydrograph_types": {}}
    return type("Generator", (base,), printed)
