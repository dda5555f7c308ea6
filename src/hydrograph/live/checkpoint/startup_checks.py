"""Whether a start may go on with a checkpoint: with all that its queries have read so far, and with nothing else.

Everything is only looked at. What can be refused is, before the checkpoint is taken from a driver that runs well; and
once more after that, since the other one may have gone on in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hydrograph.errors import RunError
from hydrograph.live.checkpoint import record_reader as records
from hydrograph.live.checkpoint.results_owner import check_owner
from hydrograph.live.driver.registered_query import Member
from hydrograph.live.sources.inputs import Input
from hydrograph.live.step.records import Batch
from hydrograph.live.storage.files import Files


def check_before(
    checkpoint: Files, results: Files | None, about: Mapping[str, Any], founding: Member, inputs: Sequence[Input]
) -> None:
    """Raise RunError if a start with this query, these sources and these results would be refused."""
    check_known(records.newest(checkpoint, about), founding, inputs)
    if results is not None:
        check_owner(checkpoint, results)


def check_known(known: Batch | None, founding: Member, inputs: Sequence[Input]) -> None:
    """Raise RunError if less, or something else, is given than the last batch of a checkpoint speaks of."""
    if known is None:
        return
    missing = sorted({*known.end} - {each.name for each in inputs})
    if missing:
        raise RunError(
            f"the checkpoint has read from {', '.join(missing)}, which is not given now: "
            "give every stream as often as before, since windows may still show what came of it"
        )
    enrolled = known.queries.get(founding.name)
    if enrolled is None or enrolled.version != founding.enrolled.version:
        return
    if founding.graphs not in (enrolled.graphs, enrolled.first):  # which is meant?
        raise RunError(
            f"{founding.name} is given other static data than it began with and than it has now: "
            "start it with either, and replace its static data while it runs"
        )
