"""All regular expressions of the product, and whether the time that they take grows with the text and no faster.

Python's engine backtracks: it tries every way in which an expression can match. So an expression is judged by the
automaton of its positions (Glushkov's). It may take exponential time where a text leads from a position back to it in
two ways, and polynomial time where one text leads around a position, around another, and from the first to the second.
A search begins anew at every character, which is one more position before all others. What is possessive or atomic
is matched in one way only. Assertions count as if they always held, so that some are refused which are harmless.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]  # What Python compiles is judged, not its text.
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

TOP = Path(__file__).parents[2]
PLACES = {"layers/core/python": "layers/core/python", "runner": ".", "functions": ".", "tidegate_cli": "."}
_ANCHORED = frozenset({"match", "fullmatch"})
_METHODS = frozenset({"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
#: One letter of every kind: all of Latin-1, and what else classes tell apart.
_CHARACTERS = [*map(chr, range(256)), "\u2028", "\u2029", "─", "│", "╷", "Ж", "ж", "٣", "Ⅷ", "漢", "\ud800", "K"]
_EVERY = (1 << len(_CHARACTERS)) - 1
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII


@dataclass(frozen=True)
class Found:
    """An expression in the code: where, its text and flags, and whether it is searched for, not only at one place."""

    where: str
    pattern: str | bytes
    flags: int
    searched: bool


@cache
def expressions() -> tuple[Found | str, ...]:
    """Return every expression; where one is made of what is known at run time only, ``FILE: CODE`` in its place."""
    return tuple(_expressions())


def _expressions() -> Iterator[Found | str]:
    trees = {path: ast.parse(path.read_text()) for path in _files()}
    searched = {name for tree in trees.values() for name in _searched(tree)}
    for path, tree in trees.items():
        where = path.relative_to(TOP).as_posix()
        for target, call in _calls(tree):
            try:
                pattern, flags = _evaluated(call, path)
            except NameError:
                yield f"{where}: {ast.unparse(call.args[0])}"
                continue
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            everywhere = target is None or target in searched if method == "compile" else method not in _ANCHORED
            yield Found(where, pattern, flags, everywhere)


def _files() -> Iterator[Path]:
    for place in PLACES:
        for path in sorted((TOP / place).rglob("*.py")):
            if "re." in path.read_text() and "import re\n" in path.read_text():
                yield path


@cache
def _module(path: Path) -> ModuleType:
    top = next(TOP / base for place, base in PLACES.items() if path.is_relative_to(TOP / place))
    return importlib.import_module(".".join(path.relative_to(top).with_suffix("").parts))


def _calls(tree: ast.AST) -> Iterator[tuple[str | None, ast.Call]]:
    """Yield calls of ``re`` with the name that the result gets, None where it gets none of its own."""
    named: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            named[id(node.value)] = node.targets[0].id
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if node.func.attr in _METHODS and isinstance(owner, ast.Name) and owner.id == "re":
                yield named.get(id(node)), node


def _searched(tree: ast.AST) -> Iterator[str]:
    """Yield the names of patterns that are asked for more than what stands at one place, or handed on."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in _METHODS - _ANCHORED:
                yield node.value.id
        elif isinstance(node, ast.Call):
            yield from (each.id for each in node.args if isinstance(each, ast.Name))


def _evaluated(call: ast.Call, path: Path) -> tuple[str | bytes, int]:
    """Return an expression and its flags, as they are where they stand. Raise NameError for names in functions."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    position = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(method, 2)
    nodes = [each.value for each in call.keywords if each.arg == "flags"] + call.args[position : position + 1]
    pattern = call.args[0]
    text = pattern.value if isinstance(pattern, ast.Constant) else eval(ast.unparse(pattern), dict(vars(_module(path))))  # noqa: S307  # Our own code.
    return text, sum(int(eval(ast.unparse(node), {"re": re})) for node in nodes)  # noqa: S307  # Our own code.


# What is wrong with an expression


def problem(pattern: str | bytes, flags: int = 0, *, searched: bool = True) -> str | None:
    """Return in which way an expression may take more than linear time; None if it cannot."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    automaton = _Automaton()
    parsed = parser.parse(text, flags)
    part = automaton.sequence(parsed, parsed.state.flags | flags, loops=0)
    before = _before(parsed, parsed.state.flags | flags) if searched else 0
    if before:
        automaton.begin_behind(before, part)
    return automaton.inside or automaton.exponential() or automaton.polynomial()


