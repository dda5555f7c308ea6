"""The engines that a run can name, one line each.

>>> command("program:awk -f engine.awk")
('awk', '-f', 'engine.awk')
>>> engine("program?eager=true&dialect=cqels:awk -f engine.awk").dialect
'cqels'
>>> engine("oxigraph-periodic").by_clock
True
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, ValidationError

from hydrograph import __version__
from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import RunError, UnsupportedError, UsageError
from hydrograph.language import DIALECTS
from hydrograph.language.printer import print_query
from hydrograph.windows.profile import PRESETS, RSPQL, Profile, preset
from hydrograph_gauge.engines import oxigraph, rsp_js
from hydrograph_gauge.engines import versions as parts
from hydrograph_gauge.engines.described import start
from hydrograph_gauge.engines.description import HERE, read_description

Words = Callable[[ContinuousQuery], str]
"""Puts a query into the words of an engine, or raises UnsupportedError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """An engine by its name; `rest` is what stands behind the colon of one that wants more than a name."""

    name: str
    what: str
    start: Callable[[str], Sequence[str]]
    wants: str = ""
    """What must stand behind the colon; nothing may if this is empty."""
    dialect: str = "rspql"
    """The language that it is asked in, unless a query has a text for this engine."""
    words: Words | None = None
    """Instead of the dialect's printer, for an engine with habits of its own."""
    profile: Profile = RSPQL
    """The habits by which the oracle judges it, where an experiment does not say others."""
    by_clock: bool = False
    """Whether its windows go by the clock on the wall, so that the oracle must go by the times of hand-over."""
    eager: bool = False
    """Whether it answers as soon as it can; its output is then partitioned by rows."""
    announces: bool = True
    """Whether it says of each execution that it is over, also of one without rows: only then can one wait for it."""
    has_options: bool = False
    """Whether the user says what the last fields should say, `NAME?eager=true&profile=cqels:REST`."""
    versions: Callable[[str], Mapping[str, str]] = lambda _: {}
    """The versions of its parts by their names, as far as they can be known."""


