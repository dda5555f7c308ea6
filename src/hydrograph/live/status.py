"""What a live query says of itself in its checkpoint, for whoever asks from outside."""

from __future__ import annotations

import json
from typing import Any

from hydrograph.errors import RunError, UsageError
from hydrograph.live.storage.files import files_at

STATUS = "status.json"


def read_status(location: str) -> dict[str, Any]:
    """Return what a query has last said of itself in its checkpoint."""
    data = files_at(location).read(STATUS)
    if data is None:
        raise UsageError(
            f"{location}: expected the checkpoint of a live query, got none; see run --follow --checkpoint"
        )
    try:
        found: dict[str, Any] = json.loads(data)
    except ValueError:
        raise RunError(f"{location}/{STATUS} is torn: the next driver that runs writes it again") from None
    return found
