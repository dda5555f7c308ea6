"""The manifest of a generated world: what was asked for, what came out, and checksums that do not depend on order."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hydrograph.errors import DataError

MANIFEST = "world.json"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPart:
    """What is said about one stream, or about the static graph."""

    path: str
    iri: str | None = None
    """The name in queries: of a stream, or of the static graph, which is the default graph too."""
    triples: int
    elements: int
    first: int | None = None
    last: int | None = None
    checksum: str
    """Sums, modulo 2**64, of two independent 64-bit hashes over all logical rows: order does not count, repeats do."""
    files: tuple[str, ...]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldManifest:
    """What a generated world says about itself.

    Two runs with equal `world`, `seed`, `settings` and `files` have equal parts.
    """

    version: int = VERSION
    hydrograph: str
    world: str
    seed: int
    settings: Mapping[str, Any]
    """A setting that is a file names the copy of it in the world; whoever reads a manifest gets its whole path."""
    static: ManifestPart | None
    streams: Mapping[str, ManifestPart]
    files: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of such files, by the name of the setting."""

    @property
    def checksum(self) -> str:
        """The checksums of all parts in one text."""
        parts = {"static": self.static, **self.streams}
        return " ".join(f"{name}={part.checksum}" for name, part in parts.items() if part is not None)

    @classmethod
    def read(cls, directory: Path) -> WorldManifest:
        """Return the manifest of a generated world, or raise DataError."""
        place = directory / MANIFEST
        try:
            given = json.loads(place.read_text("utf-8"))
        except FileNotFoundError:
            raise DataError(f"{directory}: no {MANIFEST}: it is no world, or was not finished") from None
        except (ValueError, OSError) as error:
            raise DataError(f"{place}: expected a manifest in JSON, got: {error}") from error
        if not isinstance(given, dict) or given.get("version") != VERSION:
            raise DataError(f"{place}: expected version {VERSION} of the manifest: generate the world again")
        streams = {name: _part(part) for name, part in given.pop("streams").items()}
        static, settings = given.pop("static"), given.pop("settings")
        settings |= {name: str(directory / settings[name]) for name in given.get("files", {})}
        return cls(**given, settings=settings, static=None if static is None else _part(static), streams=streams)

    def write(self, directory: Path) -> None:
        """Write the manifest whole or not at all."""
        partial = directory / f".{MANIFEST}.partial"
        with partial.open("w", encoding="utf-8") as file:
            json.dump(asdict(self), file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(directory / MANIFEST)


def _part(given: dict[str, Any]) -> ManifestPart:
    return ManifestPart(**{**given, "files": tuple(given["files"]), "texts": tuple(given["texts"])})