def _before(parsed: Any, flags: int) -> int:
    """Return behind which letters a search may begin; none if it begins at the text's beginning only."""
    operator, argument = parsed[0] if len(parsed) else (None, None)
    if operator is codes.AT and argument in {codes.AT_BEGINNING, codes.AT_BEGINNING_STRING}:
        return 1 << _CHARACTERS.index("\n") if flags & re.MULTILINE and argument is codes.AT_BEGINNING else 0
    if operator in {codes.ASSERT, codes.ASSERT_NOT} and argument[0] < 0 and len(argument[1]) == 1:
        letters = _letters(*argument[1][0], flags)
        return _EVERY & ~letters if operator is codes.ASSERT_NOT else letters
    return _EVERY


@dataclass
class _Part:
    """Part of an expression: where it may begin and end, each with the number of ways, and whether it may be empty.

    ``sure`` is where it matches whatever follows.
    """

    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    empty: bool = True
    sure: frozenset[int] = frozenset()


#: What may fail although nothing is read.
_CONDITIONS = frozenset({codes.AT, codes.ASSERT, codes.ASSERT_NOT})


class _Automaton:
    def __init__(self) -> None:
        self.letters: list[int] = []
        self.follows: list[dict[int, int]] = []
        self.unbounded: list[bool] = []
        self.atomic: list[bool] = []
        self.settled: frozenset[int] = frozenset()
        self.start = -1
        self.inside: str | None = None

    def position(self, letters: int, *, loops: int, atomic: bool = False) -> _Part:
        number = len(self.letters)
        self.letters.append(letters)
        self.follows.append({})
        self.unbounded.append(loops > 0)
        self.atomic.append(atomic)
        return _Part({number: 1}, {number: 1}, empty=False, sure=frozenset({number}))

    def begin_behind(self, letters: int, part: _Part) -> None:
        """Let a search begin behind some letters. It ends where it matches, so nothing is read anew from there."""
        start, before = self.position(_EVERY, loops=1), self.position(letters, loops=0)
        self.connect(start.last, start.first)
        self.connect(start.last, before.first)
        self.connect(before.last, part.first)
        self.start, self.settled = len(self.letters) - 2, part.sure

    def connect(self, last: dict[int, int], first: dict[int, int]) -> None:
        for (one, ways), (other, more) in product(last.items(), first.items()):
            self.follows[one][other] = min(2, self.follows[one].get(other, 0) + ways * more)

    def sequence(self, items: Any, flags: int, *, loops: int) -> _Part:
        whole = _Part()
        for operator, argument in items:
            part = self.item(operator, argument, flags, loops=loops)
            self.connect(whole.last, part.first)
            whole = _Part(
                _summed(whole.first, part.first) if whole.empty else whole.first,
                _summed(part.last, whole.last) if part.empty else part.last,
                whole.empty and part.empty,
                frozenset() if operator in _CONDITIONS else part.sure | (whole.sure if part.empty else frozenset()),
            )
        return whole

    def item(self, operator: Any, argument: Any, flags: int, *, loops: int) -> _Part:  # noqa: PLR0911  # A table.
        if operator in {codes.MAX_REPEAT, codes.MIN_REPEAT}:
            return self.repeated(*argument, flags, loops=loops)
        if operator in {codes.POSSESSIVE_REPEAT, codes.ATOMIC_GROUP}:
            return self.possessive(operator, argument, flags, loops=loops)
        if operator is codes.SUBPATTERN:
            return self.sequence(argument[3], (flags | argument[1]) & ~argument[2], loops=loops)
        if operator is codes.BRANCH:
            return self.branched(argument[1], flags, loops=loops)
        if operator in _CONDITIONS:
            inner = _Part() if operator is codes.AT else self.sequence(argument[1], flags, loops=loops)
            return _Part(inner.first, {}, empty=True)
        if operator is codes.GROUPREF:
            part = self.position(_EVERY, loops=loops + 1)
            self.connect(part.last, part.first)
            return part
        return self.position(_letters(operator, argument, flags), loops=loops)

    def branched(self, branches: Any, flags: int, *, loops: int) -> _Part:
        parts = [self.sequence(each, flags, loops=loops) for each in branches]
        ends = [_summed(*(getattr(part, end) for part in parts)) for end in ("first", "last")]
        sure = frozenset(each for part in parts for each in part.sure)
        return _Part(ends[0], ends[1], any(part.empty for part in parts), sure)

    def repeated(self, least: int, most: Any, items: Any, flags: int, *, loops: int) -> _Part:
        endless = most is codes.MAXREPEAT
        part = self.sequence(items, flags, loops=loops + endless)
        if most != 1:
            self.connect(part.last, part.first)
        return _Part(part.first, part.last, part.empty or least == 0, part.sure)

    def possessive(self, operator: Any, argument: Any, flags: int, *, loops: int) -> _Part:
        """Judge what is inside by itself; from outside it is one position, where its letters stand in any order."""
        items = argument[2] if operator is codes.POSSESSIVE_REPEAT else argument
        inside = _Automaton()
        inside.sequence(items, flags, loops=0)
        self.inside = self.inside or inside.exponential() or inside.polynomial() or inside.inside
        letters = 0
        for each in inside.letters:
            letters |= each
        endless = any(inside.unbounded) or (operator is codes.POSSESSIVE_REPEAT and argument[1] is codes.MAXREPEAT)
        part = self.position(letters, loops=loops + endless, atomic=True)
        if endless:
            self.connect(part.last, part.first)
        empty = argument[0] == 0 if operator is codes.POSSESSIVE_REPEAT else False
        return _Part(part.first, part.last, empty, part.sure)

    def exponential(self) -> str | None:
        """Return a position from which one text leads back in two ways."""
        for position in range(len(self.letters)):
            seen, ahead = set(), deque([(position, position, False)])
            while ahead:
                one, other, differ = ahead.popleft()
                for (a, ways), (b, more) in product(self.follows[one].items(), self.follows[other].items()):
                    if not self.letters[a] & self.letters[b]:
                        continue
                    step = (a, b, differ or a != b or max(ways, more) > 1)
                    if step == (position, position, True):
                        return f"exponential time, by {self._shown(position)}"
                    if step not in seen:
                        seen.add(step)
                        ahead.append(step)
        return None

    def polynomial(self) -> str | None:
        """Return two positions, around and between which one text leads."""
        around = [each for each in range(len(self.letters)) if self.unbounded[each]]
        for one, other in product(around, around):
            settled = one == self.start and other in self.settled
            if one != other and not settled and not self.atomic[one] and self._leads(one, other):
                return f"quadratic time, by {self._shown(one)} and {self._shown(other)}"
        return None

    def _leads(self, one: int, other: int) -> bool:
        seen, ahead = set(), deque([(one, one, other)])
        while ahead:
            state = ahead.popleft()
            for step in product(*(self.follows[each] for each in state)):
                letters = self.letters[step[0]] & self.letters[step[1]] & self.letters[step[2]]
                if letters and step == (one, other, other):
                    return True
                if letters and step not in seen:
                    seen.add(step)
                    ahead.append(step)
        return False

    def _shown(self, position: int) -> str:
        shown = [letter for number, letter in enumerate(_CHARACTERS) if self.letters[position] >> number & 1]
        return "any letter" if len(shown) > len(_CHARACTERS) * 0.9 else ascii("".join(shown)[:12])


