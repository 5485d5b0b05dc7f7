"""Tag queries, which select roots for a part of the configuration.

::

    prod and not dir:live/sandbox/**        network in dir or 'a tag with blanks'

An empty query matches everything. ``and`` binds tighter than ``or``, and ``not`` takes one tag or a group in
parentheses. Tags side by side mean "and", where the second takes the whole rest of its group:
``a b or c`` is ``a and (b or c)``. The words ``and``, ``or``, ``not`` and ``in`` may be written in either case;
tags may not. A tag in quotes is taken as it is, where a backslash takes away the meaning of the character after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.roots.rules.query_words import InvalidTagQuery, Kind, Token, words
from tidegate.roots.rules.terms import (
    RELATIVE,
    All,
    Any,
    InDirectory,
    Not,
    Tagged,
    Term,
    placed,
    spelled,
    tag_term,
    tags_of,
)

#: Levels of parentheses, and of mixed operators: more than anybody can read.
MAXIMUM_DEPTH = 50

#: What is told of a group that mixes both.
MIXED = (
    "adjacent tags bind to the rest of their group: 'a b or c' means 'a and (b or c)'. Write 'and' or parentheses "
    "next to an 'or'"
)


@dataclass(frozen=True, slots=True)
class TagQuery:
    """A query, and what is misleading about how it is written: sentences with a column, from 1."""

    text: str
    term: Term
    warnings: tuple[tuple[int, str], ...] = field(default=(), compare=False)

    def matches(self, tagged: Tagged) -> bool:
        """Tell whether the query is true for what has these tags."""
        return self.term.matches(tagged)

    def relative_to(self, directory: str) -> TagQuery:
        """Return the query where ``relative_dir:`` is meant from a directory: ``../network`` is next to it."""
        if not any(tag.startswith(RELATIVE) for tag in tags_of(self.term)):
            return self
        term = placed(self.term, directory)
        return TagQuery(spelled(term), term, self.warnings)

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that it asks for by their names, each once."""
        return tuple(dict.fromkeys(tags_of(self.term)))


def parse_tag_query(text: str) -> TagQuery:
    """Return the query that a text says. Raise InvalidTagQuery, which says where, why, and what is allowed."""
    tokens = words(text)
    match tokens:
        case [Token(kind=Kind.TAG) as tag, _]:  # One tag and the end, as most queries are.
            return TagQuery(text, tag_term(tag.text, quoted=tag.quoted))
    parser = _Parser(tokens)
    term = parser.query()
    return TagQuery(text, term, tuple(sorted(parser.warnings)))


@dataclass(slots=True)
class _Group:
    """What was seen of a group that is being read: the column of tags side by side, and an ``or``."""

    beside: int | None = None
    has_or: bool = False


