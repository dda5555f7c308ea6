r"""[XPath regular expressions](https://www.w3.org/TR/xpath-functions/#regex-syntax) for RE2 and Java.

The translation uses only what both engines read alike. Java backtracks, so a pattern is marked safe for it only if it
has one repetition (two if it is anchored at the start) and that contains no other and no choice: its time is then at
most quadratic. Everything else runs on RE2, in linear time.

>>> translate(r"^\d+.$", "i")
TranslatedPattern(text='\\A\\p{Nd}+[^\\n\\r]\\z', ignore_case=True, safe=True)
"""

from __future__ import annotations

from dataclasses import dataclass

_CLASSES = {
    "d": r"\p{Nd}", "D": r"\P{Nd}", "s": r"\x20\t\n\r", "w": r"\p{P}\p{Z}\p{C}",
    "i": r":_\p{L}\p{Nl}", "c": r"\-.:_\xB7\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}",
}  # fmt: skip
_OUTSIDE = {
    "d": r"\p{Nd}", "D": r"\P{Nd}", "s": r"[\x20\t\n\r]", "S": r"[^\x20\t\n\r]", "w": r"[^\p{P}\p{Z}\p{C}]",
    "W": r"[\p{P}\p{Z}\p{C}]", "i": rf"[{_CLASSES['i']}]", "I": rf"[^{_CLASSES['i']}]", "c": rf"[{_CLASSES['c']}]",
    "C": rf"[^{_CLASSES['c']}]",
}  # fmt: skip
_INSIDE = {name: _CLASSES[name] for name in ("d", "D", "s", "i", "c")} | {"W": r"\p{P}\p{Z}\p{C}"}
_CHARACTERS = {"n": r"\n", "r": r"\r", "t": r"\t"}
_ESCAPED = frozenset("\\|.?*+(){}$-[]^/")
_SPECIAL = frozenset("\\^$.|?*+()[]{}")
_CATEGORIES = {
    "L": "ultmo", "M": "nce", "N": "dlo", "P": "cdseifo", "Z": "slp", "S": "mcko", "C": "cfo",
}  # fmt: skip
_SPACE = frozenset(" \t\n\r")
_OPTIONAL = 5
_MOST = 1000  # repetitions that RE2 allows


class InvalidPatternError(ValueError):
    """The text is no regular expression, or one that can't be matched in linear time."""


@dataclass(frozen=True, slots=True)
class TranslatedPattern:
    """A translated regular expression."""

    text: str
    ignore_case: bool
    safe: bool
    """True if a backtracking engine needs at most quadratic time for it."""


def is_plain(pattern: str) -> bool:
    """Tell whether a pattern has no special characters, so that it matches itself."""
    return not _SPECIAL & set(pattern)


def translate(pattern: str, flags: str) -> TranslatedPattern:
    """Return the translation; raise InvalidPatternError where there is none."""
    if set(flags) - set("smixq"):
        raise InvalidPatternError(f"expected flags out of s, m, i, x and q, got {flags!r}")
    if "q" in flags:
        return TranslatedPattern("".join(map(_quoted, pattern)), "i" in flags, safe=True)
    reader = _Reader(pattern, dots="s" in flags, lines="m" in flags, spaces="x" in flags)
    text = reader.alternatives()
    if reader.at < len(reader.pattern):
        raise InvalidPatternError(f"unexpected ) in {pattern!r}")
    anchored = text.startswith(r"\A") and not reader.choices
    safe = reader.safe and not reader.lines and reader.repeats <= 1 + anchored and reader.optional <= _OPTIONAL
    return TranslatedPattern(f"(?m:{text})" if reader.lines else text, "i" in flags, safe)


def _quoted(character: str) -> str:
    if character in _SPECIAL or character == "-":
        return "\\" + character
    return f"\\x{{{ord(character):X}}}" if character in " \t\n\r#&~" else character


