from __future__ import annotations

import pytest

from hydrograph.errors import SyntaxQueryError
from hydrograph.language.lexer import tokenize, unescape


def keys(text: str) -> list[str]:
    return [token.key for token in tokenize(text)][:-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?x<?y", ["var", "<", "var"]),
        ("?x<?y&&?z>?w", ["var", "iri", "var"]),  # as the grammar has it: the longest token
        ("true.ex:a", ["name"]),
        ("ex:a.", ["name", "."]),
        ("ex:a.b", ["name"]),
        (":", ["name"]),
        ("_:a.b.", ["blank", "."]),
        ("1.", ["integer", "."]),
        ("1.e5 1.5 .5 .5e1 1e5", ["double", "decimal", "decimal", "double", "double"]),
        ("-1", ["-", "integer"]),
        ("10s PT0.5S", ["integer", "S", "PT0", "decimal", "S"]),
        ("""'a' "b" '''c''' \"\"\"d"e\"\"\" ''""", ["string"] * 5),
        ("@en-gb @EN", ["lang", "lang"]),
        ("a^^b != <= >= ^ ! || |", ["A", "^^", "B", "!=", "<=", ">=", "^", "!", "||", "|"]),
        ("ex:%41\\,x", ["name"]),
        ("\ufeffASK#x\n{}", ["ASK", "{", "}"]),
        ("?x? ?*", ["var", "?", "?", "*"]),
        ("?\\u0061b <\\u00e9>", ["var", "iri"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert keys(text) == expected


def test_offsets_point_into_the_text() -> None:
    text = "SELECT # all\n  ?x { ex:a 'é' }"
    assert all(text[token.offset : token.end] == token.text for token in tokenize(text))


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("ASK \x00", 5, "expected a token, got the character U+0000"),
        ("ASK \u202e", 5, "expected a token, got the character U+202E"),
        ("ASK é", 5, "expected a keyword or a name, got 'é'"),
        ("ASK \\u0041", 5, "expected a token, got a backslash outside of a string or an IRI"),
        ("ASK '\ud800'", 6, "expected Unicode text, got half of a surrogate pair"),
        ("ASK $", 5, "expected a token, got the character '$'"),
        ('ASK """a"', 5, 'expected """ at the end of this string, got none'),
        ("ASK 'a\\z'", 7, "expected an escape such as \\n or \\u00E9, got \\z"),
    ],
)
def test_unreadable(text: str, column: int, reason: str) -> None:
    with pytest.raises(SyntaxQueryError) as caught:
        tokenize(text)
    assert (caught.value.column, caught.value.reason) == (column, reason)


def test_unescape() -> None:
    assert unescape(r"\t\b\n\r\f\\\"\'\u0041\U0001F46A") == "\t\b\n\r\f\\\"'A👪"
    with pytest.raises(ValueError, match=r"\\U00110000 is no character"):
        unescape(r"\U00110000")
