"""Where `hydrograph run` puts its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hydrograph.errors import RunError
from hydrograph.runtime.reports import Report
from hydrograph.runtime.results import FORMATS, Answers, write_answers
from hydrograph.runtime.run import Run
from hydrograph.streams.formats.tnt import STDIN, written

DIGEST = "digest"
NAMES = (*FORMATS, DIGEST)
"""The formats of `--format`; a digest is the row count and an order-free hash of each report."""


def write_results(run: Run, name: str, format_: str, output: str | None, done: Callable[[], None]) -> None:
    """Write the answers of a run; `done` is called when there is a report to write."""

    def reports() -> Iterator[Report]:
        for report in run.reports():
            done()
            yield report

    target = output or STDIN
    try:
        if format_ == DIGEST:
            with written(target) as out:
                for digest in run.digests():
                    done()
                    out.write(f"{digest}\n".encode())
            return
        write_answers(Answers(name, run.plan.query.form, run.plan.variables, reports()), format_, target)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunError(f"{target}: {error.strerror or error}") from None
