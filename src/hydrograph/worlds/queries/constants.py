"""Constants for the queries, chosen from a generated world so that there are answers."""

from __future__ import annotations

from pathlib import Path

import duckdb

from hydrograph.errors import DataError
from hydrograph.worlds.manifest import Part, WorldManifest
from hydrograph.worlds.social.vocabulary import FOAF, NAMES, SIOC

DISTANCE = "0.5"
"""Degrees within which a photo is near: people live within a tenth of a degree of a place, and photos show places."""

_BUSY = """
WITH posts AS (SELECT s AS author, count(*) AS n FROM read_parquet($posts) WHERE p = $creator_of GROUP BY s),
friends AS (
    SELECT k.s AS author, sum(f.n) AS n FROM read_parquet($static) AS k JOIN posts AS f ON f.author = k.o
    WHERE k.p = $knows GROUP BY k.s
)
SELECT p.author FROM posts AS p JOIN friends AS f USING (author) ORDER BY least(p.n, f.n) DESC, p.author LIMIT 1
"""


def social_constants(directory: Path) -> dict[str, str]:
    """Return the constants of LSBench for a generated social network: a user who posts, with friends who post."""
    manifest = WorldManifest.read(directory)
    if manifest.world != "social" or manifest.static is None:
        raise DataError(f"{directory}: expected a world of the kind social, got {manifest.world}")
    found = duckdb.execute(
        _BUSY,
        {
            "posts": _files(directory, manifest.streams["posts"]),
            "static": _files(directory, manifest.static),
            "creator_of": f"<{SIOC}creator_of>",
            "knows": f"<{FOAF}knows>",
        },
    ).fetchone()
    if found is None:
        raise DataError(f"{directory}: no user posts and has friends who post: generate more users")
    user = found[0][1:-1]
    number = user.removeprefix(NAMES["user"])
    return {"USER": user, "PERSON": f"{NAMES['person']}{number}", "DISTANCE": DISTANCE}


def _files(directory: Path, part: Part) -> list[str]:
    return [str(directory / part.path / name) for name in part.files]
