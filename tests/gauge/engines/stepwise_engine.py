"""Slow engine that executes at each element, and fails if the next element arrives before it has finished.

It announces the end of every execution, with or without rows, but only for queries that read the element's stream.
"""

from __future__ import annotations

import io
import json
import select
import sys

PAUSE = 0.1


def reply_with(**reply: object) -> None:
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


def main() -> None:
    streams: dict[str, str] = {}
    source = io.FileIO(0)  # nothing may be read ahead
    while line := source.readline():
        command = json.loads(line)
        match command["do"]:
            case "register":
                streams[command["query"]] = command["text"].strip("<>")
                reply_with(reply="registered", query=command["query"])
            case "send":
                if command["stream"] in streams.values() and select.select([0], [], [], PAUSE)[0]:
                    reply_with(reply="failed", words="an element arrived during an execution")
                for query, reads in streams.items():
                    if reads.endswith("!"):
                        reply_with(reply="failed", query=query, words="failure on demand")
                    elif reads == command["stream"]:
                        rows = [{"s": "<urn:x>"}] if command["t"] % 4 < 2 else []
                        reply_with(reply="answer", query=query, rows=rows)
                        reply_with(reply="finished", query=query)
            case "unregister":
                reply_with(reply="unregistered", query=command["query"])
            case "end":
                reply_with(reply="ended")
            case _:
                return


if __name__ == "__main__":
    main()