class _Options(BaseModel):
    """What stands before the colon of an engine that nobody here knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dialect: str | None = None
    profile: str | None = None
    by_clock: bool | None = None
    eager: bool | None = None
    announces: bool | None = None


def _with_options(found: Registered, given: str) -> Registered:
    """Return an engine as its options describe it, or raise UsageError."""
    known = ", ".join(_Options.model_fields)
    if not found.has_options:
        raise UsageError(f"{found.name} takes no options, got {given!r}")
    try:
        said = _Options.model_validate(dict(parse_qsl(given, keep_blank_values=True, strict_parsing=True)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"option {place} of {found.name}: {first['msg']}; options: {known}") from None
    except ValueError:
        raise UsageError(f"expected options such as eager=true&profile=cqels, got {given!r}") from None
    changed: dict[str, Any] = said.model_dump(exclude_none=True)
    if said.profile is not None:
        changed["profile"] = preset(said.profile)
    return replace(found, **changed)


def _python(module: str, *arguments: str) -> Callable[[str], Sequence[str]]:
    return lambda rest: [
        sys.executable,
        "-m",
        f"hydrograph_gauge.engines.{module}",
        *arguments,
        *([rest] if rest else []),
    ]


def _packages(*names: str) -> Callable[[str], Mapping[str, str]]:
    return lambda _: {"hydrograph": __version__, **parts.packages(*names)}


def _described(file: Path, name: str, what: str) -> Registered:
    """Return the engine of a description; what stands behind its colon is the folder of what the user supplies."""
    given = read_description(file)
    return Registered(
        name=name,
        what=what,
        start=lambda rest: start(file, Path(rest)),
        wants="folder",
        dialect=given.dialect,
        profile=preset(given.profile),
        by_clock=given.by_clock,
        eager=given.eager,
        announces=given.announces,
        versions=lambda rest: parts.described(given, Path(rest)),
    )


def _never(rest: str) -> Sequence[str]:
    """Stand in for an engine that is only known when its description has been read."""
    raise AssertionError(rest)


ENGINES: dict[str, Registered] = {
    each.name: each
    for each in (
        Registered(
            name="hydrograph",
            what="Hydrograph's replay, on this machine",
            start=_python("hydrograph", "local"),
            versions=_packages("duckdb", "pyarrow"),
        ),
        Registered(
            name="hydrograph-spark",
            what="Hydrograph's replay, on Spark",
            start=_python("hydrograph", "spark"),
            versions=lambda rest: {
                **_packages("pyspark", "pyarrow")(rest),
                **parts.programs({"java": ("java", "-version")}),
            },
        ),
        Registered(
            name="hydrograph-live",
            what="Hydrograph's live queries",
            start=_python("live"),
            versions=_packages("duckdb", "pyarrow"),
        ),
        Registered(
            name="oxigraph",
            what="pyoxigraph, kept up to date",
            start=_python("oxigraph", "incremental"),
            versions=_packages("pyoxigraph"),
        ),
        Registered(
            name="oxigraph-periodic",
            what="pyoxigraph, asked by the clock",
            start=_python("oxigraph", "periodic"),
            profile=oxigraph.PERIODIC,
            by_clock=True,
            versions=_packages("pyoxigraph"),
        ),
        Registered(
            name="rsp-js",
            what=f"RSP-JS {rsp_js.VERSION}, fetched from npm",
            start=lambda _: rsp_js.command(),
            words=rsp_js.text,
            profile=rsp_js.PROFILE,
            versions=lambda _: {"rsp-js": rsp_js.VERSION, **parts.programs({"node": (*rsp_js.node(), "--version")})},
        ),
        Registered(
            name="rsp-services",
            what="any engine behind RSP Services",
            start=_python("services"),
            wants="address",
            dialect="csparql",
            profile=PRESETS["csparql-engine"],
            by_clock=True,
            announces=False,  # nobody says that it posts answers without rows
            has_options=True,
        ),
        Registered(
            name="program",
            what="any program that speaks the protocol",
            start=shlex.split,
            wants="a command line",
            has_options=True,
        ),
        *(
            _described(HERE / f"{name}.toml", name, f"{name}, with files that the user supplies")
            for name in ("csparql", "cqels", "etalis")
        ),
        Registered(
            name="described", what="any program, by a description of its lines", start=_never, wants="toml file"
        ),
    )
}


def engine(name: str) -> Registered:
    """Return an engine by the name that a run gives it, with or without a colon, or raise UsageError."""
    named, colon, rest = name.partition(":")
    base, mark, options = named.partition("?")
    if base not in ENGINES:
        raise UsageError(f"no engine named {base!r}; engines: {', '.join(names())}")
    found = ENGINES[base]
    if bool(found.wants) != bool(rest.strip()) or bool(colon) != bool(found.wants):
        wanted = f"{base}:{found.wants.upper().replace(' ', '-')}" if found.wants else base
        raise UsageError(f"expected an engine such as {wanted}, got {name!r}")
    if mark:
        found = _with_options(found, options)
    if base == "described":
        file, _, files = rest.partition(",")
        own = _described(Path(file), base, found.what)
        folder = Path(files) if files else None
        given = read_description(Path(file))
        return replace(
            own, start=lambda _: start(Path(file), folder), versions=lambda _: parts.described(given, folder)
        )
    return found


def known(name: str) -> Registered | None:
    """Return the engine of a run; None for one of another name, which is known by its answers alone.

    The answers of an engine may have come from elsewhere, and then nothing stands behind a colon.
    """
    named, colon, _ = name.partition(":")
    base = named.partition("?")[0]
    return engine(name) if colon and base in ENGINES else ENGINES.get(base)


def names() -> list[str]:
    """Return what can be named, with what must stand behind a colon."""
    return [
        f"{each.name}:{each.wants.replace(' ', '-').upper()}" if each.wants else each.name for each in ENGINES.values()
    ]


def command(name: str) -> Sequence[str]:
    """Return how an engine is started; it is fetched if it must be, and RunError says what is missing."""
    return tuple(engine(name).start(name.partition(":")[2]))


def missing(name: str) -> str | None:
    """Return why an engine can not be run here, None if it can."""
    try:
        command(name)
    except RunError as error:
        return str(error)
    return None


def versions(name: str) -> dict[str, str]:
    """Return the versions of an engine's parts by their names, such as Node's; nothing for one that is not here."""
    try:
        return dict(engine(name).versions(name.partition(":")[2]))
    except RunError:
        return {}


def dialect(name: str) -> str:
    """Return the language that an engine is asked in."""
    return engine(name).dialect


def text(name: str, query: ContinuousQuery) -> str:
    """Return a query as an engine is asked it, or raise UnsupportedError where its language has no words for it."""
    found = engine(name)
    if found.words is None and found.dialect not in DIALECTS:
        raise UnsupportedError(f"a query for {name} has to come in its own language, {found.dialect}")
    return found.words(query) if found.words is not None else print_query(query, found.dialect)
