"""Removal of what identifies a machine from texts that are published: paths, the host, and where engines lie on it.

Only messages, settings and names of engines are changed. Queries, rows and triples are data and stay as they are.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PATH = re.compile(r"(?:file://|(?<![\w/:.<>~-]))(?:/[\w.+@=~-]+)+/?")
"""An absolute path; not the path of an IRI, which follows a host."""
_KEPT = {
    "text", "asked", "oracle_text", "texts", "variables", "row", "rows", "triples", "missing", "extra", "smallest",
    "features", "published", "streams", "static", "questions", "tests",
}  # fmt: skip
"""Fields with queries and data."""
_COMMON_HOSTS = {"localhost", "", "main", "host"}


@dataclass(frozen=True, slots=True)
class MachineNames:
    """Names of one machine, with what is published in their place."""

    folders: Mapping[str, str] = field(default_factory=dict)
    """Folders whose names may contain spaces, with their replacement."""
    engines: Mapping[str, str] = field(default_factory=dict)
    """Names of engines that contain a path or an address."""
    host: str = ""

    def strip(self, text: str) -> str:
        """Return a message without paths and without the name of the host.

        >>> MachineNames({"/home/ann": "HOME"}, host="box7").strip('File "/usr/lib/x.py" on box7: /home/ann/a b.nt')
        'File "x.py" on HOST: HOME/a b.nt'
        >>> MachineNames().strip("<http://example.org/a/b> 1/2 km/h /a/b/c.jar")
        '<http://example.org/a/b> 1/2 km/h c.jar'
        """
        for folder, name in sorted(self.folders.items(), key=lambda each: -len(each[0])):
            text = re.sub(rf"{re.escape(folder)}(?![\w.-])", name, text)
        text = _PATH.sub(lambda found: found[0].rstrip("/").rsplit("/", 1)[-1], text)
        return re.sub(rf"\b{re.escape(self.host)}\b", "HOST", text) if self.host not in _COMMON_HOSTS else text

    def strip_engine(self, name: str) -> str:
        """Return the published name of an engine."""
        return self.engines.get(name, name)

    def strip_json(self, value: Any) -> Any:
        """Return a value of JSON without paths; fields with queries and data stay as they are."""
        match value:
            case str():
                return self.engines.get(value) or self.strip(value)
            case list():
                return [self.strip_json(each) for each in value]
            case dict():
                changed = {key: each if key in _KEPT else self.strip_json(each) for key, each in value.items()}
                if isinstance(texts := value.get("texts"), dict):  # by engine
                    changed["texts"] = {self.strip_engine(engine): text for engine, text in texts.items()}
                return changed
            case _:
                return value


def find_machine_names(run: Path, engines: Iterable[str]) -> MachineNames:
    """Return the names of this machine, for the run in a folder."""
    folders = {str(Path.home()): "HOME", str(Path.cwd()): ".", str(run.resolve()): "RUN"}
    folders = {folder: name for folder, name in folders.items() if folder != "/"}
    found: dict[str, str] = {}
    for engine in dict.fromkeys(engines):
        plain = base = _plain_engine(engine)
        number = 1
        while plain in found.values():  # two programs of one name in different folders
            number += 1
            plain = f"{base}-{number}"
        found[engine] = plain
    return MachineNames(folders, found, platform.node())


_ADDRESS = re.compile(r"//[^/:\s]+")


def _plain_engine(name: str) -> str:
    """Return the name of an engine without paths and hosts.

    >>> _plain_engine("program?eager=true:/usr/bin/python3 /home/ann/engine.py --fast")
    'program?eager=true:python3 engine.py --fast'
    >>> _plain_engine("rsp-services:http://box7:8175"), _plain_engine("oxigraph")
    ('rsp-services:http://host:8175', 'oxigraph')
    """
    base, colon, rest = name.partition(":")
    if not colon:
        return name
    if "://" in rest:
        return f"{base}:{_ADDRESS.sub('//host', rest)}"
    separator = "," if base == "described" else " "
    parts = [part.rstrip("/").rsplit("/", 1)[-1] for part in rest.split(separator)]
    return f"{base}:{separator.join(parts)}"
