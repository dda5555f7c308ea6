"""Start-up checks: whether a query may resume from a checkpoint, and whether a results directory belongs to it.

The checks change nothing, so a start that is refused does not disturb the driver that runs. They run before the lease
is taken and once more afterwards, because the other driver may have advanced in between.

A results directory belongs to one checkpoint. Both hold a file with the same random owner id, written when the
checkpoint first writes results. If one of the two files is missing or damaged, the batch records decide: the results
belong to a checkpoint whose records cover every segment that is not empty.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping

from hydrograph.errors import RunError
from hydrograph.live.checkpoint.batch_commit import BATCHES
from hydrograph.live.step.records import BatchDecision, Partition, QueryVersion
from hydrograph.live.storage.files import Files, TornError, frame, unframe

OWNER = "owner"


def check_resumable(
    last: BatchDecision | None, name: str, version: QueryVersion, partitions: Iterable[Partition]
) -> None:
    """Raise RunError if a query and its partitions do not match the last batch of a checkpoint."""
    if last is None:
        return
    missing = sorted({*last.end} - {*partitions})
    if missing:
        raise RunError(
            f"the checkpoint has read from {', '.join(missing)}, which is not given now: "
            "give every stream as often as before, since open windows may still contain its elements"
        )
    recorded = last.queries.get(name)
    if recorded is None or recorded.version != version.version:
        return
    if version.graphs not in (recorded.graphs, recorded.first):  # ambiguous: neither the first nor the current data
        raise RunError(
            f"the static data of {name} is neither what it started with nor what it has now: "
            "start it with one of these, and replace its static data while it runs"
        )


def check_owner(checkpoint: Files, results: Files) -> None:
    """Raise RunError if results are known to belong to another checkpoint."""
    own, theirs = _read_owner(checkpoint), _read_owner(results)
    if theirs is None or theirs == own or (own is None and checkpoint.names(BATCHES)):
        return
    raise _other_owner(theirs, own)


def claim_results(
    checkpoint: Files, results: Files, directory: str, stored: Mapping[str, int], committed: Mapping[str, int]
) -> None:
    """Make a checkpoint the owner of results; raise RunError and change nothing if they belong to another.

    `stored` are the sizes of the segments in a directory of the results, `committed` the lengths in the last record.
    """
    check_owner(checkpoint, results)
    own, theirs = _read_owner(checkpoint), _read_owner(results)
    if own is not None and own == theirs:
        return
    epochs = {name.split(".")[1] for name in checkpoint.names(BATCHES) if name.count(".") == 2}
    for name, size in stored.items():
        if name in committed:
            last = results.read(f"{directory}/{name}", committed[name] - 1) if 0 < committed[name] <= size else b""
            covered = last is not None and last[:1] in (b"\n", b"") and committed[name] <= size
        else:  # uncommitted units
            covered = name.partition("-")[0] in epochs
        if size and not covered:
            raise _other_owner(theirs, own, name)
    owner = own or theirs or secrets.token_hex(16)
    if own is None:
        checkpoint.write(OWNER, frame(owner))
    if theirs is None and not results.claim(OWNER, frame(owner)):
        check_owner(checkpoint, results)  # another checkpoint may have claimed them at the same time
        results.write(OWNER, frame(owner))


def _read_owner(files: Files) -> str | None:
    """Return the stored owner id; None if it is missing or damaged."""
    try:
        return unframe(files.read(OWNER) or b"")
    except TornError:
        return None


def _other_owner(theirs: str | None, own: str | None, segment: str | None = None) -> RunError:
    expected = "no owner, since this checkpoint is new" if own is None else f"owner {own}"
    actual = f"owner {theirs}" if theirs is not None else f"no owner, and {segment}, which no record of it covers"
    return RunError(
        f"the results belong to another checkpoint: expected {expected}, got {actual}; nothing was changed: "
        "start with the checkpoint that wrote them, or use another results directory"
    )
