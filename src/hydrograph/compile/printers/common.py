"""What the printers of both targets share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from hydrograph.compile import binding

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
    value = arguments(self, node) if isinstance(node, binding.Each) else self.sql(node, "this")
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


def generator(base: Any, printers: dict[Any, Printer]) -> Any:
    """Return sqlglot's generator of a dialect, with our printers in it."""
    return type("Generator", (base,), {"TRANSFORMS": {**base.TRANSFORMS, **printers}})
