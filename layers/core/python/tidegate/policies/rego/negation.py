"""``not`` and ``every`` as OPA evaluates them; the engine differs.

OPA evaluates the arguments of a negated statement before it negates: ``not startswith(input.a, "x")`` is undefined if
``input.a`` is, but true for the engine. A statement before it that needs the same arguments makes both agree.

Neither gives values to variables: both wait for the statements that do, which may come later.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidegate.policies.rego.variables import Node, bodies, declared, pattern

#: Where in a source something is added, in which order there, and what.
Addition = tuple[int, int, bytes]
#: The order of what follows all that is added at its place.
_LAST = 1 << 30

#: Values that are always there.
_CONSTANTS = frozenset({"String", "RawString", "Number", "Bool", "True", "False", "Null"})
_QUOTES = frozenset({b'"', b"`"})
_COMPREHENSIONS = frozenset({"ArrayCompr", "SetCompr", "ObjectCompr"})


class UnsafeNegation(Exception):
    """A variable to which nothing but a negated statement would give a value, at a line."""

    def __init__(self, name: str, line: int) -> None:
        super().__init__(name)
        self.name, self.line = name, line


def with_arguments_first(module: Mapping[str, Any], own: Collection[str], more: Iterable[Addition] = ()) -> str:
    """Return a module's source with each negated statement's arguments before it, and with ``_bound`` variables.

    ``own`` are the names of rules and imports: other names are variables. ``more`` is inserted as well, also into
    copied parts. Raise UnsafeNegation.
    """
    source: bytes = module["source"]["contents"].encode()
    added = sorted(more)
    for rule in module["ast"]["rules"]:
        for each in _bound(source, rule, own):
            insort(added, each)
        for statement in _negated(rule):
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
        text = _with(added, source, *whole(source, argument))
        yield statement["span"]["start"], number, b"tidegate_argument_%d := [%s][0]%s; " % (number, text, modifiers)


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


def _bound(source: bytes, rule: Node, own: Collection[str]) -> Iterator[Addition]:
    """Yield what keeps statements from giving values to variables that are to have them, or from being too early.

    To the engine a variable in brackets is given a value by what it looks up, also under ``not``, and ``every`` needs
    none of the variables in its body. ``[x][0]`` needs one that ``x`` has.
    """
    for body in bodies(source, rule, own):
        if "domain" in body.parent:
            named = body.around.intersection(_everywhere(body.statements))
            needed = sorted(named - declared(source, body.parent))
            if needed:
                ((_, domain),) = body.parent["domain"].items()
                start, end = whole(source, domain)
                yield start, -1, b"["
                yield end, _LAST, f", {', '.join(f'[{name}][0]' for name in needed)}][0]".encode()
        for statement in body.statements:
            if "NotExpr" in statement["literal"]:
                for each in _looked_up(statement["literal"]["NotExpr"]["expr"]):
                    name = each["value"]
                    if name == "_" or name not in {"input", *own, *body.inside}:
                        raise UnsafeNegation(name, each["span"]["line"])
                    if name not in {"input", "data"}:
                        yield each["span"]["start"], 0, b"["
                        yield each["span"]["end"], 0, b"][0]"


def _everywhere(node: Any) -> Iterator[str]:
    """Yield the names that stand in a node, and in all bodies below it."""
    if isinstance(node, dict):
        if "Var" in node:
            yield node["Var"]["value"]
        for each in node.values():
            yield from _everywhere(each)
    elif isinstance(node, list):
        for each in node:
            yield from _everywhere(each)


def _looked_up(negated: Node) -> Iterator[Node]:
    """Yield the variables that a negated statement would give values to; comprehensions have their own."""
    for side in ("lhs", "rhs"):
        yield from pattern(negated.get("AssignExpr", {}).get(side, {}))
    yield from _brackets(negated)


def _brackets(node: Any) -> Iterator[Node]:
    if isinstance(node, dict):
        if "RefBrack" in node:
            yield from pattern(node["RefBrack"]["index"])
        for kind, each in node.items():
            if kind not in _COMPREHENSIONS:
                yield from _brackets(each)
    elif isinstance(node, list):
        for each in node:
            yield from _brackets(each)
