"""Program with a line format of its own: reads `s p o t`, prints the content of tumbling windows of one second.

python line_program.py QUERY STATIC [GRAPHS]
"""

from __future__ import annotations

import sys
from pathlib import Path

REFUSED = {"FILTER": "no filters here", "BIND": "what is BIND?", "MINUS": "not today"}


def static() -> str:
    """Return the objects of the static triples of each graph."""
    places = [line.split("\t") for line in Path(sys.argv[3]).read_text("utf-8").splitlines()]
    texts = [("default", sys.argv[2]), *places]
    objects = ((name, [line.split()[2] for line in Path(file).read_text().splitlines()]) for name, file in texts)
    return " ".join(f"{name}: {' '.join(found)}" for name, found in objects)


def main() -> None:
    query = Path(sys.argv[1]).read_text("utf-8")
    refused = [words for word, words in REFUSED.items() if word in query]
    if "SAY THE STATIC DATA" in query:
        refused = [f"no {static()}"]
    if refused:
        print(f"no: {refused[0]}", flush=True)  # noqa: T201
        return
    print("welcome", flush=True)  # noqa: T201
    close: int | None = None
    inside: list[str] = []

    def report() -> None:
        for row in inside:
            print("> " + row)  # noqa: T201
        print(f"= {close}", flush=True)  # noqa: T201
        inside.clear()

    for line in sys.stdin:
        if line == "bye\n":
            report()
            return
        s, _, o, t = line.split()
        close = close if close is not None else int(t) // 1000 * 1000 + 1000
        while int(t) >= close:
            report()
            close += 1000
        inside.append(f"{s}|{o}")


if __name__ == "__main__":
    main()