class _Parser:
    """Takes a query apart, from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens, self._at = tokens, 0
        self._groups: list[_Group] = []
        self.warnings: list[tuple[int, str]] = []

    def query(self) -> Term:
        if self._next().kind is Kind.END:
            return All(())
        term = self._enclosed(0)
        if self._next().kind is not Kind.END:
            raise self._unexpected()
        return term

    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next()
        self._at += token.kind is not Kind.END
        return token

    def _enclosed(self, depth: int) -> Term:
        """Return what a whole group says, and warn when it mixes tags side by side with ``or``."""
        group = _Group()
        self._groups.append(group)
        term = self._group(depth)
        self._groups.pop()
        if group.beside and group.has_or:
            self.warnings.append((group.beside, MIXED))
        return term

    def _group(self, depth: int, first: Term | None = None) -> Term:
        """Return terms with ``or`` between them. ``first`` was read before."""
        if depth > MAXIMUM_DEPTH:
            raise InvalidTagQuery(
                self._next().column, "the query is nested too deeply", f"At most {MAXIMUM_DEPTH} levels are allowed"
            )
        choices = [self._conjunction(depth, first)]
        while self._next().kind is Kind.OR:
            self._take()
            self._groups[-1].has_or = True
            choices.append(self._conjunction(depth))
        return choices[0] if len(choices) == 1 else Any(tuple(choices))

    def _conjunction(self, depth: int, first: Term | None = None) -> Term:
        terms = [self._side_by_side(depth, first)]
        while self._next().kind is Kind.AND:
            self._take()
            terms.append(self._side_by_side(depth))
        return terms[0] if len(terms) == 1 else All(tuple(terms))

    def _side_by_side(self, depth: int, first: Term | None = None) -> Term:
        """Return a term, or several side by side, the last of which takes the rest of the group."""
        start = self._next().column
        terms = [first or self._term(depth)]
        while self._next().kind.begins_a_term:
            terms.append(self._term(depth))
        if len(terms) > 1:
            self._groups[-1].beside = self._groups[-1].beside or start
            if self._next().kind in {Kind.AND, Kind.OR}:
                terms[-1] = self._group(depth + 1, terms[-1])
        return terms[0] if len(terms) == 1 else All(tuple(terms))

    def _term(self, depth: int) -> Term:
        token = self._take()
        match token.kind:
            case Kind.TAG:
                return self._tag(token)
            case Kind.NOT:
                return Not(self._negated(token, depth))
            case Kind.OPEN:
                return self._parentheses(token, depth)
            case _:
                self._at -= token.kind is not Kind.END
                raise self._unexpected()

    def _tag(self, token: Token) -> Term:
        if self._next().kind is not Kind.IN:
            return tag_term(token.text, quoted=token.quoted)
        self._take()
        place = self._next()
        if place.kind is not Kind.TAG or place.text != "dir":
            raise InvalidTagQuery(place.column, f"{place.shown} follows 'in'", "Only 'dir' is allowed there")
        self._take()
        return InDirectory(token.text)

    def _negated(self, operator: Token, depth: int) -> Term:
        token = self._next()
        if token.kind is Kind.OPEN:
            return self._parentheses(self._take(), depth)
        if token.kind is not Kind.TAG:
            raise InvalidTagQuery(
                token.column if token.kind is not Kind.END else operator.column,
                f"{token.shown} follows 'not'",
                "A tag or a group in parentheses is allowed there",
            )
        self._take()
        if self._next().kind is Kind.IN:
            raise InvalidTagQuery(
                self._next().column,
                "'not' applies to one tag only, so 'in' has no tag before it",
                f"Write not ({token.text} in dir)",
            )
        return tag_term(token.text, quoted=token.quoted)

    def _parentheses(self, opening: Token, depth: int) -> Term:
        if self._next().kind is Kind.CLOSE:
            raise InvalidTagQuery(opening.column, "the parentheses are empty", "Write a tag between them")
        term = self._enclosed(depth + 1)
        if self._next().kind is not Kind.CLOSE:
            raise _not_closed(opening)
        self._take()
        return term

    def _unexpected(self) -> InvalidTagQuery:
        token = self._next()
        before = self._tokens[self._at - 1] if self._at else None
        if token.kind is Kind.CLOSE and (before is None or before.kind not in {Kind.AND, Kind.OR}):
            return InvalidTagQuery(
                token.column, "this closing parenthesis is unmatched", "Remove it, or add '(' before"
            )
        if before is not None and before.kind is Kind.OPEN and token.kind is Kind.END:
            return _not_closed(before)
        if before is not None and before.kind in {Kind.AND, Kind.OR}:
            problem = f"{token.shown} follows '{before.kind.value}'"
            return InvalidTagQuery(token.column, problem, "A tag, 'not' or '(' is allowed there")
        return InvalidTagQuery(token.column, f"a tag is missing before {token.shown}", "Write a tag before it")


def _not_closed(opening: Token) -> InvalidTagQuery:
    return InvalidTagQuery(opening.column, "this parenthesis is not closed", "Add ')' at the end of its group")
