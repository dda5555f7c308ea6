"""What Java has to be told before it starts, so that making triples is fast."""

from __future__ import annotations

import os

_OPTION = "-XX:-DontCompileHugeMethods"


def compile_long_methods() -> None:
    """Let Java compile methods of more than 8,000 bytes: those that make triples are, and are slow else.

    It has an effect on the Java that Spark starts next.
    """
    known = os.environ.get("JDK_JAVA_OPTIONS", "")
    if _OPTION not in known.split():
        os.environ["JDK_JAVA_OPTIONS"] = f"{known} {_OPTION}".strip()
