"""Codec of result units: one checksummed line holds the key and the report."""

from __future__ import annotations

import json

from hydrograph.live.step.units import UnitKey
from hydrograph.live.storage.framing import frame, unframe


def encode_unit(key: UnitKey, text: str) -> bytes:
    """Return a unit as it stands in a segment."""
    return frame(f"{json.dumps([key.query, key.version, key.window_class, key.t, key.ordinal])}\t{text}")


def decode_unit(line: bytes) -> tuple[UnitKey, str]:
    """Return key and text of a unit; raise TornError if it is not what was written."""
    head, _, text = unframe(line).partition("\t")
    query, version, window_class, t, ordinal = json.loads(head)
    return UnitKey(query, version, t, ordinal, window_class), text
