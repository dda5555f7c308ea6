"""Experiment files: worlds, queries, engines, paces, sweeps and repetitions, validated when they are read.

A file in TOML has settings for all its tests, and a `[[test]]` for each test with those that differ. `${name}` is
replaced by a value of `[parameters]`, of a test's own `parameters`, or of `[sweep]`, which runs every combination.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from hydrograph.errors import UsageError
from hydrograph_gauge.judge.mismatch import COMPARABLE
from hydrograph_gauge.oracle.compare import Comparison
from hydrograph_gauge.run_records import Setting
from hydrograph_gauge.validation import find_invalid_field
from hydrograph_gauge.worlds.settings import Length

_PARAMETER = re.compile(r"\$\{([a-z_][a-z0-9_]*)\}")


class _TomlTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WorldTable(_TomlTable):
    """Where streams and static data come from: a world to generate, one that is there, or files.

    Without any of them it is the world that the set of queries is asked of; settings then override those of the set.
    """

    name: str | None = None
    """A world that `hydrograph generate` knows."""
    settings: Mapping[str, Any] = {}
    """Its settings."""
    folder: Path | None = None
    """A world that was generated before."""
    streams: Mapping[str, str] = {}
    """Recorded streams by IRI: files, or a directory of files."""
    static: Mapping[str, str] = {}
    """Static graphs by IRI; the default graph has the name `default`."""
    time: str | None = None
    """Where the times of elements stand, as `hydrograph convert --time` takes it; `name` for names of files."""
    format: str | None = None
    """The format of the streams' files, where their names do not tell."""
    duration: Length | None = Field(default=None, ge=1)
    """How much of the streams is played, in event time from the first element."""
    stream: str | None = None
    """The IRI by which queries read the only stream of a world, where it is not the world's own."""

    @model_validator(mode="after")
    def _one(self) -> WorldTable:
        given = [bool(self.name), self.folder is not None, bool(self.streams)]
        if sum(given) > 1:
            raise ValueError("expected one of name, folder and streams")
        if self.settings and (self.folder is not None or self.streams):
            raise ValueError("settings are for worlds that are generated")
        if self.stream is not None and self.streams:
            raise ValueError("stream names the only stream of a world; given streams have their names already")
        return self


class QueriesTable(_TomlTable):
    """What is asked: a set of queries, generated ones, or texts."""

    set: str | None = None
    """A set that comes with Hydrograph."""
    names: tuple[str, ...] = ()
    """Those of the set that are asked; all without it."""
    constants: Mapping[str, str] = {}
    """Values for the constants of the set, where the data is not to choose them."""
    texts: Mapping[str, str] = {}
    """Queries by name, written here; instead of a set, or beside it."""
    files: tuple[Path, ...] = ()
    """Files with a query each, named after it."""
    engine_texts: Mapping[str, Mapping[str, str]] = {}
    """By engine and query: what this engine is asked instead."""
    oracle_texts: Mapping[str, str] = {}
    """By query: the SPARQL that the oracle asks at each report, instead of the query itself."""
    copies: int = Field(default=1, ge=1)
    """How often each query is registered."""
    workload: Mapping[str, Any] = {}
    """Settings of generated queries, as `hydrograph workload shop` takes them."""
    workload_world: Mapping[str, Any] = {}
    """Settings of the world that queries are generated over and measured on, where it is not the one that is played:
    tests with different worlds then ask the same queries."""
    longest: Length | None = Field(default=None, ge=1)
    """Windows that are wider than this get this width: one of a day reports for a day after the last element."""


def _pace(value: object) -> object:
    return value.replace(" ", "-") if isinstance(value, str) else value


