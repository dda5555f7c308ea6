"""Command `hydrograph workload shop TARGET`: generates queries by random walks, selected by their features."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from hydrograph.cli.options import read_query, setting_option
from hydrograph_gauge.features.selectivity import StaticUnit
from hydrograph_gauge.workload_generator.generator import WorkloadSettings
from hydrograph_gauge.worlds.settings import read_settings

_TRIES = 100_000
_OWN = ("like", "where", "tries", "measure", "windows", "static_unit", "force", "settings")
"""Options that are not settings of the generated queries."""


@click.group("workload")
def command() -> None:
    """Generate queries over a world, by random walks over its data model or over its data.

    The same seed gives the same queries.
    """


def _shop(target: Path, **given: Any) -> None:
    """Run `hydrograph workload shop`."""
    from hydrograph.language import parse
    from hydrograph_gauge.features.conditions import derive_conditions, read_conditions
    from hydrograph_gauge.features.structure import find_structure
    from hydrograph_gauge.workload_generator.generator import TemplateGenerator
    from hydrograph_gauge.workload_generator.search import (
        FeatureMeter,
        SelectedTemplate,
        search_templates,
        write_workload,
    )
    from hydrograph_gauge.workload_generator.world_data import WorldData

    own = {name: given.pop(name) for name in _OWN}
    settings = read_settings(WorkloadSettings, own["settings"], {k: v for k, v in given.items() if v is not None})
    conditions = read_conditions(own["where"]) if own["where"] else ()
    with ExitStack() as stack:
        data = None if settings.data is None else stack.enter_context(WorldData(settings.data))
        if own["measure"] and data is None:
            raise click.UsageError("--measure needs --data: a generated shop to measure on")
        wants_data = own["measure"] or any(one.needs_data for one in conditions) or own["like"]
        gauge = None
        if data is not None and wants_data:
            gauge = FeatureMeter(
                data, settings.time_window.width, settings.slide, own["windows"], StaticUnit(own["static_unit"])
            )
        if own["like"]:
            model = parse(read_query(None, own["like"]))
            conditions = (
                *conditions,
                *derive_conditions(find_structure(model), None if gauge is None else gauge(model)),
            )
        generator = TemplateGenerator(settings, data)
        kept: list[SelectedTemplate] = []
        tried = 0
        for found in search_templates(generator, conditions, gauge, own["tries"]):
            tried += 1
            if found is not None:
                kept.append(found)
        write_workload(target, generator, kept, conditions, tried, force=own["force"])
    queries = [query for one in kept for query in one.queries]
    kinds = ", ".join(f"{sum(query[2].kind == kind for query in queries)} {kind}" for kind in ("pure", "hybrid"))
    click.echo(f"{target}: {len(kept)} templates, {len(queries)} queries ({kinds}) in {tried} tries")
    if conditions:
        click.echo(f"conditions: {', '.join(map(str, conditions))}")
    if len(kept) < settings.number:
        click.echo(
            f"hydrograph: found {len(kept)} of {settings.number} templates in {tried} tries: "
            "lower --number or raise --tries",
            err=True,
        )
        sys.exit(1)


def _params() -> list[click.Parameter]:
    settings = [setting_option(n, field) for n, field in WorkloadSettings.model_fields.items()]
    return [
        click.Argument(["target"], type=click.Path(path_type=Path)),
        *settings,
        click.Option(
            ["--where"],
            metavar="CONDITIONS",
            help="Keep only queries that fulfil these, such as 'shape = star, cardinality > 900'.",
        ),
        click.Option(
            ["--like"], metavar="QUERY", help="Keep only queries with structure and answers similar to this one."
        ),
        click.Option(
            ["--tries"],
            type=click.IntRange(1),
            default=_TRIES,
            show_default=True,
            help="Maximum number of random walks.",
        ),
        click.Option(
            ["--measure"], is_flag=True, help="Measure cardinality and selectivities of every query on the data."
        ),
        click.Option(
            ["--windows"], type=click.IntRange(1), default=1, show_default=True, help="Number of windows to measure on."
        ),
        click.Option(
            ["--static-unit"],
            type=click.Choice([unit.value for unit in StaticUnit]),
            default=StaticUnit.PATTERN.value,
            show_default=True,
            help="Unit of averages over static patterns.",
        ),
        click.Option(
            ["--settings"],
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="A TOML file with settings; options override it.",
        ),
        click.Option(["--force"], is_flag=True, help="Replace TARGET if it is a workload."),
    ]


command.add_command(
    click.Command(
        "shop",
        params=_params(),
        callback=_shop,
        help="Queries over the web shop: pure ones over its stream, and hybrid ones over stream and static data.",
    )
)