class _Reader:
    """A recursive descent over the pattern."""

    def __init__(self, pattern: str, *, dots: bool, lines: bool, spaces: bool) -> None:
        self.pattern = self._without_spaces(pattern) if spaces else pattern
        self.at = 0
        self.dots = dots
        self.lines = lines
        self.safe = True
        self.repeats = 0
        self.optional = 0
        self.choices = 0
        self.depth = 0

    @staticmethod
    def _without_spaces(pattern: str) -> str:
        kept, inside, escaped = [], 0, False
        for character in pattern:
            if character in _SPACE and not inside and not escaped:
                continue
            kept.append(character)
            inside += 0 if escaped else (character == "[") - (character == "]")
            escaped = character == "\\" and not escaped
        return "".join(kept)

    def _fail(self, reason: str) -> InvalidPatternError:
        return InvalidPatternError(f"{reason} at character {self.at + 1} of {self.pattern!r}")

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self) -> str:
        character = self._peek()
        if not character:
            raise self._fail("unexpected end")
        self.at += 1
        return character

    def alternatives(self) -> str:
        self.depth += 1
        if self.depth > 200:
            raise self._fail("too many brackets")
        branches = [self._branch()]
        while self._peek() == "|":
            self.at += 1
            self.choices += 1
            branches.append(self._branch())
        self.depth -= 1
        return "|".join(branches)

    def _branch(self) -> str:
        pieces = []
        while self._peek() and self._peek() not in "|)":
            before = self.repeats, self.optional, self.choices
            atom = self._atom()
            pieces.append(self._quantified(atom, before))
        return "".join(pieces)

    def _quantified(self, atom: str, before: tuple[int, int, int]) -> str:
        sign = self._peek()
        if sign in ("?", "*", "+"):
            self.at += 1
        elif sign == "{":
            sign = self._count()
        else:
            return atom
        if sign == "?":
            self.optional += 1
        else:
            self.repeats += 1
            if (self.repeats - 1, self.optional, self.choices) != before:
                self.safe = False
        if self._peek() == "?":
            self.at += 1
            sign += "?"
        if self._peek() in ("*", "+", "?", "{"):
            raise self._fail("nothing to repeat")
        return atom + sign

    def _count(self) -> str:
        end = self.pattern.find("}", self.at)
        inner = self.pattern[self.at + 1 : end] if end > 0 else ""
        least, comma, most = inner.partition(",")
        if not least.isdecimal() or not least.isascii() or (most and not (most.isdecimal() and most.isascii())):
            raise self._fail("expected a count such as {2,5}")
        if int(least) > _MOST or (most and (int(most) > _MOST or int(most) < int(least))):
            raise self._fail("expected a count of at most 1000")
        self.at = end + 1
        return f"{{{int(least)}{comma}{int(most) if most else ''}}}"

    def _atom(self) -> str:
        character = self._take()
        match character:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escape(_OUTSIDE)
            case ".":
                return r"[\s\S]" if self.dots else r"[^\n\r]"
            case "^":
                return "^" if self.lines else r"\A"
            case "$":
                return "$" if self.lines else r"\z"
            case "?" | "*" | "+" | "{":
                self.at -= 1
                raise self._fail("nothing to repeat")
            case "}" | "]":
                self.at -= 1
                raise self._fail(f"unexpected {character}")
            case _:
                return _quoted(character)

    def _group(self) -> str:
        opening = "("
        if self._peek() == "?":
            if self.pattern[self.at : self.at + 2] != "?:":
                raise self._fail("unexpected ?")
            self.at += 2
            opening = "(?:"
        inner = self.alternatives()
        if self._peek() != ")":
            raise self._fail("expected )")
        self.at += 1
        return f"{opening}{inner})"

    def _escape(self, classes: dict[str, str]) -> str:
        character = self._take()
        if character in classes:
            return classes[character]
        if character in _CHARACTERS:
            return _CHARACTERS[character]
        if character in ("p", "P"):
            return self._category(character)
        if character in _ESCAPED:
            return "\\" + character if character != "/" else "/"
        if character.isdigit():
            raise self._fail("back-references are not supported: they can't be matched in linear time")
        raise self._fail(f"unknown escape \\{character}")

    def _category(self, letter: str) -> str:
        end = self.pattern.find("}", self.at)
        name = self.pattern[self.at + 1 : end] if self._peek() == "{" and end > 0 else ""
        if name[:1] not in _CATEGORIES or name[1:] not in ("", *_CATEGORIES[name[:1]]):
            raise self._fail(f"unknown or unsupported category {name!r}")
        self.at = end + 1
        return f"\\{letter}{{{name}}}"

    def _class(self) -> str:
        negated = self._peek() == "^"
        self.at += negated
        members: list[str] = []
        first = True
        while True:
            character = self._take()
            if character == "]" and not first:
                return f"[{'^' if negated else ''}{''.join(members)}]"
            if character == "]" or (character == "[" and first):
                raise self._fail("expected a character")
            if character == "-" and self._peek() == "[":
                raise self._fail("subtraction of classes is not supported")
            if character == "[":
                raise self._fail("expected [ to be escaped")
            first = False
            if character == "-" and members and self._peek() not in ("]", ""):
                members.append("-")
                continue
            members.append(self._escape(_INSIDE) if character == "\\" else _member(character))


def _member(character: str) -> str:
    return "\\" + character if character in "\\^-[]&~|.$*+?(){}" else _quoted(character)
