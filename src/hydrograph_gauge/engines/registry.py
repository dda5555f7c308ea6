"""Registry of the engines that a run can name: how to start each, its language, its profile and its versions.

>>> start_command("program:awk -f engine.awk")
('awk', '-f', 'engine.awk')
>>> get_engine("program?eager=true&dialect=cqels:awk -f engine.awk").dialect
'cqels'
>>> get_engine("oxigraph-periodic").by_clock
True
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
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
from hydrograph_gauge.engines import oxigraph, rsp_js, rsp_rs
from hydrograph_gauge.engines.described import DESCRIPTIONS, Description, described_command, read_description
from hydrograph_gauge.engines.version_limits import VersionLimits, limits_of
from hydrograph_gauge.validation import find_invalid_field

_VERSION_TIMEOUT = 20.0  # seconds for a program to say its version


def package_versions(*names: str) -> dict[str, str]:
    """Return the versions of Python packages; those that are not installed are left out."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def program_versions(commands: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the first line that each command prints, by its name; commands that fail are left out."""
    found = {}
    for name, command in commands.items():
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=_VERSION_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        # Java prints its version to standard error, below messages about the environment.
        lines = [line for line in f"{ran.stdout}{ran.stderr}".splitlines() if not line.startswith("Picked up")]
        if ran.returncode == 0 and lines:
            found[name] = lines[0].strip()
    return found


def described_versions(description: Description, files: Path | None) -> dict[str, str]:
    """Return what the commands of a description say, and the files that the user supplied for the engine itself."""
    own = [
        place.name
        for pattern in description.needs
        for place in sorted(files.glob(pattern) if files is not None else ())
        if description.name in place.name.lower()
    ]
    return program_versions(description.versions) | ({description.name: ", ".join(own)} if own else {})


QueryPrinter = Callable[[ContinuousQuery], str]
"""Prints a query in the language of an engine, or raises UnsupportedError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEntry:
    """Engine with its name; functions get the text behind the colon of the name."""

    name: str
    what: str
    start: Callable[[str], Sequence[str]]
    wants: str = ""
    """Kind of text required behind the colon; empty: none is allowed."""
    dialect: str = "rspql"
    """The language that it is asked in, unless a query has a text for this engine."""
    words: QueryPrinter | None = None
    """Printer to use instead of the dialect's, for an engine with its own variant of the language."""
    limits: VersionLimits = lambda _: iter(())
    """What its version cannot be asked, though its language has words for it."""
    profile: Profile = RSPQL
    """Profile by which the oracle judges it, unless an experiment sets another."""
    by_clock: bool = False
    """Whether its windows go by the clock on the wall, so that the oracle must go by the times of hand-over."""
    eager: bool = False
    """Whether it answers as soon as it can; its output is then partitioned by rows."""
    announces: bool = True
    """Whether it announces the end of each execution, also without rows: only then can the player wait for it."""
    has_options: bool = False
    """Whether the name may set the last fields, as in `NAME?eager=true&profile=cqels:REST`."""
    versions: Callable[[str], Mapping[str, str]] = lambda _: {}
    """The versions of its parts by their names, as far as they can be known."""


