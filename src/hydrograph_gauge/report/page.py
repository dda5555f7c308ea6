"""The report page: built from the folders of runs, rendered as a single file that makes no requests.

The program is ours and small. Vega-Lite would be a megabyte on every page and, without its interpreter, needs a policy
that lets the page compile text (`unsafe-eval`), which is what a page full of foreign literals must not allow. The few
charts that are needed (lines, points, dots, boxes, spans) are less work than that.

Data is embedded as JSON in which no character can end the enclosing element, and the program puts it into text nodes
only. The policy allows this style and this program by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from importlib.resources import files
from pathlib import Path

from hydrograph.atomic_files import write_atomically
from hydrograph.errors import UsageError
from hydrograph_gauge.report.document import Document, RunPart
from hydrograph_gauge.report.run_data import RunData, read_run
from hydrograph_gauge.report.sections import SECTIONS, load_section

_STYLE = "page.css"
_PROGRAM = ("elements.js", "formats.js", "scales.js", "frames.js", "charts.js", "tables.js", "drilldown.js", "page.js")
_DIGITS = 7
_ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def build(folders: Sequence[Path], target: Path) -> None:
    """Write one page about the runs in `folders` to `target`, whole or not at all."""
    if not folders:
        raise UsageError("expected the folder of at least one run, got none")
    write_atomically(target, render(build_document([read_run(folder) for folder in folders])))


def build_document(runs: Sequence[RunData]) -> Document:
    """Return the document of a page: a part for each run, with the sections that it has data for."""
    parts = tuple(_part(run, number) for number, run in enumerate(runs))
    title = parts[0].title if len(parts) == 1 else f"{len(parts)} experiments"
    return Document(title, parts)


def _part(run: RunData, number: int) -> RunPart:
    run.number = number
    sections = [load_section(name)(run) for name in SECTIONS]
    seeds = run.origin.all_seeds
    seed = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    commit = f"commit {run.origin.commit[:12]}" if run.origin.commit else ""
    note = ", ".join(filter(None, [run.origin.experiment, run.origin.started, seed, commit]))
    return RunPart(run.origin.title or run.origin.experiment, note, run.engines, tuple(filter(None, sections)))


def render(document: Document) -> str:
    """Return the page."""
    style = _asset(_STYLE)
    program = '"use strict";\n(() => {\n' + "\n".join(map(_asset, _PROGRAM)) + "})();\n"
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(program)}",
            f"style-src {_hash(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    # Each piece replaces its mark; pieces are not searched for marks again.
    pieces = {
        "policy": html.escape(policy),
        "title": html.escape(document.title),
        "style": style,
        "data": data(document),
        "program": program,
    }
    text = _asset("page.html")
    found = []
    while "{{" in text:
        before, _, rest = text.partition("{{")
        name, _, text = rest.partition("}}")
        found += [before, pieces[name]]
    return "".join([*found, text])


def data(document: Document) -> str:
    r"""Return the document as JSON that is safe inside a script element, whatever it contains.

    >>> data(Document("</script> & <!--", ()))
    '{"title":"\\u003c/script\\u003e \\u0026 \\u003c!--","parts":[]}'
    """
    text = json.dumps(_plain(document), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPED)


def _plain(value: object) -> object:
    """Return records as dictionaries and numbers with as many digits as a figure can need."""
    if isinstance(value, float):
        return _number(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    assert is_dataclass(value), f"a document holds no {type(value).__name__}"
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}") if abs(value) < 10**_DIGITS else round(value)
    return int(rounded) if rounded == int(rounded) else rounded


def _asset(name: str) -> str:
    text = (files("hydrograph_gauge.report") / "assets" / name).read_text("utf-8")
    assert "\r" not in text, f"{name}: a browser takes the hash over line feeds alone"
    return text


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
