"""An engine that executes at each element, takes its time, and fails where the next element does not wait for it.

It says of every execution that it is over, with rows or without, but only for queries that read the element's stream.
"""

from __future__ import annotations

import io
import json
import select
import sys

PAUSE = 0.1


def say(**reply: object) -> None:
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


def main() -> None:
    streams: dict[str, str] = {}
    source = io.FileIO(0)  # nothing may be read ahead
    while line := source.readline():
        told = json.loads(line)
        match told["do"]:
            case "register":
                streams[told["query"]] = told["text"].strip("<>")
                say(reply="registered", query=told["query"])
            case "send":
                if told["stream"] in streams.values() and select.select([0], [], [], PAUSE)[0]:
                    say(reply="failed", words="an element came while another was worked on")
                for query, reads in streams.items():
                    if reads.endswith("!"):
                        say(reply="failed", query=query, words="it was asked to fail")
                    elif reads == told["stream"]:
                        rows = [{"s": "<urn:x>"}] if told["t"] % 4 < 2 else []
                        say(reply="answer", query=query, rows=rows)
                        say(reply="finished", query=query)
            case "unregister":
                say(reply="unregistered", query=told["query"])
            case "end":
                say(reply="ended")
            case _:
                return


if __name__ == "__main__":
    main()
