"""`hydrograph convert`, there and back."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner

from hydrograph.cli.convert import command
from hydrograph.errors import DataError, HydrographError, UsageError

LINES = [
    '-3\t<urn:s> <urn:p> "${x} \'; -- `b` \\" \\\\ \\n"@en .',
    "0\t<urn:s> <urn:p> <urn:o> .",
    "0\t<urn:s> <urn:p> <urn:o> .",
    "1:1\t_:a <urn:p> <urn:x> .",
    "1:1\t_:a <urn:q> _:b.c .",
    "1:2\t_:a <urn:p> <urn:x> .",
    "1:2\t_:a <urn:p> <urn:y> .",
    "1\t_:a <urn:p> <urn:x> .",
    '2\t<urn:s> <urn:p> "1.50"^^<http://www.w3.org/2001/XMLSchema#decimal> .',
    '2\t<urn:s> <urn:p> "é漢😀\x00" .',
]


def convert(*arguments: object, given: bytes | None = None) -> tuple[str, str]:
    """Run the command; return what it wrote to standard output and standard error."""
    ran = CliRunner().invoke(command, [str(argument) for argument in arguments], input=given, standalone_mode=False)
    if ran.exception is not None:
        raise ran.exception
    return ran.stdout, ran.stderr


@pytest.mark.parametrize("placement", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_there_and_back(tmp_path: Path, placement: str, request: pytest.FixtureRequest) -> None:
    if placement == "spark":
        request.getfixturevalue("spark")
    source, target = tmp_path / "in.tnt", tmp_path / "out"
    source.write_text("".join(f"{line}\n" for line in reversed(LINES)))
    _, told = convert(source, target, "--placement", placement, "--stream", "urn:stream")
    assert told.startswith("10 rows, 8 elements, 0 bad lines, ")
    for name in ("back.tnt", "back.tnt.gz", "back.tnt.zst"):
        convert(target, tmp_path / name)
    back = (tmp_path / "back.tnt").read_bytes()
    assert gzip.decompress((tmp_path / "back.tnt.gz").read_bytes()) == back
    with (tmp_path / "back.tnt.zst").open("rb") as packed:
        assert zstandard.ZstdDecompressor().stream_reader(packed).read() == back
    assert convert(target, "-")[0].encode() == back
    # Only the numbers of elements may differ: they count on from one at each time.
    plain = [line.partition("\t")[2] for line in back.decode().splitlines()]
    assert sorted(plain) == sorted(line.partition("\t")[2] for line in LINES)
    convert(tmp_path / "back.tnt", tmp_path / "again", "--stream", "urn:stream")
    assert convert(tmp_path / "again", "-")[0].encode() == back


def test_standard_input_and_bad_lines(tmp_path: Path) -> None:
    given = b"1\t<urn:s> <urn:p> <urn:o> .\nbroken\n"
    with pytest.raises(DataError, match="line 2"):
        convert("-", tmp_path / "out", given=given)
    assert list(tmp_path.iterdir()) == []
    assert "1 rows, 1 elements, 1 bad lines" in convert("-", tmp_path / "out", "--bad-lines", "skip", given=given)[1]
    convert("-", tmp_path / "out", "--bad-lines", tmp_path / "bad", "--force", given=given)
    assert (tmp_path / "bad").read_bytes() == b"broken\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("in.tnt", "x.ttl"), "--to-format turtle"),
        (("in.tnt", "-", "--to-format", "turtle"), "written as a directory"),
        (("in.tnt", "x.trig", "--to-format", "jelly"), "ends in .jelly"),
        (("in.tnt", "out", "--to-format", "turtle", "--force"), "out exists"),
        (("out", "x.csv"), "ends in"),
        (("in.tnt", "out"), "--force"),
        (("out", "in.tnt"), "--force"),
        (("in.tnt", "x.trig", "--bad-lines", "-"), "expected fail, skip or a file name"),
    ],
)
def test_wrong_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.tnt").write_text("1\t<urn:s> <urn:p> <urn:o> .\n")
    convert("in.tnt", "out")
    with pytest.raises(UsageError, match=complaint) as caught:
        convert(*arguments)
    assert isinstance(caught.value, HydrographError)


def test_a_target_named_like_a_parquet_file_is_a_directory_of_them(tmp_path: Path) -> None:
    given = b"1\t<urn:s> <urn:p> <urn:o> .\n"
    assert "1 rows" in convert("-", tmp_path / "out.parquet", given=given)[1]
    assert (tmp_path / "out.parquet" / "part-00000.parquet").is_file()
