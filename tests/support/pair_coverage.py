"""Pairwise coverage: few combinations of values that together contain every feasible pair of values.

A combination has one value for each dimension. Rules exclude some; a pair that no combination can have is infeasible,
and the rules that exclude it are the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from random import Random
from typing import TypeAlias

Combination: TypeAlias = Mapping[str, str]
Choice: TypeAlias = tuple[str, str]
"""A dimension and one of its values."""
Part: TypeAlias = frozenset[Choice]
"""Some values of a combination: a pair, or more."""
CANDIDATES = 6
"""Combinations that are drawn for each one that is taken."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Values that do not occur together, and why."""

    dimensions: tuple[str, ...]
    excludes: Callable[..., bool]
    """Called with the values of the dimensions, in their order."""
    reason: str


@dataclass(frozen=True)
class Space:
    """Dimensions with their values, and the rules between them."""

    dimensions: Mapping[str, tuple[str, ...]]
    rules: tuple[Rule, ...] = ()
    together: tuple[str, ...] = ()
    """Dimensions of which all triples of values are covered, beside the pairs of all dimensions."""

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All pairs of values, then the triples of the dimensions in `together`."""
        return tuple(
            frozenset(zip(chosen, values, strict=True))
            for names, size in ((tuple(self.dimensions), 2), (self.together, 3))
            for chosen in combinations(names, size)
            for values in product(*(self.dimensions[name] for name in chosen))
        )

    @cached_property
    def _rules_of(self) -> dict[str, list[Rule]]:
        return {name: [rule for rule in self.rules if name in rule.dimensions] for name in self.dimensions}

    def violated(self, chosen: Combination) -> Rule | None:
        """Return a rule that excludes some values, as far as they are chosen."""
        for rule in self.rules:
            if all(name in chosen for name in rule.dimensions) and rule.excludes(*(chosen[n] for n in rule.dimensions)):
                return rule
        return None

    def complete(self, part: Iterable[Choice], rng: Random) -> dict[str, str] | None:
        """Return a random combination with these values; None if there is none."""
        chosen = dict(part)
        if self.violated(chosen) is not None:
            return None
        return chosen if self._fill(chosen, rng) else None

    def _fill(self, chosen: dict[str, str], rng: Random) -> bool:
        """Choose the other values: first those of the dimensions with rules, the fewest possible values first."""
        ruled = [name for name in self.dimensions if name not in chosen and self._rules_of[name]]
        if not ruled:
            free = [name for name in self.dimensions if name not in chosen]
            chosen.update((name, rng.choice(self.dimensions[name])) for name in free)
            return True
        possible = {name: self._possible(chosen, name) for name in ruled}
        name = min(ruled, key=lambda each: len(possible[each]))
        for value in rng.sample(possible[name], len(possible[name])):
            chosen[name] = value
            if self._fill(chosen, rng):
                return True
            del chosen[name]
        return False

    def _possible(self, chosen: dict[str, str], name: str) -> list[str]:
        known = chosen.keys() | {name}
        rules = [rule for rule in self._rules_of[name] if known.issuperset(rule.dimensions)]
        found = []
        for value in self.dimensions[name]:
            values = {**chosen, name: value}
            if not any(rule.excludes(*(values[each] for each in rule.dimensions)) for rule in rules):
                found.append(value)
        return found

    def covering(self, seed: int = 0) -> tuple[dict[str, str], ...]:
        """Return combinations that contain every feasible part; the same ones for the same seed."""
        rng = Random(f"covering {seed}")
        left = dict.fromkeys(self.parts)
        found = []
        while left:
            target = next(iter(left))
            drawn = [shape for shape in [self.complete(target, rng)] if shape is not None]
            if not drawn:
                del left[target]
                continue
            drawn += [shape for _ in range(CANDIDATES - 1) if (shape := self.complete(target, rng)) is not None]
            best = max(drawn, key=lambda shape: sum(part in left for part in self.parts_of(shape)))
            found.append(best)
            for part in self.parts_of(best):
                left.pop(part, None)
        return tuple(found)

    def parts_of(self, shape: Combination) -> Iterator[Part]:
        """Return the parts that a combination covers."""
        for names, size in ((tuple(self.dimensions), 2), (self.together, 3)):
            for chosen in combinations(names, size):
                yield frozenset((name, shape[name]) for name in chosen)

    def infeasible(self, parts: Iterable[Part]) -> dict[Part, str]:
        """Return those of some parts that no combination has, with the reason."""
        rng = Random("feasible")
        return {part: self._reason(part) for part in parts if self.complete(part, rng) is None}

    def _reason(self, part: Part) -> str:
        """Return the rule that excludes a part, or the rules that leave nothing to one of the other dimensions."""
        chosen = dict(part)
        rule = self.violated(chosen)
        if rule is not None:
            return rule.reason
        found = []
        for name, values in self.dimensions.items():
            if name not in chosen:
                excluding = [self.violated({**chosen, name: value}) for value in values]
                if all(rule is not None for rule in excluding):
                    found = list(dict.fromkeys(rule.reason for rule in excluding if rule is not None))
                    break
        return "; ".join(found) or "the rules exclude every combination with these values"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage of the parts of a space by some combinations."""

    feasible: Mapping[int, int]
    """Number of feasible parts by their size: 2 for pairs, 3 for triples."""
    covered: Mapping[int, int]
    missing: tuple[Part, ...]
    infeasible: Mapping[Part, str]


def coverage(space: Space, shapes: Iterable[Combination]) -> Coverage:
    """Count the feasible parts of a space that some combinations cover."""
    seen = {part for shape in shapes for part in space.parts_of(shape)}
    unseen = [part for part in space.parts if part not in seen]
    infeasible = space.infeasible(unseen)
    missing = tuple(part for part in unseen if part not in infeasible)
    feasible = Counter(len(part) for part in space.parts if part not in infeasible)
    return Coverage(feasible, feasible - Counter(map(len, missing)), missing, infeasible)
