"""Data model in WatDiv's syntax: entity types, groups of attributes, associations, and streamed activities.

The lines are `#namespace`, `<type>` (`<type*>`: does not scale) with `<pgroup>` and `#predicate` inside, and
`#association`. Lines `#activity` are an extension: they define what is streamed. A model without them streams those of
Stream WatDiv's six activities that it has the types for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from enum import Enum
from typing import TypeVar

from hydrograph.errors import DataError
from hydrograph.rdf.vocab import RDF_TYPE


class Distribution(Enum):
    """Distribution of an index below n."""

    UNIFORM = "uniform"
    NORMAL = "normal"
    ZIPFIAN = "zipfian"


class LiteralKind(Enum):
    """Kind of an attribute's values."""

    INTEGER = "integer"
    STRING = "string"
    NAME = "name"
    DATE = "date"


class ActivityMode(Enum):
    """Condition under which a streamed entity makes an activity."""

    REQUIRED = "required"  # once, if the owner association reached it
    OPTIONAL = "optional"  # once, with its owner if it has one
    EACH = "each"  # once for each link of the owner association


@dataclass(frozen=True, slots=True)
class Attribute:
    """A predicate with a literal; bounds are numbers, or days since 1970-01-01."""

    predicate: str
    kind: LiteralKind
    low: int = 0
    high: int = 0
    distribution: Distribution = Distribution.UNIFORM


