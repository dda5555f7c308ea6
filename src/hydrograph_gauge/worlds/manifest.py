"""Manifest of a generated world: its settings, its contents, and checksums that do not depend on row order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hydrograph.atomic_files import write_atomically
from hydrograph.errors import DataError

MANIFEST = "world.json"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPart:
    """Manifest entry of one stream, or of the static graph."""

    path: str
    iri: str | None = None
    """The name in queries. The static graph is the default graph too."""
    triples: int
    elements: int
    first: int | None = None
    last: int | None = None
    checksum: str
    """Sums, modulo 2**64, of two independent 64-bit hashes over all logical rows; duplicates count, order does not."""
    files: tuple[str, ...]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldManifest:
    """Manifest of a generated world.

    Two runs with equal `world`, `seed`, `settings` and `files` have equal streams and static data.
    """

    version: int = VERSION
    hydrograph: str
    world: str
    seed: int
    settings: Mapping[str, Any]
    """A setting that is a file names the copy in the world's directory; `read` makes it a full path."""
    static: ManifestPart | None
    streams: Mapping[str, ManifestPart]
    files: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of these copies, by setting."""

    @property
    def checksum(self) -> str:
        """The checksums of all streams and of the static graph in one line."""
        parts = {"static": self.static, **self.streams}
        return " ".join(f"{name}={part.checksum}" for name, part in parts.items() if part is not None)

    @classmethod
    def read(cls, directory: Path) -> WorldManifest:
        """Return the manifest of a generated world, or raise DataError."""
        place = directory / MANIFEST
        try:
            given = json.loads(place.read_text("utf-8"))
        except FileNotFoundError:
            raise DataError(
                f"{directory}: no {MANIFEST}: not a generated world, or its generation did not finish"
            ) from None
        except (ValueError, OSError) as error:
            raise DataError(f"{place}: expected a manifest in JSON, got: {error}") from error
        if not isinstance(given, dict) or given.get("version") != VERSION:
            raise DataError(f"{place}: expected version {VERSION} of the manifest: generate the world again")
        streams = {name: _part(part) for name, part in given.pop("streams").items()}
        static, settings = given.pop("static"), given.pop("settings")
        settings |= {name: str(directory / settings[name]) for name in given.get("files", {})}
        return cls(**given, settings=settings, static=None if static is None else _part(static), streams=streams)

    def write(self, directory: Path) -> None:
        """Write the manifest atomically."""
        write_atomically(directory / MANIFEST, json.dumps(asdict(self), indent=1) + "\n")


def _part(given: dict[str, Any]) -> ManifestPart:
    return ManifestPart(**{**given, "files": tuple(given["files"]), "texts": tuple(given["texts"])})