class PlayTable(_TomlTable):
    """How the streams are played."""

    pace: Annotated[
        Literal["event-time", "fast", "rate", "step", "ramp", "burst", "random"], BeforeValidator(_pace)
    ] = "fast"
    speed: float = Field(default=1.0, gt=0)
    """With event-time: how many times as fast."""
    rate: float | None = Field(default=None, gt=0)
    """Elements a second of each stream; of random the mean, of ramp and burst the start."""
    rates: Mapping[str, float] = {}
    """Elements a second by the IRI of a stream, where it is not the same for all."""
    peak: float | None = Field(default=None, gt=0)
    """The highest rate of ramp and burst."""
    over: Length = 10_000
    """How long a ramp rises."""
    period: Length = 10_000
    """The time from burst to burst."""
    length: Length = 1_000
    """The length of a burst."""

    @model_validator(mode="after")
    def _rated(self) -> PlayTable:
        if self.pace in ("rate", "ramp", "burst", "random") and self.rate is None and not self.rates:
            raise ValueError(f"the pace {self.pace} needs a rate")
        if self.pace in ("ramp", "burst") and self.peak is None:
            raise ValueError(f"the pace {self.pace} needs a peak")
        return self


class OracleTable(_TomlTable):
    """How answers are judged."""

    profile: str | None = None
    """The profile of expected reports; by default that of each engine."""
    time: Literal["event", "handed"] | None = None
    """Whether windows go by the times of elements, or by when they were handed over; without it as each engine does."""
    t0: int | Literal["search"] | None = None
    """Where windows begin; `search` takes what fits the answers best, as CSRBench does."""
    after: int | None = None
    until: int | None = None
    """Reports after the one and up to the other are expected. With `until` the stream ends there explicitly."""
    ends: bool = False
    """Whether the stream ends explicitly with its last element, so that windows that close later must be answered too;
    otherwise these are counted apart. Engines that go by the clock do not see the end of a stream, and are exempt."""
    comparison: Comparison = Comparison.EXACT
    """When rows are equal: `exact` within one datatype, `value` by numeric value, `double` as doubles."""
    gracious: bool = False
    """Whether the borders that an engine really used are looked for."""


class LimitsTable(_TomlTable):
    """What an engine may use."""

    seconds: float = Field(default=600, gt=0)
    megabytes: float = Field(default=4_096, gt=0)
    megabytes_output: float = Field(default=4_096, gt=0)


class ExperimentTest(_TomlTable):
    """One test, with all that its runs share; `settings` are the values of what is swept."""

    __test__: ClassVar[bool] = False  # it is none of pytest's

    name: str
    measure: Literal["windows", "cmet", "held", "functional"] = "windows"
    """windows: each answer is judged; cmet: executions a second are counted too;
    held: the highest rate at which answers stay right; functional: the functional suite."""
    engines: tuple[str, ...] = ("hydrograph",)
    repetitions: int = Field(default=1, ge=1)
    together: bool = False
    """Whether all queries are registered at once, or each is run in a process of its own."""
    answers: bool = False
    """Whether every query is expected to have windows with answers, in the gauge."""
    needs: str | None = None
    """What the user has to give with -D; the test is left out while it is empty."""
    w3c: str = ""
    """A folder of the W3C's rdf-tests that the functional suite asks, too; none while it is empty."""
    phase: int = Field(default=500, gt=0, lt=1_000)
    """Milliseconds that elements of the functional suite keep from the borders of windows by the clock, whose lengths
    are whole seconds: queries are registered and streams begin at whole seconds, and elements come this much later."""
    only_right: str | None = None
    """A test whose queries must have been right, with results, on all engines; others are excluded."""
    comparable: float = Field(default=COMPARABLE, ge=0, le=1)
    """The mismatch up to which outputs are comparable."""
    held_from: float = Field(default=10, gt=0)
    held_to: float = Field(default=100_000, gt=0)
    """Rates between which the highest that holds is looked for: elements a second of all streams that a query reads."""
    held_for: Length = Field(default=10_000, ge=1)
    """How long each rate is tried."""
    seed: int = 1024
    world: WorldTable = WorldTable()
    queries: QueriesTable = QueriesTable()
    play: PlayTable = PlayTable()
    oracle: OracleTable = OracleTable()
    limits: LimitsTable = LimitsTable()
    settings: Mapping[str, Setting] = {}


