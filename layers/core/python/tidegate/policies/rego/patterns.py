"""OPA's patterns, translated for the engine's regular expressions (docs/decisions/0177).

OPA uses RE2: its short classes, such as that of words, and word boundaries are ASCII only, and its classes have no set
operations. The engine's are Unicode, and have ``[a&&b]``; its globs match bytes, OPA's match characters. A pull
request's author chooses the texts in its plan: a character that only the engine takes for a letter would bypass a rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

#: What the short classes stand for, between brackets.
_CLASSES = {"w": "0-9A-Za-z_", "d": "0-9", "s": r"\t\n\f\r "}
_CHARACTERS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_POSIX = re.compile(r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]")
_PROPERTY = re.compile(r"[pP](?:[A-Z]|\{[A-Za-z_]+\})")
_HEXADECIMAL = re.compile(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})")
_GROUP = re.compile(r"\(\?(?:P?<[A-Za-z0-9_]+>|[imsU]*(?:-[imsU]+)?[:)])")
_REPETITION = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??")
_MOST = 1000
#: Behind a backslash: quoted text, single bytes, numbers of eight, negated properties.
_NOT_TRANSLATED = frozenset("QEC01234567pP")
#: A dollar in what replaces a match, and the group that it stands for.
_REFERENCE = re.compile(r"\$(?:\$|\{(\w+)\}|(\w+))?")
_META = frozenset("^$.|()")
_ANY = "(?s:.)"


class UnusablePattern(ValueError):
    """A pattern that OPA does not take, and why, as a clause."""

    def __init__(self, why: str) -> None:
        super().__init__(f"Invalid pattern: {why}")


class NotTranslated(UnusablePattern):
    """A pattern that OPA refuses, and why, as a clause."""


def as_opa_reads(pattern: str) -> str:
    """Return the engine's regular expression with the meaning of OPA's ``pattern``. Raise UnusablePattern."""
    return _Reader(pattern).translated()


def as_opa_replaces(replacement: str) -> str:
    """Return the engine's form of OPA's ``replacement``.

    OPA uses Go's: the longest run of letters and digits, including non-ASCII ones, names a group. An impossible group
    name expands to nothing, and a dollar without a name is a dollar. Raise UnusablePattern.
    """
    return _REFERENCE.sub(_group, replacement)


def _group(found: re.Match[str]) -> str:
    name = found[1] or found[2] or ""
    if odd := [each for each in name if not (each.isalpha() or each.isdecimal() or each == "_")]:
        raise NotTranslated(f"{odd[0]} after a dollar sign is not supported")
    if not name.isascii() or (name[:1] == "0" and name != "0"):
        return ""
    return f"${{{name}}}" if name else "$$"


def of_glob(glob: str, delimiters: Sequence[str] | None) -> str:
    """Return the engine's regular expression for OPA's glob. Raise UnusablePattern.

    No ``delimiters`` are a dot, and None is for none at all.
    """
    between = "".join(map(_literal, _delimiters(delimiters)))
    return _GlobReader(glob, f"[^{between}]" if between else _ANY).translated()


def _delimiters(delimiters: Sequence[str] | None) -> Sequence[str]:
    if delimiters is None:
        return ()
    if not all(isinstance(each, str) and len(each) == 1 for each in delimiters):
        raise UnusablePattern("delimiters must be single characters")
    return delimiters or (".",)


def _literal(character: str) -> str:
    return character if character.isalnum() and character.isascii() else f"\\x{{{ord(character):x}}}"


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def translated(self) -> str:
        parts = []
        while self._at < len(self._text):
            parts.append(self._part())
        return "".join(parts)

    def _part(self) -> str:
        if found := self._taken(_REPETITION):
            if _REPETITION.match(self._text, self._at):
                raise UnusablePattern("a repetition is applied to a repetition")
            if any(int(number) > _MOST for number in re.findall("[0-9]+", found)):
                raise UnusablePattern(f"the limit for repetitions is {_MOST}")
            return found
        if found := self._taken(_GROUP):
            return found.replace("(?<", "(?P<")
        if self._text.startswith("(?", self._at):
            raise UnusablePattern("unsupported group syntax")
        character = self._next()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        return character if character in _META else _literal(character)

    def _taken(self, what: re.Pattern[str]) -> str:
        found = what.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found[0] if found else ""

    def _next(self) -> str:
        if self._at == len(self._text):
            raise UnusablePattern("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _escape(self) -> str:
        if self._text[self._at : self._at + 1] in _CLASSES:
            return f"[{_CLASSES[self._next()]}]"
        if self._text[self._at : self._at + 1].lower() in _CLASSES:
            return f"[^{_CLASSES[self._next().lower()]}]"
        if found := self._taken(_PROPERTY):
            return f"\\{found}"
        if self._text[self._at : self._at + 1] in {"A", "z", "b", "B"}:
            return f"(?-u:\\{self._next()})"
        return _literal(self._escaped())

    def _escaped(self) -> str:
        """Return the character that stands behind a backslash, in a class or not."""
        if found := _HEXADECIMAL.match(self._text, self._at):
            self._at = found.end()
            number = int(found[1] or found[2], 16)
            if number > 0x10FFFF:  # noqa: PLR2004  # Unicode's.
                raise UnusablePattern("there is no such code point")
            return chr(number)
        character = self._next()
        if character in _CHARACTERS:
            return chr(_CHARACTERS[character])
        if character in _NOT_TRANSLATED:
            raise NotTranslated(f"\\{character} is not supported")
        if character.isalnum() or not character.isascii():
            raise UnusablePattern(f"\\{character} is not supported")
        return character

    def _class(self) -> str:
        """Read a class of characters, behind its bracket: one that stands first is no end."""
        begins = "[^" if self._text.startswith("^", self._at) else "["
        self._at += len(begins) - 1
        parts = [self._member()]
        while not self._text.startswith("]", self._at):
            parts.append(self._member())
        self._at += 1
        return f"{begins}{''.join(parts)}]"

    def _member(self) -> str:
        if found := self._taken(_POSIX):
            return found
        if self._text.startswith("[:", self._at):
            raise UnusablePattern("unknown character class")
        if self._text.startswith("\\", self._at):
            follows = self._text[self._at + 1 : self._at + 2]
            if follows.lower() in _CLASSES or follows.lower() == "p":
                self._at += 1
                return self._escape()
        low = self._character()
        if not self._text.startswith("-", self._at) or self._text.startswith("-]", self._at):
            return _literal(low)
        self._at += 1
        return f"{_literal(low)}-{_literal(self._character())}"

    def _character(self) -> str:
        character = self._next()
        return self._escaped() if character == "\\" else character


class _GlobReader(_Reader):
    """Reads a glob. ``one`` stands for a character that is no delimiter."""

    def __init__(self, text: str, one: str) -> None:
        super().__init__(text)
        self._one, self._open = one, 0

    def translated(self) -> str:
        found = super().translated()
        if self._open:
            raise UnusablePattern("a brace is not closed")
        return f"\\A(?:{found})\\z"

    def _part(self) -> str:
        character = self._next()
        read: Callable[[], str] | None = {"*": self._star, "[": self._range, "\\": self._plain}.get(character)
        if read:
            return read()
        if character == "?":
            return self._one
        if character == "{":
            self._open += 1
            return "(?:"
        if self._open and character in ",}":
            self._open -= character == "}"
            return "|" if character == "," else ")"
        return _literal(character)

    def _star(self) -> str:
        if not self._text.startswith("*", self._at):
            return f"{self._one}*"
        self._at += 1
        return f"{_ANY}*"

    def _plain(self) -> str:
        return _literal(self._next())

    def _range(self) -> str:
        """Read ``[a-z]`` or ``[xyz]``, which ``!`` negates: one or the other, and nothing else."""
        begins = "[^" if self._text.startswith("!", self._at) else "["
        self._at += len(begins) - 1
        low = self._next()
        if self._text.startswith("-", self._at):
            self._at += 1
            members = f"{_literal(low)}-{_literal(self._next())}"
        else:
            self._at -= 1
            members = "".join(self._listed())
        if self._next() != "]" or not members:
            raise UnusablePattern("a range is not closed")
        return f"{begins}{members}]"

    def _listed(self) -> list[str]:
        found = []
        while not self._text.startswith("]", self._at):
            character = self._next()
            found.append(_literal(self._next() if character == "\\" else character))
        return found
