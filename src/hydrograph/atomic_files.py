"""Atomic writes: a file or directory appears under its name complete, or not at all.

The content is written under a temporary name beside the target and renamed when it is complete. The temporary name
starts with a dot and carries the process id, so that listings skip it and two processes do not collide.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path to write a file or directory to; rename it to `target` on success, remove it on error.

    A file replaces an existing file. A directory replaces an empty directory only.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "report.txt") as temporary:
    ...         _ = temporary.write_text("complete")
    ...     [path.name for path in Path(folder).iterdir()]
    ['report.txt']
    """
    temporary = temporary_path(target)
    try:
        yield temporary
        temporary.replace(target)
    except BaseException:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)
        raise


def temporary_path(target: Path) -> Path:
    """Return the hidden path beside `target` that this process writes to first."""
    return target.with_name(f".{target.name}.partial-{os.getpid()}")


def write_atomically(target: Path, content: str | bytes) -> None:
    """Write a whole file atomically; text is encoded as UTF-8."""
    with atomic_path(target) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
