"""Engines with one fault each, to be started as programs: `python planted.py FAULT`."""

from __future__ import annotations

import os
import sys
import time

from hydrograph.bench.engines.oxigraph import Incremental
from hydrograph.bench.engines.program import Answers, serve
from hydrograph.bench.engines.protocol import Answer, Finished
from hydrograph.errors import UnsupportedError


class Planted(Incremental):
    """Right but for its fault."""

    def __init__(self, fault: str) -> None:
        """Plant a fault."""
        super().__init__()
        self.fault = fault
        self.elements = self.windows = 0
        self.hoard: list[bytes] = []

    def register(self, name: str, text: str) -> None:
        if self.fault == "unsupported":
            raise UnsupportedError("no window is known here")
        super().register(name, text)

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Answers:
        self.elements += 1
        if self.fault == "hog":
            self.hoard.append(os.urandom(8 << 20))
        if self.fault == "drop" and self.elements % 5 == 0:
            return
        if self.fault == "late":
            t += 400
        yield from self._changed(super().send(stream, t, triples))
        if self.fault == "eager":
            for name, query in self.standing.items():
                yield Answer(query=name, rows=query.rows())
                yield Finished(query=name)

    def end(self) -> Answers:
        yield from self._changed(super().end())

    def _changed(self, answers: Answers) -> Answers:
        for answer in answers:
            if isinstance(answer, Answer):
                self.windows += 1
                self._at_window(self.windows)
                rows = answer.rows
                if self.fault == "duplicate":
                    rows = (*rows, *rows)
                if self.fault == "round":
                    rows = tuple({**row, "v": row["v"].replace('.5"', '.0"')} for row in rows)
                if self.fault == "foreign":
                    rows = ({"nobody": "<urn:x>"},)
                yield answer.model_copy(update={"rows": rows})
            else:
                yield answer

    def _at_window(self, number: int) -> None:
        if number < 3:
            return
        match self.fault:
            case "crash":
                sys.stderr.write("out of ideas\n")
                sys.stderr.flush()
                os._exit(9)
            case "hang":
                time.sleep(1_000)
            case "flood":
                while True:
                    sys.stdout.write('{"reply":"answer","query":"q","rows":[]}\n' * 1_000)
            case "garbage":
                sys.stdout.write("Result: 42\n")
                sys.stdout.flush()
            case _:
                pass


if __name__ == "__main__":
    serve(Planted(sys.argv[1]))
