"""The words of a tag query, each with its column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from tidegate.rules.errors import TidegateError, quoted

#: Characters of a query.
MAXIMUM_LENGTH = 2000

_BLANKS = re.compile(r"[ \t\r\n]+")
_WORD = re.compile(r"""[^ \t\r\n'"()]+""")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_IN_QUOTES = {quote: re.compile(rf"{quote}((?:[^\\{quote}]|\\.)*){quote}", re.DOTALL) for quote in "'\""}


class InvalidTagQuery(TidegateError):
    """An invalid tag query: the column of the error, from 1, the reason, and what is allowed."""

    def __init__(self, column: int, problem: str, allowed: str) -> None:
        super().__init__(f"Column {column} of the tag query: {problem}. {allowed}.")
        self.column, self.problem, self.allowed = column, problem, allowed


class Kind(Enum):
    """What a word is."""

    TAG = "tag"
    AND = "and"
    OR = "or"
    NOT = "not"
    IN = "in"
    OPEN = "("
    CLOSE = ")"
    END = "end"

    @property
    def begins_a_term(self) -> bool:
        return self in {Kind.TAG, Kind.NOT, Kind.OPEN}


_KEYWORDS = {kind.value: kind for kind in (Kind.AND, Kind.OR, Kind.NOT, Kind.IN)}


@dataclass(frozen=True, slots=True)
class Token:
    """A word with its column, from 1. A quoted tag is never a keyword and has no wildcards."""

    kind: Kind
    text: str
    column: int
    quoted: bool = False

    @property
    def shown(self) -> str:
        return "nothing" if self.kind is Kind.END else quoted(self.text)


def words(text: str) -> list[Token]:
    """Return the words of a query, the last of which is its end. Raise InvalidTagQuery."""
    if len(text) > MAXIMUM_LENGTH:
        raise InvalidTagQuery(
            MAXIMUM_LENGTH + 1, f"the query has {len(text)} characters", f"The limit is {MAXIMUM_LENGTH} characters"
        )
    found: list[Token] = []
    at = 0
    while at < len(text):
        if blanks := _BLANKS.match(text, at):
            at = blanks.end()
            continue
        token, at = _word(text, at)
        found.append(token)
    return [*found, Token(Kind.END, "", len(text) + 1)]


def _word(text: str, at: int) -> tuple[Token, int]:
    """Return the word that begins here, and where it ends."""
    first = text[at]
    if first in "()":
        return Token(Kind(first), first, at + 1), at + 1
    if first in _IN_QUOTES:
        inside = _IN_QUOTES[first].match(text, at)
        if inside is None:
            raise InvalidTagQuery(at + 1, "this quote is not closed", f"Add {first} at the end of the tag")
        return Token(Kind.TAG, _ESCAPED.sub(r"\1", inside[1]), at + 1, quoted=True), inside.end()
    word = _WORD.match(text, at)
    assert word is not None  # noqa: S101  # Every character is a blank, a parenthesis, a quote, or of a word.
    return Token(_KEYWORDS.get(word[0].lower(), Kind.TAG), word[0], at + 1), word.end()
