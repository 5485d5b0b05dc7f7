"""The structure of a file in HCL: blocks and arguments from its tokens (docs/decisions/0179).

Expressions stay lists of tokens. A file with errors is read as far as possible, and ``problem`` is the first error: a
security check refuses a file with one. No recursion, and linear time, for any file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tidegate.roots.rules.hcl_tokens import HclTokens, Kind, Token, decoded

#: Blocks in blocks that are followed: more than in any file that somebody writes.
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file cannot be read as a whole, as a sentence, and where."""

    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Argument:
    """``name = value``: the value's tokens, and where the name stands."""

    name: str
    value: Sequence[Token]
    at: int

    @property
    def text(self) -> str | None:
        """The text that the value is, where it is a string without templates."""
        return decoded(self.value[0][1]) if len(self.value) == 1 and self.value[0][0] is Kind.STRING else None


@dataclass(slots=True)
class Body:
    """What stands in a block, or in a file, in order."""

    arguments: list[Argument] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def argument(self, name: str) -> Argument | None:
        """Return the argument of this name, if there is one."""
        return next((each for each in self.arguments if each.name == name), None)

    def all_of(self, kind: str) -> Iterator[Block]:
        """Yield the blocks of one type."""
        return (each for each in self.blocks if each.kind == kind)


@dataclass(slots=True)
class Block:
    """A block: its type, labels, what is in it, and where its type stands."""

    kind: str
    labels: tuple[str, ...]
    body: Body
    at: int


class HclFile:
    """A file, read. ``problem`` is None where all of it is in order as far as its structure goes."""

    def __init__(self, content: bytes, only: Collection[str] | None = None) -> None:
        """Read a file's content. It never raises.

        With ``only``, just top-level blocks of these types are read: others stay empty, and their errors are ignored.
        That takes a fraction of the time.
        """
        reader = HclTokens(content, only)
        self.text = reader.text
        self.tokens: Sequence[Token] = reader.tokens
        self.body = _body(reader)
        self._problem = reader.problem

    @property
    def problem(self) -> Problem | None:
        """The first error in the file."""
        return Problem(self.line(self._problem[0]), self._problem[1]) if self._problem else None

    def line(self, at: int) -> int:
        """Return the line of a position, from 1."""
        return bisect_left(self._breaks, at) + 1

    @cached_property
    def _breaks(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]


def _body(reader: HclTokens) -> Body:
    """Return the blocks and arguments that tokens make."""
    parser = _Parser(reader)
    position = 0
    while position < len(reader.tokens):
        position = parser.item(position)
    if len(parser.around) > 1:
        reader.note(len(reader.text), "a block is not closed")
    return parser.around[0]


class _Parser:
    """Reads the items of bodies; ``around`` are the bodies that are open, the innermost last."""

    def __init__(self, reader: HclTokens) -> None:
        self._reader, self._tokens = reader, reader.tokens
        self.around = [Body()]

    def item(self, position: int) -> int:
        """Read an item, and return where the next one begins."""
        kind, text, at = self._tokens[position]
        if kind is Kind.NEWLINE:
            return position + 1
        if kind is Kind.CLOSE and text == "}" and len(self.around) > 1:
            self.around.pop()
            self._ends(position + 1)
            return position + 1
        following = self._at(position + 1)
        if kind is Kind.NAME and following[:2] == (Kind.OPERATOR, "="):
            return self._argument(position)
        if kind is Kind.NAME and (following[0] in {Kind.NAME, Kind.STRING} or following[:2] == (Kind.OPEN, "{")):
            return self._block(position)
        return self._lost(position, at)

    def _argument(self, position: int) -> int:
        _, name, at = self._tokens[position]
        end = self._end_of_item(position + 2)
        self._check_value(position + 2, end)
        self.around[-1].arguments.append(Argument(name, self._tokens[position + 2 : end], at))
        alone = self._opens(position - 1)
        if alone is not (self._at(end)[0] is Kind.CLOSE):
            self._reader.note(at, "a single-line block can contain only one argument")
        return end

    def _check_value(self, begin: int, end: int) -> None:
        """Note where a value cannot be one: outside of its brackets, an operator stands between any two parts of it."""
        depth, wanted = 0, True
        for kind, text, at in self._tokens[begin:end]:
            if kind is Kind.CLOSE:
                depth -= 1
            elif depth == 0 and (kind is Kind.OPERATOR or (kind is Kind.OPEN and text in "([" and not wanted)):
                wanted = True
                if text in {"=", ",", "=>", "..."}:
                    self._reader.note(at, f"unexpected {text} in a value")
            elif depth == 0 and not wanted:
                self._reader.note(at, "unexpected text after a value")
            if kind is Kind.OPEN:
                depth += 1
            if depth == 0 and kind is not Kind.OPERATOR:
                wanted = False
        if wanted:
            self._reader.note(self._at(end)[2], "a value is missing or incomplete")

    def _block(self, position: int) -> int:
        _, kind, at = self._tokens[position]
        if self._opens(position - 1):
            self._reader.note(at, "a single-line block cannot contain another block")
        labels: list[str] = []
        ahead = position + 1
        while (label := self._at(ahead))[0] in {Kind.NAME, Kind.STRING}:
            meant = decoded(label[1]) if label[0] is Kind.STRING else label[1]
            labels.append("" if meant is None else meant)
            ahead += 1
        if label[:2] != (Kind.OPEN, "{") or len(self.around) > _DEEPEST:
            return self._lost(ahead, at)
        block = Block(kind, tuple(labels), Body(), at)
        self.around[-1].blocks.append(block)
        self.around.append(block.body)
        return ahead + 1

    def _lost(self, position: int, at: int) -> int:
        """Go on after the line, and what it leaves open."""
        self._reader.note(at, "expected an argument or a block")
        end = self._end_of_item(position)
        return end + (end == position)

    def _end_of_item(self, position: int) -> int:
        """Return where the line ends, outside of all brackets, or the block around it does."""
        depth = 0
        for ahead in range(position, len(self._tokens)):
            kind = self._tokens[ahead][0]
            if kind is Kind.OPEN:
                depth += 1
            elif depth == 0 and (kind is Kind.NEWLINE or kind is Kind.CLOSE):
                return ahead
            elif kind is Kind.CLOSE:
                depth -= 1
        return len(self._tokens)

    def _ends(self, position: int) -> None:
        following = self._at(position)
        if following[0] is not Kind.NEWLINE:
            self._reader.note(following[2], "expected the end of the line")

    def _opens(self, position: int) -> bool:
        return position >= 0 and self._tokens[position][:2] == (Kind.OPEN, "{")

    def _at(self, position: int) -> Token:
        return self._tokens[position] if position < len(self._tokens) else (Kind.NEWLINE, "", len(self._reader.text))