@dataclass(frozen=True, slots=True)
class Experiment:
    """A whole experiment."""

    name: str
    title: str
    about: str
    seed: int
    tests: tuple[ExperimentTest, ...]
    parameters: Mapping[str, Setting]
    published: Mapping[str, Mapping[str, Setting | None]]


_WHOLE = ("title", "about", "parameters", "sweep", "published", "test")
_MERGED = ("world", "queries", "play", "oracle", "limits", "parameters")
_TEST_KEYS = sorted(set(ExperimentTest.model_fields) - {"settings"} | {"parameters", "sweep"})


def list_shipped() -> list[str]:
    """Return the names of the experiments that come with Hydrograph."""
    folder = files(__package__) / "shipped"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def read_experiment(
    source: str, given: Sequence[str] = (), *, only: Sequence[str] = (), base: Path | None = None
) -> Experiment:
    """Return the experiment of a file, of YABench's directory, or one that comes with Hydrograph.

    `given` are key=value, `only` the names of tests.

    Paths in a file start from its folder; those of experiments that come with Hydrograph from its own workloads.
    """
    file = Path(source)
    if file.is_dir():
        from hydrograph_gauge.experiments.yabench import read_yabench

        return read_yabench(file, given, only=only)
    if file.suffix == ".toml" or file.exists():
        try:
            text = file.read_text("utf-8")
        except OSError as error:
            raise UsageError(f"{source}: {error.strerror}") from None
        name, base = file.stem, base or file.parent
    elif source in list_shipped():
        text = (files(__package__) / "shipped" / f"{source}.toml").read_text("utf-8")
        name, base = source, base or Path(str(files("hydrograph_gauge.workloads")))
    else:
        raise UsageError(f"no experiment {source!r}: expected a file or one of {', '.join(list_shipped())}")
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: {error}") from None
    return parse_experiment(name, raw, given, only=only, base=base)


def parse_experiment(
    name: str, raw: Mapping[str, Any], given: Sequence[str] = (), *, only: Sequence[str] = (), base: Path | None = None
) -> Experiment:
    """Return the experiment of a file's tables."""
    known = {*_WHOLE, *_TEST_KEYS} - {"name"}
    if unknown := sorted(raw.keys() - known):
        raise UsageError(f"{name}: unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")
    overrides = dict(_override(name, text, raw) for text in given)
    tests = [test for one in raw.get("test", [{}]) for test in _tests(name, raw, one, overrides)]
    if base is not None:
        tests = [_resolved(test, base) for test in tests]
    if wanting := [test for test in tests if test.needs == "" and test.name in only]:
        raise UsageError(f"test {wanting[0].name} needs data of your own: set its location with -D")
    tests = [test for test in tests if test.needs != ""]
    names = [test.name for test in tests]
    if wrong := [one for one in only if one not in names]:
        raise UsageError(f"{name} has no test {wrong[0]!r}; it has {', '.join(dict.fromkeys(names))}")
    needed = {test.only_right for test in tests if test.name in only} if only else set()
    if missing := [test.only_right for test in tests if test.only_right is not None and test.only_right not in names]:
        raise UsageError(f"{name}: only_right names no test: {missing[0]!r}")
    kept = tuple(test for test in tests if not only or test.name in only or test.name in needed)
    return Experiment(
        name,
        str(raw.get("title", name)),
        str(raw.get("about", "")),
        int(overrides.get("seed", raw.get("seed", 1024))),
        kept,
        {**raw.get("parameters", {}), **{key: _shown(value) for key, value in overrides.items()}},
        raw.get("published", {}),
    )


def repeat_tests(experiment: Experiment, repetitions: int) -> Experiment:
    """Return an experiment with every test repeated so many times."""
    tests = tuple(test.model_copy(update={"repetitions": repetitions}) for test in experiment.tests)
    return replace(experiment, tests=tests, parameters={**experiment.parameters, "repetitions": repetitions})


