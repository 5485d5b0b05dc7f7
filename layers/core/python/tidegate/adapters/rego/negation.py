"""What ``not`` means to OPA, where the engine takes it for something else.

OPA evaluates the arguments of what is negated before it negates: ``not startswith(input.a, "x")`` is undefined where
``input.a`` is, and the engine takes it for true. A statement before it that needs the same arguments makes both agree.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

Node = Mapping[str, Any]
#: Where in a source something is added, in which order there, and what.
Addition = tuple[int, int, bytes]
#: The order of what follows all that is added at its place.
_LAST = 1 << 30

#: Values that are always there.
_CONSTANTS = frozenset({"String", "RawString", "Number", "Bool", "True", "False", "Null"})
_QUOTES = frozenset({b'"', b"`"})
_COMPREHENSIONS = frozenset({"ArrayCompr", "SetCompr", "ObjectCompr"})


class UnsafeNegation(Exception):
    """A variable that only a negated statement has, at a line."""

    def __init__(self, name: str, line: int) -> None:
        super().__init__(name)
        self.name, self.line = name, line


def with_arguments_first(module: Mapping[str, Any], own: Collection[str], more: Iterable[Addition] = ()) -> str:
    """Return a module's source with the arguments of each negated statement before it.

    ``own`` are the names of rules and imports: other names are variables. ``more`` is added as well, also to what is
    copied: a copy means what stands there. Raise UnsafeNegation.
    """
    source: bytes = module["source"]["contents"].encode()
    added = sorted(more)
    for rule in module["ast"]["rules"]:
        for statement in _negated(rule):
            _require_names(source, statement, rule, own)
            for each in list(_additions(source, statement, added)):
                insort(added, each)
        for body in rule.get("Spec", {}).get("bodies", ()):
            if next(_negated(body), None) and not _has_braces(source, body):
                insort(added, (whole(source, body["query"]["stmts"][0])[0], -1, b"{ "))
                insort(added, (whole(source, body["query"])[1], _LAST, b" }"))
    return _with(added, source, 0, len(source)).decode()


def _has_braces(source: bytes, body: Node) -> bool:
    query = body["query"]
    start = body["assign"]["span"]["end"] if body["is_else"] and body["assign"] else query["span"]["start"]
    before = source[start : query["stmts"][0]["span"]["start"]]
    return any(b"{" in line.partition(b"#")[0] for line in before.split(b"\n"))


def _additions(source: bytes, statement: Node, added: Sequence[Addition]) -> Iterator[Addition]:
    modifiers = b"".join(b" " + _with(added, source, *whole(source, each)) for each in statement.get("with_mods", ()))
    for number, argument in enumerate(_arguments(statement["literal"]["NotExpr"]["expr"]), len(added)):
        text = _with(added, source, *whole(source, argument)) + modifiers
        yield statement["span"]["start"], number, b"tidegate_argument_%d := %s; " % (number, text)


def _with(added: Sequence[Addition], source: bytes, start: int, end: int) -> bytes:
    """Return a part of a source, with what is added there."""
    parts, at = [], start
    for position, _, text in added[bisect_left(added, (start,)) : bisect_left(added, (end + 1,))]:
        parts += [source[at:position], text]
        at = position
    return b"".join((*parts, source[at:end]))


def whole(source: bytes, node: Node) -> tuple[int, int]:
    """Return where a node begins and ends. The engine leaves out the quotes of a text at its beginning or end."""
    start, end = node["span"]["start"], node["span"]["end"]
    return start - (source[start - 1 : start] in _QUOTES), end + (source[end : end + 1] in _QUOTES)


def _arguments(negated: Node) -> Iterator[Node]:
    """Yield the terms that OPA evaluates before it negates."""
    ((kind, value),) = negated.items()
    if kind == "Call":
        for each in value["params"]:
            yield from _term(each)
    elif kind == "AssignExpr" or (kind == "BoolExpr" and value["op"] == "Eq"):
        yield from _side(value["lhs"])
        yield from _side(value["rhs"])
    elif kind in {"BoolExpr", "ArithExpr", "BinExpr"}:
        yield from _term(value["lhs"])
        yield from _term(value["rhs"])
    elif kind == "Membership":
        for name in ("key", "value", "collection"):
            if value.get(name):
                yield from _term(value[name])
    else:
        yield from _side(negated)


def _term(term: Node) -> Iterator[Node]:
    ((kind, value),) = term.items()
    if kind not in _CONSTANTS | _COMPREHENSIONS and value.get("items") != []:
        yield value


def _side(term: Node) -> Iterator[Node]:
    """A reference may be undefined itself, but what its brackets have may not."""
    ((kind, value),) = term.items()
    if kind == "RefDot":
        yield from _side(value["refr"])
    elif kind == "RefBrack":
        yield from _side(value["refr"])
        yield from _term(value["index"])
    elif kind != "Var":
        yield from _term(term)


def _negated(node: Any) -> Iterator[Node]:
    """Yield negated statements, the inner ones first: they are part of what the outer ones copy."""
    if isinstance(node, dict):
        for each in node.values():
            yield from _negated(each)
        if "NotExpr" in node.get("literal", ()):
            yield node
    elif isinstance(node, list):
        for each in node:
            yield from _negated(each)


def _require_names(source: bytes, statement: Node, rule: Node, own: Collection[str]) -> None:
    """Refuse a variable that nothing but a negated statement has: it has no value, and OPA refuses it."""
    negated = statement["literal"]["NotExpr"]["expr"]
    names = [(name, line) for name, line in (*_brackets(negated), *_assigned(negated)) if name not in {"input", *own}]
    if names:
        everywhere, inside = Counter(_names(source, rule)), Counter(_names(source, statement))
        for name, line in names:
            if name == "_" or everywhere[name] == inside[name]:
                raise UnsafeNegation(name, line)


def _brackets(node: Any) -> Iterator[tuple[str, int]]:
    """Yield the variables in brackets, which are given values by what they look up; comprehensions have their own."""
    if isinstance(node, dict):
        if "RefBrack" in node and "Var" in node["RefBrack"]["index"]:
            index = node["RefBrack"]["index"]["Var"]
            yield index["value"], index["span"]["line"]
        for kind, each in node.items():
            if kind not in _COMPREHENSIONS:
                yield from _brackets(each)
    elif isinstance(node, list):
        for each in node:
            yield from _brackets(each)


def _assigned(negated: Node) -> Iterator[tuple[str, int]]:
    """Yield the variables that a negated statement would give values to."""
    sides = [negated["AssignExpr"][side] for side in ("lhs", "rhs")] if "AssignExpr" in negated else []
    while sides:
        side = sides.pop()
        sides += side.get("Array", {}).get("items", ())
        if "Var" in side:
            yield side["Var"]["value"], side["Var"]["span"]["line"]


def _names(source: bytes, node: Any) -> Iterator[str]:
    """Yield all names that stand in a node, except those that ``some`` declares and gives no value."""
    if isinstance(node, dict):
        if "Var" in node:
            yield node["Var"]["value"]
        for each in ("key", "value") if "domain" in node else ():
            if node[each]:
                yield source[node[each]["start"] : node[each]["end"]].decode()
        for each in node.values():
            yield from _names(source, each)
    elif isinstance(node, list):
        for each in node:
            yield from _names(source, each)
