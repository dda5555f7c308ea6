"""Durations in the syntax of queries, as whole milliseconds.

>>> parse_duration("PT1M30.5S"), parse_duration("100ms"), parse_duration("2000")
(90500, 100, 2000)
>>> print_duration(90500)
'PT1M30.5S'
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from hydrograph.temporal import DAY, HOUR, MINUTE, SECOND, Duration

_SHOWN = 40
_ISO = re.compile(
    r"P(?:(?P<years>[0-9]+)Y)?(?:(?P<months>[0-9]+)M)?(?:(?P<weeks>[0-9]+)W)?(?:(?P<days>[0-9]+)D)?"
    r"(?:T(?=[0-9])(?:(?P<hours>[0-9]+)H)?(?:(?P<minutes>[0-9]+)M)?(?:(?P<seconds>[0-9]+)(?:\.(?P<fraction>[0-9]+))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SHORT = re.compile(r"([0-9]+)(ms|s|m|h|d)?", re.IGNORECASE | re.ASCII)
_UNITS = {"ms": 1, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}
_PARTS = {"weeks": 7 * DAY, "days": DAY, "hours": HOUR, "minutes": MINUTE, "seconds": SECOND}
_MAX_LENGTH = 64  # of a duration's text; far beyond any window that is allowed


def parse_duration(text: str) -> Duration:
    """Return the milliseconds of an ISO 8601 duration, of a number with a unit, or of a bare number."""
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"expected a duration such as PT10S, got {text[:_SHOWN]}…")
    if found := _SHORT.fullmatch(text):
        return int(found[1]) * _UNITS[(found[2] or "ms").lower()]
    found = _ISO.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ValueError(f"expected a duration such as PT10S, 10s or 10000 (ms), got {text}")
    if found["years"] or found["months"]:
        raise ValueError(f"expected days or less, got {text}; months and years have no fixed length")
    whole = sum(int(found[part]) * unit for part, unit in _PARTS.items() if found[part])
    return whole + _milliseconds(found["fraction"] or "", text)


def print_units(duration: Duration, units: Mapping[str, Duration]) -> tuple[int, str]:
    """Return a duration as a number of the longest unit that divides it evenly.

    >>> print_units(90_000, {"s": 1000, "m": 60_000})
    (90, 's')
    """
    word = max((word for word, length in units.items() if duration % length == 0), key=units.__getitem__)
    return duration // units[word], word


def print_short(duration: Duration) -> str:
    """Return a duration as a number with a unit.

    >>> print_short(90_000), print_short(250)
    ('90s', '250ms')
    """
    number, word = print_units(duration, _UNITS)
    return f"{number}{word}"


def _milliseconds(fraction: str, text: str) -> Duration:
    """Return the fractional digits of seconds."""
    if fraction[3:].strip("0"):
        raise ValueError(f"expected whole milliseconds, got {text}; nothing shorter is kept")
    return int(fraction[:3].ljust(3, "0"))


def print_duration(duration: Duration) -> str:
    """Return `duration` in ISO 8601."""
    days, rest = divmod(duration, DAY)
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    seconds, fraction = divmod(rest, SECOND)
    behind = f".{fraction:03d}".rstrip("0") if fraction else ""
    clock = "".join(
        (
            f"{hours}H" if hours else "",
            f"{minutes}M" if minutes else "",
            f"{seconds}{behind}S" if rest or not duration else "",
        )
    )
    return "P" + (f"{days}D" if days else "") + (f"T{clock}" if clock else "")
