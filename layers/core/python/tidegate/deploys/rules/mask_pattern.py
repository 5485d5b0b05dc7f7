"""Masking patterns for logs: regular expressions in a syntax whose search takes linear time.

Python's ``re`` tries all ways in which a pattern can match, which program output could make exponential. So this module
counts the ways first (docs/decisions/0185) and refuses everything outside the syntax.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST_PATTERNS = 50
LONGEST_PATTERN = 500
#: The longest text that a pattern matches before its last repetition: the runner looks for it across pieces of a line.
LONGEST_MATCH = 4096
#: Steps that a pattern takes at each character at most.
_MOST_STEPS = 20_000
_QUANTIFIER = re.compile(r"[*+?]|\{([0-9]{1,4})(?:(,)([0-9]{0,4}))?\}")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\\[])*\]")
_ESCAPES = frozenset("dDwWsSbBnrt")


class UnusablePattern(ValueError):
    """A pattern cannot be used; the message is a clause such as ``it repeats what repeats``."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part of a pattern matches: the characters at least and at most, and in how many ways."""

    least: int = 0
    most: int = 0
    ways: int = 1
    endless: bool = False


def pattern_problem(pattern: str) -> str | None:
    """Return why a pattern cannot be used, as a clause; None if it can."""
    if not 0 < len(pattern) <= LONGEST_PATTERN or not pattern.isprintable():
        return f"it must have 1 to {LONGEST_PATTERN} printable characters"
    try:
        part = _Reader(pattern).whole()
        re.compile(f"(?:{pattern})")
    except UnusablePattern as problem:
        return str(problem)
    except re.error as error:
        return f"it is not a valid regular expression ({error})"
    if part.least == 0:
        return "it matches the empty string, so it would mask everything"
    if part.most > LONGEST_MATCH or part.ways * part.most > _MOST_STEPS:
        return "it can match in too many ways: limit its repetitions, such as {1,40}"
    return None


def patterns_problem(patterns: Sequence[str]) -> tuple[int, str] | None:
    """Return the position (from 0) of the first pattern that cannot be used, and why, as a clause; None if all can."""
    if len(patterns) > MOST_PATTERNS:
        return MOST_PATTERNS, f"there are more than {MOST_PATTERNS} patterns"
    problems = ((number, pattern_problem(pattern)) for number, pattern in enumerate(patterns))
    return next(((number, problem) for number, problem in problems if problem), None)


class _Reader:
    """Reads a pattern from left to right, each character once."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def whole(self) -> _Part:
        part = self._alternatives(at_end=True)
        if self._at < len(self._text):
            raise UnusablePattern("it has an unmatched closing parenthesis")
        return part

    def _alternatives(self, *, at_end: bool) -> _Part:
        found = [self._sequence(at_end=at_end)]
        while self._next("|"):
            found.append(self._sequence(at_end=at_end))
        least, most = min(each.least for each in found), max(each.most for each in found)
        return _Part(least, most, sum(each.ways for each in found), any(each.endless for each in found))

    def _sequence(self, *, at_end: bool) -> _Part:
        whole = _Part()
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            part = self._repeated(self._atom(), at_end=at_end)
            whole = _Part(whole.least + part.least, whole.most + part.most, whole.ways * part.ways, part.endless)
        return whole

    def _atom(self) -> _Part:
        character = self._text[self._at]
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        if character in "*+?{}]":
            raise UnusablePattern(
                f"{character!a} is not allowed here: to match the character itself, write \\{character}"
            )
        self._at += 1
        return _Part() if character in "^$" else _Part(1, 1)

    def _group(self) -> _Part:
        self._at += 1
        if self._next("?") and not self._next(":"):
            raise UnusablePattern("only the groups (...) and (?:...) are supported")
        part = self._alternatives(at_end=False)
        if not self._next(")"):
            raise UnusablePattern("it has an unclosed group")
        return part

    def _class(self) -> _Part:
        match = _CLASS.match(self._text, self._at)
        if match is None:
            raise UnusablePattern("it has an unclosed character class")
        self._at = match.end()
        return _Part(1, 1)

    def _escape(self) -> _Part:
        character = self._text[self._at + 1 : self._at + 2]
        if not character or (character.isalnum() and character not in _ESCAPES):
            raise UnusablePattern(f"the escape \\{character} is not supported")
        self._at += 2
        return _Part() if character in "bB" else _Part(1, 1)

    def _repeated(self, part: _Part, *, at_end: bool) -> _Part:
        match = _QUANTIFIER.match(self._text, self._at)
        if match is None:
            return part
        self._at = match.end()
        if self._text[self._at : self._at + 1] in {"?", "+", "*", "{"}:
            raise UnusablePattern("it has a quantifier directly after another")
        least, most = _bounds(match)
        if most == 1:
            return _Part(least * part.least, part.most, part.ways + 1, part.endless)
        if part.ways > 1 or part.least != part.most or part.least == 0:
            raise UnusablePattern("it repeats a part that can match in several ways")
        is_last = at_end and self._text[self._at : self._at + 1] in {"", "|"}
        if most is None:
            if not is_last:
                raise UnusablePattern("an unbounded repetition, such as + or *, is only allowed at the end")
            return _Part(least * part.least, least * part.most, 1, endless=True)
        if most < least:
            raise UnusablePattern(f"{match[0]} is not a valid quantifier")
        return _Part(least * part.least, most * part.most, 1 if is_last else most - least + 1)

    def _next(self, character: str) -> bool:
        found = self._text[self._at : self._at + 1] == character
        self._at += found
        return found


def _bounds(match: re.Match[str]) -> tuple[int, int | None]:
    """Return how often a quantifier repeats at least and at most, None for without an end."""
    plain: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
    if match[0] in plain:
        return plain[match[0]]
    least = int(match[1])
    if match[2] is None:
        return least, least
    return least, int(match[3]) if match[3] else None
