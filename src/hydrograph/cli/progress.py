"""A bar on standard error while a run works; only on a terminal, never in a pipe."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from hydrograph.runtime.run import Run

_INTERVAL = 0.5  # seconds between two looks at Spark


@contextmanager
def progress(run: Run) -> Iterator[Callable[[], None]]:
    """Show a bar until the first answer; the function given is to be called for each line written."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("reading", total=None)
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(run, bar, task, over), daemon=True)

    def done() -> None:
        if not over.is_set():
            over.set()
            bar.stop()

    with bar:
        watcher.start()
        try:
            yield done
        finally:
            over.set()
            watcher.join(2 * _INTERVAL)


def _watch(run: Run, bar: Progress, task: object, over: threading.Event) -> None:
    while not over.wait(_INTERVAL):
        tasks = run.tasks()
        if tasks is not None:
            finished, known = tasks
            bar.update(task, description="running on Spark", completed=finished, total=known)  # type: ignore[arg-type]
