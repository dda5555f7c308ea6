"""Stub of SWI-Prolog with ETALIS, which cannot be fetched: reports a price below the previous one."""

from __future__ import annotations

import sys
from pathlib import Path


def say(*parts: str) -> None:
    print(*parts, sep="\t", flush=True)  # noqa: T201


def main() -> None:
    runner, _, engine, query, static = (Path(each) for each in sys.argv[4:])
    assert sys.argv[1:4] == ["-q", "-g", "main"]
    assert runner.is_file()
    assert engine.is_file()
    text = query.read_text().partition("\n")[2]
    if text.startswith("CONSTRUCT"):
        return say("refused", "unsupported: no SELECT")
    if "SEQ" not in text:
        return say("refused", "syntax: no SEQ")
    say("ready")
    listed = {line.split()[0] for line in static.read_text().splitlines()}
    last: dict[str, float] = {}
    rows: list[str] = []
    for line in sys.stdin:
        if line == "over\n":
            for row in rows:
                say("row", row)
            rows.clear()
            say("finished")
            continue
        t, company, _, price = line.rstrip("\n").split("\t")
        assert int(t) >= 0
        value = float(price.split('"')[1])
        if company in listed and value < last.get(company, 0):
            rows.append(company)
        last[company] = value
    return None


if __name__ == "__main__":
    main()