class _Options(BaseModel):
    """Options before the colon of an engine that the registry does not know in detail."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dialect: str | None = None
    profile: str | None = None
    by_clock: bool | None = None
    eager: bool | None = None
    announces: bool | None = None


def _with_options(found: EngineEntry, given: str) -> EngineEntry:
    """Return an engine as its options describe it, or raise UsageError."""
    known = ", ".join(_Options.model_fields)
    if not found.has_options:
        raise UsageError(f"{found.name} takes no options, got {given!r}")
    try:
        said = _Options.model_validate(dict(parse_qsl(given, keep_blank_values=True, strict_parsing=True)))
    except ValidationError as error:
        invalid = find_invalid_field(error)
        raise UsageError(f"option {invalid.place} of {found.name}: {invalid.message}; options: {known}") from None
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
    return lambda _: {"hydrograph": __version__, **package_versions(*names)}


def _described(file: Path, name: str, what: str) -> EngineEntry:
    """Return the engine of a description; the text behind its colon is the folder of files that the user supplies."""
    given = read_description(file)
    return EngineEntry(
        name=name,
        what=what,
        start=lambda rest: described_command(file, Path(rest)),
        wants="folder",
        dialect=given.dialect,
        profile=preset(given.profile),
        by_clock=given.by_clock,
        eager=given.eager,
        announces=given.announces,
        limits=limits_of(given.version),
        versions=lambda rest: described_versions(given, Path(rest)),
    )


def _never(rest: str) -> Sequence[str]:
    """Stand in for an engine that is only known when its description has been read."""
    raise AssertionError(rest)


ENGINES: dict[str, EngineEntry] = {
    each.name: each
    for each in (
        EngineEntry(
            name="hydrograph",
            what="Hydrograph's replay, on this machine",
            start=_python("hydrograph", "local"),
            versions=_packages("duckdb", "pyarrow"),
        ),
        EngineEntry(
            name="hydrograph-spark",
            what="Hydrograph's replay, on Spark",
            start=_python("hydrograph", "spark"),
            versions=lambda rest: {
                **_packages("pyspark", "pyarrow")(rest),
                **program_versions({"java": ("java", "-version")}),
            },
        ),
        EngineEntry(
            name="hydrograph-live",
            what="Hydrograph's live queries",
            start=_python("hydrograph", "live"),
            versions=_packages("duckdb", "pyarrow"),
        ),
        EngineEntry(
            name="oxigraph",
            what="pyoxigraph, kept up to date",
            start=_python("oxigraph", "incremental"),
            versions=_packages("pyoxigraph"),
        ),
        EngineEntry(
            name="oxigraph-periodic",
            what="pyoxigraph, asked by the clock",
            start=_python("oxigraph", "periodic"),
            profile=oxigraph.PERIODIC,
            by_clock=True,
            versions=_packages("pyoxigraph"),
        ),
        EngineEntry(
            name="rsp-js",
            what=f"RSP-JS {rsp_js.VERSION}, fetched from npm",
            start=lambda _: rsp_js.command(),
            words=rsp_js.text,
            profile=rsp_js.PROFILE,
            versions=lambda _: {
                "rsp-js": rsp_js.VERSION,
                **program_versions({"node": (*rsp_js.node(), "--version")}),
            },
        ),
        EngineEntry(
            name="rsp-rs",
            what=f"rsp-rs {rsp_rs.VERSION}, built by Cargo",
            start=lambda _: rsp_rs.command(),
            words=rsp_rs.text,
            profile=rsp_rs.PROFILE,
            versions=lambda _: {
                "rsp-rs": rsp_rs.VERSION,
                **program_versions({"cargo": (*rsp_rs.cargo(), "--version")}),
            },
        ),
        EngineEntry(
            name="rsp-services",
            what="any engine behind RSP Services",
            start=_python("rsp_services"),
            wants="address",
            dialect="csparql",
            profile=PRESETS["csparql-engine"],
            by_clock=True,
            announces=False,  # it need not post answers without rows
            has_options=True,
        ),
        EngineEntry(
            name="program",
            what="any program that speaks the protocol",
            start=shlex.split,
            wants="a command line",
            has_options=True,
        ),
        *(
            _described(DESCRIPTIONS / f"{name}.toml", name, f"{name}, with files that the user supplies")
            for name in ("csparql", "cqels", "etalis")
        ),
        EngineEntry(
            name="described", what="any program, by a description of its lines", start=_never, wants="toml file"
        ),
    )
}


def get_engine(name: str) -> EngineEntry:
    """Return an engine by the name that a run gives it, with or without a colon, or raise UsageError."""
    named, colon, rest = name.partition(":")
    base, mark, options = named.partition("?")
    if base not in ENGINES:
        raise UsageError(f"no engine named {base!r}; engines: {', '.join(list_names())}")
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
            own,
            start=lambda _: described_command(Path(file), folder),
            versions=lambda _: described_versions(given, folder),
        )
    return found


def find_engine(name: str) -> EngineEntry | None:
    """Return the engine of a run; None for one of another name, which is known by its answers alone.

    Answers of an engine may be imported; its name then has no text behind a colon.
    """
    named, colon, _ = name.partition(":")
    base = named.partition("?")[0]
    return get_engine(name) if colon and base in ENGINES else ENGINES.get(base)


def list_names() -> list[str]:
    """Return what can be named, with what must stand behind a colon."""
    return [
        f"{each.name}:{each.wants.replace(' ', '-').upper()}" if each.wants else each.name for each in ENGINES.values()
    ]


def start_command(name: str) -> Sequence[str]:
    """Return how an engine is started; it is fetched if necessary; RunError names what is missing."""
    return tuple(get_engine(name).start(name.partition(":")[2]))


def find_missing(name: str) -> str | None:
    """Return why an engine cannot run here, None if it can."""
    try:
        start_command(name)
    except RunError as error:
        return str(error)
    return None


def engine_versions(name: str) -> dict[str, str]:
    """Return the versions of an engine's parts by their names, such as Node's; nothing for one that is not here."""
    try:
        return dict(get_engine(name).versions(name.partition(":")[2]))
    except RunError:
        return {}


def dialect_of(name: str) -> str:
    """Return the language that an engine is asked in."""
    return get_engine(name).dialect


def print_for_engine(name: str, query: ContinuousQuery) -> str:
    """Return a query as an engine is asked it, or raise UnsupportedError where its language has no words for it."""
    found = get_engine(name)
    if found.words is None and found.dialect not in DIALECTS:
        raise UnsupportedError(f"a query for {name} has to come in its own language, {found.dialect}")
    check_limits(name, query)
    if found.words is not None:
        return found.words(query)
    printer = DIALECTS[found.dialect].printer
    if any(lack.part == "name" for lack in printer(printer.view(query)).lacks()):
        query = replace(query, name=None)  # the gauge has its own names for queries
    return print_query(query, found.dialect)


def check_limits(name: str, query: ContinuousQuery) -> None:
    """Raise UnsupportedError if the version of an engine cannot be asked a query, in whatever words."""
    for sentence in get_engine(name).limits(query):
        raise UnsupportedError(sentence)
