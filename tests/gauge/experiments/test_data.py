"""Data of experiments: the order of its files, and the names of its streams."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hydrograph.errors import UsageError
from hydrograph.rdf.terms import Iri
from hydrograph_gauge.experiments.data import prepare_data, read_elements, resolve_stream_names
from hydrograph_gauge.experiments.model import WorldTable
from hydrograph_gauge.worlds.manifest import ManifestPart, WorldManifest

TIMES = (0, 1000, 2000, 10_000)


def test_files_named_by_their_times_are_played_in_order_of_these(tmp_path: Path) -> None:
    graphs = tmp_path / "graphs"
    graphs.mkdir()
    for t in TIMES:
        (graphs / f"{t}.ttl").write_text(f"<urn:s> <urn:p> {t} .\n")
    data = prepare_data(WorldTable(streams={"urn:s": str(graphs)}, time="name"), 0, tmp_path / "kept")
    found = read_elements("urn:s", data.streams["urn:s"].location)
    assert [each.t for each in found] == list(TIMES)
    assert [each.seq for each in found] == sorted(each.seq for each in found)


def world_of(folder: Path, **streams: str) -> Path:
    """Write a manifest of a world whose streams have these IRIs, and all the same elements."""
    made = folder / "made.n3t"
    made.write_text("".join(f'<urn:s> <urn:p> <urn:o{t}> "{t}" .\n' for t in TIMES))
    (stream,) = prepare_data(WorldTable(streams={"urn:s": str(made)}, format="yabench"), 0, folder).streams.values()
    files = (Path(stream.location).name,)
    part = ManifestPart(path=files[0], triples=4, elements=4, first=0, last=10_000, checksum="0", files=files)
    parts = {name: replace(part, iri=iri) for name, iri in streams.items()}
    WorldManifest(hydrograph="0", world="made", seed=1, settings={}, static=None, streams=parts).write(folder)
    return folder


def test_the_only_stream_of_a_world_is_read_by_the_name_that_the_query_gives_it(tmp_path: Path) -> None:
    named = prepare_data(WorldTable(folder=world_of(tmp_path, own="urn:own"), stream="urn:asked"), 0, tmp_path)
    assert {iri: stream.name for iri, stream in named.streams.items()} == {"urn:asked": "urn:asked"}
    assert resolve_stream_names(named) == {"urn:asked": Iri("urn:asked"), "own": Iri("urn:asked")}
    assert [each.t for each in read_elements("urn:asked", named.streams["urn:asked"].location)] == list(TIMES)
    several = world_of(tmp_path, own="urn:own", other="urn:other")
    with pytest.raises(UsageError, match="expected a world of one stream to call urn:asked, got urn:own, urn:other"):
        prepare_data(WorldTable(folder=several, stream="urn:asked"), 0, tmp_path)
