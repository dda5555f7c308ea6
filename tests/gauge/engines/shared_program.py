"""Program with one process for all queries, or one for each: acknowledges what it takes, slowly for a SLOW query.

python shared_program.py [QUERY]
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

texts: dict[str, str] = {}


def say(*parts: object) -> None:
    print(*parts, sep="\t", flush=True)  # noqa: T201


def register(number: str, file: str) -> None:
    """Answer with ready, or refuse; what it thinks of the query goes to standard error."""
    text = Path(file).read_text("utf-8")
    if "IGNORED" in text:
        sys.stderr.write("warning: IGNORED is ignored\n")
        sys.stderr.flush()
    if "BROKEN" in text:
        say("refused", number, "what is BROKEN?")
        return
    texts[number] = text
    say("ready", number)


def main() -> None:
    if len(sys.argv) > 1:
        register("0", sys.argv[1])
    for line in sys.stdin:
        word, *parts = line.rstrip("\n").split("\t")
        if word == "register":
            register(*parts)
        elif word == "unregister":
            texts.pop(parts[0], None)
        elif word == "element":
            now = time.time() * 1000
            for number, text in texts.items():
                if "FAILING" in text:
                    say("failed", number, "no more")
                    continue
                time.sleep(0.3 if "SLOW" in text else 0)
                say("row", number, f'"{os.getpid()}"')
                say("finished", number)
            say("taken", parts[0], now)


if __name__ == "__main__":
    main()
