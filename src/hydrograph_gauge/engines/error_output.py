"""Standard error of an engine: the lines that explain a failure, and the part to which it is attributed."""

from __future__ import annotations

import re

from hydrograph_gauge.engines.outcome import Origin

_LINES = 6
_WIDTH = 300
_NOISE = re.compile(
    r"\s*$|\s+at [\w.$/<>]+\(|\s*\.\.\. \d+ more|Note: |SLF4J: |log4j:WARN|Picked up |Was expecting|    "
    r"|WARNING: (?:An illegal|Please|Use|All)"
)
"""Beginnings of lines that explain nothing: frames of a stack, notes of a compiler, advice of a logger."""
_TELLING = re.compile(
    r"error|exception|fail|unrecogni|not supported|unsupported|ignor|warn|refus|cannot|killed|memory|adapter:", re.I
)
_ADAPTER = re.compile(
    r"InaccessibleObjectException|NoClassDefFoundError|ClassNotFoundException|NoSuchMethodError|UnsupportedClassVersion"
    r"|Could not find or load main class|error: compilation failed|Unrecognized option|\badapter:|ModuleNotFoundError"
)
"""Signs that an engine could not run because of what it was given: classes, versions, options."""
_OWN_FRAME = re.compile(r'File "[^"]*hydrograph_gauge/engines/[^"]*", line \d+')


def relevant_lines(text: str) -> tuple[str, ...]:
    r"""Return the lines of standard error that explain something, each once: the telling ones, or else the last.

    >>> relevant_lines("SLF4J: no logger\nunrecognized block ElementFilter\n\tat a.B.c(D.java:1)\nready\n")
    ('unrecognized block ElementFilter',)
    """
    lines = [line.strip()[:_WIDTH] for line in text.splitlines() if not _NOISE.match(line)]
    telling = [line for line in lines if _TELLING.search(line)]
    return tuple(dict.fromkeys(telling or lines[-2:]))[:_LINES]


def attribute(words: str) -> Origin:
    """Return the part to which the message of a failure points: the adapter by its signs, or else the engine.

    >>> attribute("NoClassDefFoundError: net.sf.cglib.core.ReflectUtils")
    <Origin.ADAPTER: 'adapter'>
    """
    if _ADAPTER.search(words):
        return Origin.ADAPTER
    frames = [line for line in words.splitlines() if line.lstrip().startswith("File ")]
    return Origin.ADAPTER if frames and _OWN_FRAME.search(frames[-1]) else Origin.ENGINE