def _shown(value: Any) -> Setting:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _override(name: str, text: str, raw: Mapping[str, Any]) -> tuple[str, Any]:
    """Return a key=value of the command line; the key is a parameter, or a plain setting of tests."""
    key, equals, value = text.partition("=")
    plain = {key for key, field in ExperimentTest.model_fields.items() if key not in {*_MERGED, "name", "settings"}}
    parameters = set(raw.get("parameters", {})) | set(raw.get("sweep", {}))
    for test in raw.get("test", []):
        parameters |= set(test.get("parameters", {})) | set(test.get("sweep", {}))
    if not equals:
        raise UsageError(f"expected key=value, got {text!r}")
    if key not in parameters | plain:
        raise UsageError(f"{name} has no parameter {key!r}; it has {', '.join(sorted(parameters | plain))}")
    values = [_value(part) for part in value.split(",")]
    if Path(value).exists():  # what the user names starts from where the user is
        values = [str(Path(value).resolve())]
    return key, values if len(values) > 1 or key == "engines" else values[0]


def _value(text: str) -> Any:
    """Return the value of a text in TOML, or the text itself.

    >>> _value("50"), _value("true"), _value("small")
    (50, True, 'small')
    """
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def _tests(
    name: str, raw: Mapping[str, Any], one: Mapping[str, Any], overrides: Mapping[str, Any]
) -> Iterator[ExperimentTest]:
    """Return the tests that one table makes: one for each combination of what is swept."""
    if unknown := sorted(one.keys() - set(_TEST_KEYS)):
        raise UsageError(f"{name}: unknown key {unknown[0]!r} of a test; known are {', '.join(_TEST_KEYS)}")
    shared = {key: value for key, value in raw.items() if key not in _WHOLE}
    merged = _merge(shared, {key: value for key, value in one.items() if key not in ("sweep", "parameters")})
    merged.setdefault("name", name)
    parameters = {**raw.get("parameters", {}), **one.get("parameters", {})}
    sweep = {**raw.get("sweep", {}), **one.get("sweep", {})}
    for key, value in overrides.items():
        if key in sweep:
            sweep[key] = value if isinstance(value, list) else [value]
        elif key in ExperimentTest.model_fields:
            merged[key] = value
        else:
            parameters[key] = value
    for values in product(*sweep.values()):
        swept = dict(zip(sweep, values, strict=True))
        filled = _filled(merged, {**parameters, **swept}, name)
        try:
            yield ExperimentTest.model_validate({**filled, "settings": swept})
        except ValidationError as error:
            raise UsageError(f"{name}, test {merged['name']}: {_sentence(error)}") from None


def _merge(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in other.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _filled(value: Any, parameters: Mapping[str, Any], name: str) -> Any:
    """Fill in parameters; a text that is one alone becomes its value."""
    if isinstance(value, Mapping):
        return {key: _filled(each, parameters, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, parameters, name) for each in value]
    if not isinstance(value, str):
        return value
    for key in _PARAMETER.findall(value):
        if key not in parameters:
            raise UsageError(f"{name}: no parameter {key!r}; there are {', '.join(sorted(parameters)) or 'none'}")
    if whole := _PARAMETER.fullmatch(value):
        return parameters[whole[1]]
    return _PARAMETER.sub(lambda found: str(parameters[found[1]]), value)


def _resolved(test: ExperimentTest, base: Path) -> ExperimentTest:
    """Return the test with paths that start from the folder of its file."""
    world, queries = test.world, test.queries
    return test.model_copy(
        update={
            "world": world.model_copy(
                update={
                    "folder": None if world.folder is None else base / world.folder,
                    "streams": {name: str(base / path) for name, path in world.streams.items()},
                    "static": {name: str(base / path) for name, path in world.static.items()},
                }
            ),
            "queries": queries.model_copy(update={"files": tuple(base / path for path in queries.files)}),
        }
    )


def _sentence(error: ValidationError) -> str:
    place, message, value, is_unknown = find_invalid_field(error)
    if is_unknown:
        return f"unknown key {place!r}"
    return f"{place}: {message}, got {value!r}" if place else message
