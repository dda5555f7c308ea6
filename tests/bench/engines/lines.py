"""A program with lines of its own: reads `s p o t`, prints what each tumbling window of one second holds."""

from __future__ import annotations

import sys


def main() -> None:
    query = open(sys.argv[1], encoding="utf-8").read()  # noqa: PTH123, SIM115
    if "FILTER" in query:
        print("no: no filters here", flush=True)  # noqa: T201
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
