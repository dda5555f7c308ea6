from __future__ import annotations

import pytest

from hydrograph.language.iri import is_absolute, resolve

BASE = "http://a/b/c/d;p?q"

# https://www.rfc-editor.org/rfc/rfc3986#section-5.4
NORMAL = {
    "g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/", "/g": "http://a/g", "//g": "http://g",
    "?y": "http://a/b/c/d;p?y", "g?y": "http://a/b/c/g?y", "#s": "http://a/b/c/d;p?q#s", "g#s": "http://a/b/c/g#s",
    "g?y#s": "http://a/b/c/g?y#s", ";x": "http://a/b/c/;x", "g;x": "http://a/b/c/g;x", "g;x?y#s": "http://a/b/c/g;x?y#s",
    "": "http://a/b/c/d;p?q", ".": "http://a/b/c/", "./": "http://a/b/c/", "..": "http://a/b/", "../": "http://a/b/",
    "../g": "http://a/b/g", "../..": "http://a/", "../../": "http://a/", "../../g": "http://a/g",
}  # fmt: skip
ABNORMAL = {
    "../../../g": "http://a/g", "../../../../g": "http://a/g", "/./g": "http://a/g", "/../g": "http://a/g",
    "g.": "http://a/b/c/g.", ".g": "http://a/b/c/.g", "g..": "http://a/b/c/g..", "..g": "http://a/b/c/..g",
    "./../g": "http://a/b/g", "./g/.": "http://a/b/c/g/", "g/./h": "http://a/b/c/g/h", "g/../h": "http://a/b/c/h",
    "g;x=1/./y": "http://a/b/c/g;x=1/y", "g;x=1/../y": "http://a/b/c/y", "g?y/./x": "http://a/b/c/g?y/./x",
    "g?y/../x": "http://a/b/c/g?y/../x", "g#s/./x": "http://a/b/c/g#s/./x", "g#s/../x": "http://a/b/c/g#s/../x",
}  # fmt: skip


@pytest.mark.parametrize(("reference", "resolved"), [*NORMAL.items(), *ABNORMAL.items()])
def test_the_examples_of_the_rfc(reference: str, resolved: str) -> None:
    assert resolve(reference, BASE) == resolved


@pytest.mark.parametrize(
    ("reference", "base", "resolved"),
    [
        ("x", "http://a", "http://a/x"),
        ("http://b/../c", "http://a", "http://b/../c"),
        ("urn:x", "http://a", "urn:x"),
        ("b", "urn:a", "urn:b"),
        ("é", "http://a/ü", "http://a/é"),
        ("..", "file:///a/b/c", "file:///a/"),
    ],
)
def test_other_bases(reference: str, base: str, resolved: str) -> None:
    assert resolve(reference, base) == resolved


def test_absolute() -> None:
    assert is_absolute("urn:x")
    assert not is_absolute("x/y:z")
    assert not is_absolute("")
