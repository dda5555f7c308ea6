"""Reads a set of queries: what each is for, its text in each language, and why some languages have none.

A set is a folder with `set.toml` (which world it is asked of), `NAME.toml` (what is known about a query), `NAME.rspql`
(its text) and, made from it by `write_translations`, `NAME.<language>` for each other language that can say it and `reasons.toml`
for those that can not. In the folder `merged` are the texts of engines that put all windows and the static data into
one graph, as they were published: they mean the same only where no pattern finds triples of another stream. `${NAME}`
stands for a constant, which is chosen from the data so that there are answers.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.language import DIALECTS
from hydrograph.language.dialects.strider import STREAM as STRIDERS_STREAM
from hydrograph.language.translate_dialect import reword
from hydrograph.windows.profile import preset
from hydrograph_gauge.queries.placeholders import fill_placeholders, parse_with_placeholders, print_with_placeholders
from hydrograph_gauge.worlds.manifest import WorldManifest


def prepare_registration(query: ContinuousQuery, name: str, language: str) -> ContinuousQuery:
    """Return the query under a name, which is a word; in Strider over its one stream, which has no other name there."""
    match language:
        case "csparql":
            return replace(query, name=name)
        case "strider" if len({window.stream for window in query.windows}) == 1:
            windows = tuple(replace(window, stream=STRIDERS_STREAM) for window in query.windows)
            return replace(query, name=name, windows=windows)
        case _:
            return query


SETS = ("lsbench", "csrbench", "srbench", "yabench", "watdiv", "functional")
SOURCE = "rspql"
"""The language in which the queries are written; the others are made from it."""
LANGUAGES = tuple(name for name in DIALECTS if name != "sparql")
REASONS = "reasons.toml"
SET = "set.toml"


class SetDescription(BaseModel):
    """What `set.toml` says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    intent: str
    world: str | None = None
    """The world that is asked; None where the streams come with the set."""
    settings: Mapping[str, Any] = {}
    """Settings of the world for runs whose answers are checked."""
    graph: str | None = None
    """The name that the texts have for the world's static data, where they name it."""
    recorded: Mapping[str, str] = {}
    """Files of the set with streams, by the names that its queries have for them."""


class QueryDescription(BaseModel):
    """What `NAME.toml` says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    intent: str
    features: tuple[str, ...]
    patterns: int
    """Triple patterns over streams and static data, N_P of the paper."""
    streams: tuple[str, ...]
    """The streams of the world it reads; their number is N_S."""
    constants: tuple[str, ...] = ()
    usual: Mapping[str, str] = {}
    """Those of its constants that the published text has, with their values: they stay where there are answers."""
    note: str = ""
    empty: str = ""
    """Why it has no answers in the world of the set's settings with any constants, with figures of that world."""
    windows: Mapping[str, str] = {}
    """The windows as published, by language; those of the text are for checked runs."""
    published: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class SetQuery:
    """A query of a set."""

    name: str
    about: QueryDescription
    texts: Mapping[str, str]
    """By language, with constants left open."""
    reasons: Mapping[str, str]
    """Why a language can not say the query."""
    merged: Mapping[str, str]
    """Texts by language that see one graph of all windows and static data."""

    def text(self, constants: Mapping[str, str], language: str = SOURCE) -> str:
        """Return the text in a language with its constants filled in; refuse a language that can not say it."""
        found = self.texts.get(language) or self.merged.get(language)
        if found is None:
            raise UnsupportedError(self.reasons.get(language, f"{self.name} has no text in {language}"))
        return self._filled(found, constants)

    def merged_text(self, constants: Mapping[str, str], language: str) -> str:
        """Return the text that sees one graph with its constants filled in, where there is one."""
        return self._filled(self.merged[language], constants)

    def _filled(self, text: str, constants: Mapping[str, str]) -> str:
        if missing := [name for name in self.about.constants if name not in constants]:
            raise UsageError(f"{self.name} needs the constant {missing[0]}: choose one from the data")
        return fill_placeholders(text, constants)