@dataclass(frozen=True, slots=True)
class AttributeGroup:
    """Attributes that an entity has together, with a probability, where it is an instance of `restriction`."""

    probability: float
    restriction: str | None
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class EntityType:
    """A type with the entities `<name>0`, `<name>1` and so on."""

    name: str
    count: int
    scales: bool
    groups: tuple[AttributeGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """Links from entities of one type to entities of another."""

    subject: str
    predicate: str
    object: str
    exclusive: bool = False
    """Whether an object is linked from one subject at most in a run."""
    most: int = 1
    spread: Distribution | None = None
    """How the number of objects is drawn from 0 to `most`; None: it is always `most`."""
    cover: float = 1.0
    distribution: Distribution = Distribution.UNIFORM
    subject_restriction: str | None = None
    object_restriction: str | None = None

    @property
    def restricted(self) -> bool:
        """Whether it depends on the types of its subjects or objects."""
        return self.subject_restriction is not None or self.object_restriction is not None


@dataclass(frozen=True, slots=True)
class Activity:
    """Event of the stream: a single link, or an entity with all its triples."""

    name: str
    predicate: str
    """The association: the link itself, or the one that leads to the entity."""
    entity: str | None = None
    mode: ActivityMode = ActivityMode.REQUIRED


@dataclass(frozen=True, slots=True)
class Model:
    """The whole data model; all names are IRIs."""

    types: tuple[EntityType, ...]
    associations: tuple[Association, ...]
    activities: tuple[Activity, ...] = field(default=())
    prefixes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Prefixes of the namespaces, for printing IRIs."""

    def type(self, name: str) -> EntityType:
        """Return the entity type `name`."""
        return next(type_ for type_ in self.types if type_.name == name)


ACTIVITIES = (
    "#activity follow wsdbm:follows",
    "#activity like wsdbm:likes",
    "#activity subscribe wsdbm:subscribes",
    "#activity offer gr:offers wsdbm:Offer each",
    "#activity purchase wsdbm:makesPurchase wsdbm:Purchase optional",
    "#activity review rev:hasReview wsdbm:Review required",
)
"""Activities of Stream WatDiv; a model without `#activity` lines has those that its types allow."""

_INTEGER_RANGE = (0, 65_535)
_LAST_DAY = (date(2014, 12, 31) - date(1970, 1, 1)).days
"""Last day of dates without a range: fixed, because a world must not depend on the day of its generation."""
_CARDINALITY = re.compile(r"([0-9]+)(?:\[(\w+)\])?")
_T = TypeVar("_T", bound=Enum)


def read_model(text: str, name: str) -> Model:
    """Return the model in `text`; raise DataError with the line of file `name` that is wrong."""
    reader = _Reader(name)
    for number, line in enumerate(text.splitlines(), 1):
        reader.number = number
        words = line.split("//")[0].split() if not line.lstrip().startswith("#namespace") else line.split()
        if words:
            reader.line(words)
    return reader.finish()


class _Reader:
    """Line-by-line parser of a model."""

    def __init__(self, name: str) -> None:
        self.name, self.number = name, 0
        self.prefixes: dict[str, str] = {}
        self.types: dict[str, EntityType] = {}
        self.associations: list[Association] = []
        self.activities: list[Activity] = []
        self.type: EntityType | None = None
        self.group: AttributeGroup | None = None

    def wrong(self, message: str) -> DataError:
        return DataError(f"{self.name}, line {self.number}: {message}")

    def line(self, words: list[str]) -> None:
        match words:
            case ["#namespace", *rest]:
                prefix, _, iri = "".join(rest).partition("=")
                self.prefixes[prefix] = iri
            case ["<type>" | "<type*>" as kind, name, count]:
                iri = self.iri(name)
                self.type = EntityType(iri, self.whole(count), kind == "<type>")
            case ["</type>"] if self.type is not None:
                self.types[self.type.name], self.type = self.type, None
            case ["<pgroup>", *rest] if self.type is not None:
                self.group = self.pgroup(rest)
            case ["#predicate", name, kind, *rest] if self.group is not None:
                attribute = self.attribute(self.iri(name), kind, rest)
                self.group = replace(self.group, attributes=(*self.group.attributes, attribute))
            case ["</pgroup>"] if self.type is not None and self.group is not None:
                self.type = replace(self.type, groups=(*self.type.groups, self.group))
                self.group = None
            case ["#association", subject, predicate, object_, *rest]:
                found = self.association(self.iri(subject), self.iri(predicate), self.iri(object_), rest)
                self.associations.append(found)
            case ["#activity", *rest]:
                self.activities.append(self.activity(rest))
            case ["#statistics", *_]:
                pass
            case _:
                raise self.wrong(f"expected a line of a WatDiv model at this place, got {' '.join(words)!r}")

    def finish(self) -> Model:
        if self.type is not None:
            raise self.wrong(f"expected </type> for {self.type.name} before the end")
        prefixes = tuple(self.prefixes.items())
        model = Model(tuple(self.types.values()), tuple(self.associations), tuple(self.activities), prefixes)
        for association in model.associations:
            for name in (association.subject, association.object):
                if name not in self.types:
                    raise DataError(f"{self.name}: an association names {name}, which is not a type of the model")
            if association.exclusive and association.distribution is not Distribution.UNIFORM:
                raise DataError(
                    f"{self.name}: {association.predicate} has the left cardinality 1, which needs the distribution "
                    f"uniform, got {association.distribution.value}"
                )
        return model if model.activities else replace(model, activities=tuple(self.usual(model)))

    def usual(self, model: Model) -> Iterator[Activity]:
        """Yield those of Stream WatDiv's activities that the model can have."""
        predicates = {association.predicate for association in model.associations}
        for line in ACTIVITIES:
            words = line.split()[1:]
            if all(word.partition(":")[0] in self.prefixes for word in words if ":" in word):
                activity = self.activity(words)
                if activity.predicate in predicates and (activity.entity is None or activity.entity in self.types):
                    yield activity

    def iri(self, name: str) -> str:
        prefix, colon, local = name.partition(":")
        if not colon or prefix not in self.prefixes:
            known = ", ".join(self.prefixes)
            raise self.wrong(f"expected a name with one of the prefixes {known}, got {name!r}")
        return self.prefixes[prefix] + local

    def whole(self, word: str) -> int:
        if not word.isdecimal():
            raise self.wrong(f"expected a whole number, got {word!r}")
        return int(word)

    def share(self, word: str) -> float:
        try:
            value = float(word)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise self.wrong(f"expected a number from 0 to 1, got {word!r}")
        return value

    def word(self, kind: type[_T], word: str) -> _T:
        try:
            return kind(word.lower())
        except ValueError:
            known = ", ".join(str(item.value) for item in kind)
            raise self.wrong(f"expected one of {known}, got {word!r}") from None

    def restriction(self, word: str) -> str | None:
        if not word.startswith("@"):
            raise self.wrong(f"expected a restriction such as @wsdbm:Role2 or @null, got {word!r}")
        return None if word.lower() == "@null" else self.iri(word[1:])

    def pgroup(self, words: list[str]) -> AttributeGroup:
        restriction = self.restriction(words[1]) if len(words) > 1 else None
        return AttributeGroup(self.share(words[0]) if words else 1.0, restriction, ())

    def attribute(self, predicate: str, kind: str, words: list[str]) -> Attribute:
        literal = self.word(LiteralKind, kind)
        low, high = _INTEGER_RANGE if literal is LiteralKind.INTEGER else (0, _LAST_DAY)
        if len(words) > 1:
            low, high = self.bounds(literal, words)
        drawn = self.word(Distribution, words[-1]) if len(words) in (1, 3) else Distribution.UNIFORM
        return Attribute(predicate, literal, low, high, drawn)

    def bounds(self, kind: LiteralKind, words: list[str]) -> tuple[int, int]:
        if kind is LiteralKind.DATE:
            try:
                low, high = ((date.fromisoformat(word) - date(1970, 1, 1)).days for word in words[:2])
            except ValueError:
                raise self.wrong(f"expected two dates such as 2013-06-21, got {' '.join(words[:2])!r}") from None
            return low, high
        if kind is LiteralKind.INTEGER:
            return self.whole(words[0]), self.whole(words[1])
        return 0, 0

    def association(self, subject: str, predicate: str, object_: str, words: list[str]) -> Association:
        found = Association(subject=subject, predicate=predicate, object=object_)
        if len(words) not in (0, 2, 3, 4, 6):
            raise self.wrong(f"expected 3, 5, 6, 7 or 9 words after #association, got {3 + len(words)}")
        if len(words) >= 2:
            most = _CARDINALITY.fullmatch(words[1])
            if most is None or words[0] not in ("1", "2"):
                raise self.wrong(f"expected cardinalities such as 2 5[normal], got {' '.join(words[:2])!r}")
            spread = self.word(Distribution, most[2]) if most[2] else None
            found = replace(found, exclusive=words[0] == "1", most=int(most[1]), spread=spread)
        if len(words) >= 3:
            found = replace(found, cover=self.share(words[2]))
        if len(words) >= 4:
            found = replace(found, distribution=self.word(Distribution, words[3]))
        if len(words) == 6:
            pair = self.restriction(words[4]), self.restriction(words[5])
            found = replace(found, subject_restriction=pair[0], object_restriction=pair[1])
        return found

    def activity(self, words: list[str]) -> Activity:
        match words:
            case [name, predicate]:
                return Activity(name, self.iri(predicate))
            case [name, predicate, entity, mode]:
                return Activity(name, self.iri(predicate), self.iri(entity), self.word(ActivityMode, mode))
            case _:
                raise self.wrong("expected #activity NAME PREDICATE, or with TYPE and required, optional or each")


def find_type_associations(model: Model, subject: str, restriction: str) -> list[tuple[Association, int]]:
    """Return the rdf:type associations that can make entities of `subject` instances of `restriction`, and its number.

    A restriction such as `…Role2` names the entity with the number 2 of the type `…Role`.
    """
    found = re.fullmatch(r"(.*?)([0-9]+)", restriction)
    name, number = (found[1], int(found[2])) if found else (restriction, 0)
    return [
        (association, number)
        for association in model.associations
        if (association.subject, association.predicate, association.object) == (subject, RDF_TYPE, name)
    ]
