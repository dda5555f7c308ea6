"""Whose results these are: one checkpoint writes to a directory of results, and no other.

Both have a file that says the same, made up when the checkpoint first writes results. Where one of the two is damaged
or was never there, the records tell: results belong to a checkpoint that speaks of every segment that holds something.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from hydrograph.errors import RunError
from hydrograph.live.checkpoint.record_reader import DIRECTORY
from hydrograph.live.step.records import TornError, framed, unframed
from hydrograph.live.storage.files import Files

OWNER = "owner"


def check_owner(checkpoint: Files, results: Files) -> None:
    """Raise RunError if results are known to belong to another checkpoint; nothing is changed."""
    own, theirs = _said(checkpoint), _said(results)
    if theirs is None or theirs == own or (own is None and checkpoint.names(DIRECTORY)):
        return
    raise _of_another(theirs, own)


def claim_results(
    checkpoint: Files, results: Files, directory: str, standing: Mapping[str, int], committed: Mapping[str, int]
) -> None:
    """Make results those of a checkpoint; raise RunError, and change nothing, if they are not.

    `standing` are the bytes of each segment in a directory of the results, `committed` those that the record speaks of.
    """
    check_owner(checkpoint, results)
    own, theirs = _said(checkpoint), _said(results)
    if own is not None and own == theirs:
        return
    drivers = {name.split(".")[1] for name in checkpoint.names(DIRECTORY) if name.count(".") == 2}
    for name, size in standing.items():
        if name in committed:
            last = results.read(f"{directory}/{name}", committed[name] - 1) if 0 < committed[name] <= size else b""
            covered = last is not None and last[:1] in (b"\n", b"") and committed[name] <= size
        else:  # units ahead of a record
            covered = name.partition("-")[0] in drivers
        if size and not covered:
            raise _of_another(theirs, own, name)
    owner = own or theirs or secrets.token_hex(16)
    if own is None:
        checkpoint.write(OWNER, framed(owner))
    if theirs is None and not results.claim(OWNER, framed(owner)):
        check_owner(checkpoint, results)  # another checkpoint may have come at the same time
        results.write(OWNER, framed(owner))


def _said(files: Files) -> str | None:
    """Return the owner that is written down, None if there is none, or it can't be read."""
    try:
        return unframed(files.read(OWNER) or b"")
    except TornError:
        return None


def _of_another(theirs: str | None, own: str | None, segment: str | None = None) -> RunError:
    expected = "none of another, since this checkpoint is new" if own is None else f"owner {own}"
    found = f"owner {theirs}" if theirs is not None else f"no owner, and {segment}, of which this one knows nothing"
    return RunError(
        f"the results belong to another checkpoint: expected {expected}, got {found}; nothing was changed: "
        "start with the checkpoint that wrote them, or choose another directory for results"
    )
