"""Generator of templates and their instances; the same seed and settings give the same sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import UsageError
from hydrograph.temporal import SECOND
from hydrograph_gauge.workload_generator.instances import Instance, fill_template
from hydrograph_gauge.workload_generator.random_walks import DataWalk, walk_schema
from hydrograph_gauge.workload_generator.templates import (
    RandomChoices,
    Template,
    TemplateOptions,
    build_schema,
    complete_template,
)
from hydrograph_gauge.workload_generator.world_data import WorldData
from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.settings import Length, Settings
from hydrograph_gauge.worlds.shop.model import Model
from hydrograph_gauge.worlds.shop.world import ShopSettings, build_population, load_model


class WorkloadSettings(Settings):
    """Settings of a workload over the shop."""

    number: int = Field(default=100, ge=1, description="templates")
    instances: int = Field(default=1, ge=1, description="queries of each template")
    walk: Literal["schema", "data"] = Field(default="schema", description="what templates are a random walk over")
    patterns: int = Field(default=5, ge=1, le=50, description="the most triple patterns of a template")
    placeholders: int = Field(
        default=1, ge=0, description="entities that a template leaves open, and an instance fills"
    )
    constant_joins: bool = Field(default=False, description="let placeholders stand in several patterns")
    duplicate_edges: bool = Field(default=False, description="let a walk take an edge again")
    filters: int = Field(default=0, ge=0, description="conditions on literals, where a template has literals")
    window: Length = Field(default=5 * SECOND, ge=1, description="WSIZE, the width of the window")
    slide: Length = Field(default=5 * SECOND, ge=1, description="WSLIDE, its slide")
    closed: bool = Field(
        default=False,
        description="windows closed at both ends, as the thesis defines them: WSIZE is a millisecond wider",
    )
    open_window: bool = Field(default=False, description="leave ${WSIZE} and ${WSLIDE} in the texts")
    data: Path | None = Field(default=None, description="a generated shop, to walk over and to choose constants from")
    static: int = Field(default=1, ge=1, description="without data: the scale of users, products, retailers, websites")
    stream: int = Field(default=1, ge=1, description="without data: the scale of offers, purchases and reviews")
    entities: Literal["release", "thesis"] = Field(
        default="release", description="without data: numbers of retailers and languages, as `generate shop` has them"
    )
    model: Path | None = Field(default=None, description="without data: a model file instead of the built-in one")
    faithful: bool = Field(
        default=False, description="one variable for each type, even where it would have to be two things at once"
    )

    @model_validator(mode="after")
    def _fits(self) -> WorkloadSettings:
        if self.walk == "data" and self.data is None:
            raise ValueError("a walk over data needs data: give a generated shop")
        if self.walk == "data" and self.faithful:
            raise ValueError("faithful is about walks over the schema: a walk over data has its own variables")
        return self

    @property
    def wishes(self) -> TemplateOptions:
        """What each template is to be like."""
        return TemplateOptions(
            patterns=self.patterns,
            placeholders=self.placeholders,
            constant_joins=self.constant_joins,
            duplicate_edges=self.duplicate_edges,
            filters=self.filters,
            faithful=self.faithful,
        )

    @property
    def time_window(self) -> TimeWindow:
        """The window of all queries.

        Time is in whole milliseconds: the window of width w that holds both its ends is the half-open one of w + 1 ms.
        It has the same beginnings and content, and closes when the millisecond of its end is over.
        """
        return TimeWindow(self.window + (1 if self.closed else 0), self.slide)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A template with its instances; `attempt` is the number of the try that gave it."""

    attempt: int
    template: Template
    instances: tuple[Instance, ...]


class TemplateGenerator:
    """Makes the templates of a workload; the world, if there is one, tells the model and its scales."""

    def __init__(self, settings: WorkloadSettings, data: WorldData | None) -> None:
        """Prepare the walks."""
        self.settings, self.data = settings, data
        known = ShopSettings(
            static=settings.static, stream=settings.stream, model=settings.model, entities=settings.entities
        )
        if data is not None:
            known = ShopSettings.model_validate(data.manifest.settings)
        self.model: Model = load_model(known.model, known.entities)
        self.people = build_population(None, known)
        self.schema = build_schema(self.model)
        if not any(edge.streamed for edge in self.schema.edges):
            raise UsageError(f"{known.model}: nothing of this model is streamed: add #activity lines")
        self.over_data = None
        if settings.walk == "data":
            assert data is not None, "the settings ask for data"
            self.over_data = DataWalk(data, self.model, self.schema, settings.time_window.width, settings.slide)

    def candidates(self, tries: int) -> Iterator[Candidate | None]:
        """Yield what each try gives: a template with instances, or None where the walk made none that is wanted."""
        draws, wishes = Draws(self.settings.seed), self.settings.wishes
        for attempt in range(tries):
            choices = RandomChoices(draws, (attempt,))
            if self.over_data is None:
                walked = walk_schema(self.schema, wishes, choices)
            else:
                walked = self.over_data(wishes, choices)
            template = complete_template(walked, wishes, choices)
            if template is None:
                yield None
                continue
            made = tuple(
                fill_template(template, number, choices, self.people.count, self.data)
                for number in range(self.settings.instances)
            )
            yield Candidate(attempt, template, made)
