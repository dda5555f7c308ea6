"""Engine adapters with one fault each, started as programs: `python faulty_engine.py FAULT [SIZE|FILE]`."""

from __future__ import annotations

import io
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO

from hydrograph.errors import UnsupportedError
from hydrograph_gauge.engines.adapter import Replies, serve
from hydrograph_gauge.engines.oxigraph import IncrementalOxigraph, WindowedQuery
from hydrograph_gauge.engines.protocol import Answer, Finished

BUSY = 0.3
BUFFERED_ELEMENTS = 2


class FaultyEngine(IncrementalOxigraph):
    """Correct engine except for one fault."""

    def __init__(self, fault: str, more: str | None = None) -> None:
        """Create an engine with a fault; more is its size in milliseconds, or a file for what it remembers."""
        super().__init__()
        self.late = 300 if fault != "evict" or more is None else int(more)
        if fault == "every-other" and more is not None:
            with Path(more).open("a+") as runs:
                runs.write("run\n")
                runs.seek(0)
                fault = "drop-all" if len(runs.readlines()) % 2 == 0 else "none"
        self.fault = fault
        self.elements = self.windows = 0
        self.hoard: list[bytes] = []

    def register(self, name: str, text: str) -> None:
        if self.fault == "unsupported":
            raise UnsupportedError("windows are not supported")
        super().register(name, text)

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:
        self.elements += 1
        if self.fault == "hog":
            self.hoard.append(os.urandom(8 << 20))
        if self.fault == "drop-all" or (self.fault == "drop" and self.elements % 5 == 0):
            return
        if self.fault in ("shift", "shift-unnamed"):
            t -= 400
        yield from self._alter(super().send(stream, t, triples))
        if self.fault == "eager":
            for name, query in self.queries.items():
                yield Answer(query=name, rows=query.rows())
                yield Finished(query=name)

    def end(self) -> Replies:
        if self.fault != "open-end":
            yield from self._alter(super().end())

    def _close(self, name: str, query: WindowedQuery, until: int) -> Replies:
        if self.fault != "evict":
            yield from super()._close(name, query, until)
            return
        while query.next_close is not None and query.next_close <= until:
            query.remove_before(query.next_close - query.grid.width - self.late)
            yield Answer(query=name, rows=query.rows(), t=query.next_close)
            yield Finished(query=name)
            query.next_close += query.grid.step

    def _alter(self, answers: Replies) -> Replies:
        for answer in answers:
            if isinstance(answer, Answer):
                self.windows += 1
                self._fail_at_window(self.windows)
                rows = answer.rows
                if self.fault == "duplicate":
                    rows = (*rows, *rows)
                if self.fault == "round":
                    rows = tuple({**row, "v": row["v"].replace('.5"', '.0"')} for row in rows)
                if self.fault == "retype":
                    rows = tuple(
                        {name: term.replace("#integer>", "#double>") for name, term in row.items()} for row in rows
                    )
                if self.fault == "foreign":
                    rows = ({"stranger": "<urn:x>"},)
                if self.fault in ("unnamed", "shift-unnamed"):
                    answer = answer.model_copy(update={"t": None})
                if self.fault == "lazy" and self.windows % 3 == 0:
                    continue
                yield answer.model_copy(update={"rows": rows})
            else:
                yield answer

    def _fail_at_window(self, number: int) -> None:
        if self.fault == "slow":
            time.sleep(BUSY)
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


class LossyInput:
    """Standard input with a small buffer: elements that arrive while the engine is busy are dropped, as by a socket."""

    def __init__(self, source: BinaryIO) -> None:
        """Start reading."""
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def _read(self, source: BinaryIO) -> None:
        for line in source:
            if b'"send"' not in line or self._lines.qsize() < BUFFERED_ELEMENTS:
                self._lines.put(line)
        self._lines.put(b"")

    def serve(self, engine: FaultyEngine) -> None:
        """Execute the commands that were not dropped."""
        for line in iter(self._lines.get, b""):
            serve(engine, io.BytesIO(line), sys.stdout.buffer)


if __name__ == "__main__":
    engine = FaultyEngine(*sys.argv[1:])
    if sys.argv[1] == "slow":
        LossyInput(sys.stdin.buffer).serve(engine)
    else:
        serve(engine)
