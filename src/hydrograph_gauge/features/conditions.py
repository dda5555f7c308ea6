"""Conditions on features that select queries: `shape = star, patterns = 4, cardinality > 900`, or like a given query.

>>> [str(condition) for condition in read_conditions("shape = star, cardinality>900")]
['shape = star', 'cardinality > 900']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hydrograph.errors import UsageError
from hydrograph_gauge.features.measurement import RunFeatures
from hydrograph_gauge.features.structure import QueryKind, Shape, Structure

_WORDS: Mapping[str, tuple[str, ...]] = {
    "kind": tuple(QueryKind),
    "shape": tuple(Shape),
    "class": ("filter", "join", "aggregation", "nested", "negation", "optional", "union", "top-k", "static"),
}
"""Features with named values."""
_COUNTS = ("patterns", "streaming", "streams", "vertices", "degree")
_MEASURES = ("cardinality", "selectivity", "restricted", "joined")
FEATURES = (*_WORDS, *_COUNTS, *_MEASURES)
_CONDITION = re.compile(r"\s*([a-z]+)\s*(<=|>=|!=|=|<|>)\s*(\S+)\s*")
_NUMBERS: Mapping[str, Callable[[float, float], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_NEAR = 2
"""Factor within which the number of answers of a similar query lies."""


@dataclass(frozen=True, slots=True)
class FeatureCondition:
    """A comparison of one feature."""

    feature: str
    operator: str
    value: str | float

    def __str__(self) -> str:
        """Show it as it is written."""
        value = self.value if isinstance(self.value, str) else f"{self.value:g}"
        return f"{self.feature} {self.operator} {value}"

    @property
    def needs_data(self) -> bool:
        """Whether the feature is measured on data."""
        return self.feature in _MEASURES

    def holds(self, found: Structure, values: RunFeatures | None) -> bool:
        """Tell whether a query fulfils the condition; `values` are given if it needs data.

        A condition on an undefined feature does not hold.
        """
        if isinstance(self.value, str):
            has = self.value in _words(self.feature, found)
            return has if self.operator == "=" else not has
        number = _number(self.feature, found, values)
        return number is not None and _NUMBERS[self.operator](number, self.value)


def _words(feature: str, found: Structure) -> tuple[str, ...]:
    match feature:
        case "kind":
            return (found.kind,)
        case "shape":
            return (found.shape,)
        case _:
            return found.classes


def _number(feature: str, found: Structure, values: RunFeatures | None) -> float | None:
    counts = {
        "patterns": found.patterns,
        "streaming": found.streaming,
        "streams": found.streams,
        "vertices": len(found.vertices),
        "degree": found.degree,
    }
    if feature in counts:
        return counts[feature]
    assert values is not None, f"{feature} is measured on data"
    if feature == "cardinality":
        return values.cardinality
    measured = {"selectivity": values.patterns, "restricted": values.restricted, "joined": values.joined}[feature]
    return None if measured is None else measured.mean


def read_conditions(text: str) -> tuple[FeatureCondition, ...]:
    """Return the conditions of a text, which must all hold; raise UsageError if it cannot be parsed."""
    return tuple(_condition(part) for part in text.split(","))


def _condition(text: str) -> FeatureCondition:
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise UsageError(f"expected conditions such as 'shape = star, patterns = 4', got {text.strip()!r}")
    feature, operator, value = found.groups()
    if feature not in FEATURES:
        raise UsageError(f"expected a feature ({', '.join(FEATURES)}), got {feature!r}")
    if feature in _WORDS:
        if value not in _WORDS[feature] or operator not in ("=", "!="):
            known = ", ".join(_WORDS[feature])
            raise UsageError(f"expected {feature} = or != one of {known}, got {text.strip()!r}")
        return FeatureCondition(feature, operator, value)
    try:
        return FeatureCondition(feature, operator, float(value))
    except ValueError:
        raise UsageError(f"expected a number for {feature}, got {value!r}") from None


def derive_conditions(found: Structure, values: RunFeatures | None) -> tuple[FeatureCondition, ...]:
    """Return conditions for queries similar to one: equal structure and, if measured, a similar number of answers."""
    conditions = [
        FeatureCondition("kind", "=", found.kind),
        FeatureCondition("shape", "=", found.shape),
        FeatureCondition("patterns", "=", found.patterns),
        FeatureCondition("streaming", "=", found.streaming),
        FeatureCondition("vertices", "=", len(found.vertices)),
        FeatureCondition("degree", "=", found.degree),
    ]
    if values is not None:
        conditions.append(FeatureCondition("cardinality", ">=", values.cardinality / _NEAR))
        conditions.append(FeatureCondition("cardinality", "<=", values.cardinality * _NEAR))
    return tuple(conditions)


def fulfil_all(
    conditions: Sequence[FeatureCondition], found: Structure, measure: Callable[[], RunFeatures] | None
) -> bool:
    """Tell whether all conditions hold; data is measured only if the conditions on the text hold."""
    if not all(one.holds(found, None) for one in conditions if not one.needs_data):
        return False
    measured = [one for one in conditions if one.needs_data]
    if not measured:
        return True
    if measure is None:
        raise UsageError(f"{measured[0].feature} is measured on data: provide data")
    values = measure()
    return all(one.holds(found, values) for one in measured)