def read_set_description(name: str) -> SetDescription:
    """Return what is known about a set."""
    return SetDescription.model_validate(tomllib.loads(_folder(name).joinpath(SET).read_text("utf-8")))


def locate_recorded_streams(name: str) -> dict[str, Path]:
    """Return the streams that come with a set, by their names."""
    return {
        stream: Path(str(_folder(name).joinpath(file))) for stream, file in read_set_description(name).recorded.items()
    }


def _folder(name: str) -> Traversable:
    if name not in SETS:
        raise UsageError(f"expected a set of queries ({', '.join(SETS)}), got {name!r}")
    return files(__package__).joinpath(name)


def read_query_set(name: str) -> tuple[SetQuery, ...]:
    """Return the queries of a set, in order of their numbers."""
    folder = _folder(name)
    reasons = tomllib.loads(folder.joinpath(REASONS).read_text("utf-8"))
    found = []
    for file in folder.iterdir():
        title, _, kind = file.name.partition(".")
        if kind != "toml" or file.name in (REASONS, SET):
            continue
        texts, merged = _texts(folder, title), _texts(folder.joinpath("merged"), title)
        about = QueryDescription.model_validate(tomllib.loads(file.read_text("utf-8")))
        found.append(SetQuery(title, about, texts, reasons.get(title, {}), merged))
    return tuple(sorted(found, key=lambda query: _numbered(query.name)))


def _texts(folder: Traversable, title: str) -> dict[str, str]:
    places = {language: folder.joinpath(f"{title}.{language}") for language in LANGUAGES}
    return {language: place.read_text("utf-8") for language, place in places.items() if place.is_file()}


def translate_query(name: str, text: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield language, text, and the reason where there is none, for each language but the source.

    Where a language wants a query registered, it is by its name.
    """
    query, placeholders = parse_with_placeholders(text, SOURCE)
    profile = preset(DIALECTS[SOURCE].preset)
    for language in LANGUAGES:
        if language == SOURCE:
            continue
        try:
            translated = reword(prepare_registration(query, name, language), language, profile).text
        except UnsupportedError as error:
            yield language, None, str(error)
            continue
        yield language, print_with_placeholders(translated, language, placeholders), ""


def write_translations(folder: Path) -> None:
    """Make the texts in other languages, and the reasons, from the texts of the source."""
    reasons = ["# Made from the texts: why a language can not say a query.\n"]
    for file in sorted(folder.glob(f"*.{SOURCE}"), key=lambda file: _numbered(file.stem)):
        missing = []
        for language, text, reason in translate_query(file.stem, file.read_text("utf-8")):
            target = file.with_suffix(f".{language}")
            if text is None:
                target.unlink(missing_ok=True)
                missing.append(f"{language} = {_quoted(reason)}\n")
            else:
                target.write_text(text, "utf-8")
        if missing:
            reasons += [f"\n[{file.stem}]\n", *missing]
    (folder / REASONS).write_text("".join(reasons), "utf-8")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _numbered(name: str) -> tuple[str, int, str]:
    """Return a key that puts q10 after q9.

    >>> sorted(["s1", "q10", "q7b", "q7a", "l2"], key=_numbered)
    ['l2', 'q7a', 'q7b', 'q10', 's1']
    """
    found = re.fullmatch("([^0-9]*)([0-9]*)(.*)", name)
    assert found is not None, "the parts may be empty"
    letters, digits, rest = found.groups()
    return letters, int(digits or 0), rest


def locate_streams(query: SetQuery, directory: Path) -> dict[str, Path]:
    """Return the streams of a world that a query reads, by IRI."""
    streams = WorldManifest.read(directory).streams
    return {str(streams[name].iri): directory / streams[name].path for name in query.about.streams}


def locate_static_graphs(directory: Path) -> dict[str | None, Path]:
    """Return the static data of a world as its default graph (None), and under the name that queries have for it."""
    static = WorldManifest.read(directory).static
    if static is None:
        return {}
    place = directory / static.path
    return {None: place} if static.iri is None else {None: place, static.iri: place}
