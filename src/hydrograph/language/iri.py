"""Resolution of relative IRIs, after [RFC 3986 section 5.2](https://www.rfc-editor.org/rfc/rfc3986#section-5.2).

>>> resolve("../c?q", "http://ex.org/a/b/x")
'http://ex.org/a/c?q'
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)


class _Parts(NamedTuple):
    """Five components of an IRI; None is undefined, which differs from empty."""

    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None

    def __str__(self) -> str:
        """Return the IRI recomposed from its components, section 5.3."""
        return "".join(
            (
                "" if self.scheme is None else f"{self.scheme}:",
                "" if self.authority is None else f"//{self.authority}",
                self.path,
                "" if self.query is None else f"?{self.query}",
                "" if self.fragment is None else f"#{self.fragment}",
            )
        )


def is_absolute(iri: str) -> bool:
    """Return whether `iri` has a scheme."""
    return _split(iri).scheme is not None


def resolve(reference: str, base: str) -> str:
    """Return `reference` as an absolute IRI; one that is absolute stays as it is written."""
    parts = _split(reference)
    if parts.scheme is not None:
        return reference
    root = _split(base)
    if parts.authority is not None:
        return str(parts._replace(scheme=root.scheme, path=_without_dots(parts.path)))
    if not parts.path:
        query = root.query if parts.query is None else parts.query
        return str(root._replace(query=query, fragment=parts.fragment))
    path = parts.path if parts.path.startswith("/") else _merge(root, parts.path)
    return str(root._replace(path=_without_dots(path), query=parts.query, fragment=parts.fragment))


def _split(iri: str) -> _Parts:
    """Return the components of `iri`."""
    found = _PARTS.fullmatch(iri)
    assert found is not None, iri
    return _Parts(found[1], found[2], found[3], found[4], found[5])


def _merge(base: _Parts, path: str) -> str:
    """Put `path` in place of the last segment of the base's path, section 5.2.3."""
    if base.authority is not None and not base.path:
        return "/" + path
    return base.path[: base.path.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    """Remove the segments `.` and `..`, section 5.2.4."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0] != ""):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    if path.startswith("/") and (not kept or kept[0] != ""):
        kept.insert(0, "")
    return "/".join(kept)