def _summed(*parts: dict[int, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for part in parts:
        for position, ways in part.items():
            found[position] = min(2, found.get(position, 0) + ways)
    return found


def _letters(operator: Any, argument: Any, flags: int) -> int:
    return _set_of(str(operator), _hashable(argument), flags & _FLAGS)


def _hashable(argument: Any) -> Any:
    return tuple(map(_hashable, argument)) if isinstance(argument, (list, tuple)) else argument


@cache
def _set_of(operator: str, argument: Any, flags: int) -> int:
    return sum(1 << number for number, letter in enumerate(_CHARACTERS) if _fits(operator, argument, flags, letter))


def _fits(operator: str, argument: Any, flags: int, letter: str) -> bool:
    if operator == "ANY":
        return bool(flags & re.DOTALL) or letter != "\n"
    if operator == "IN":
        negated = str(argument[0][0]) == "NEGATE"
        return negated != any(_fits(str(kind), value, flags, letter) for kind, value in argument[negated:])
    cases = {letter, letter.lower(), letter.upper()} if flags & re.IGNORECASE else {letter}
    if operator == "CATEGORY":
        return bool(re.match(_CATEGORIES[str(argument)], letter, flags & re.ASCII))
    tests = {
        "LITERAL": lambda code: code == argument,
        "NOT_LITERAL": lambda code: code != argument,
        "RANGE": lambda code: argument[0] <= code <= argument[1],
    }
    return any(tests[operator](ord(each)) for each in cases if len(each) == 1)


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
