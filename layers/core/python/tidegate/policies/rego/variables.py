"""Which variables have values where, by OPA's rules.

A statement gives values to variables of its body, and of the bodies inside that. Negated statements, rule heads,
comprehensions and sibling bodies give none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

Node = Mapping[str, Any]


class Body(NamedTuple):
    """Statements, what has them, and the variables that have values around them and in them."""

    parent: Node
    statements: list[Node]
    around: frozenset[str]
    inside: frozenset[str]


def bodies(source: bytes, rule: Node, own: Collection[str]) -> Iterator[Body]:
    """Yield the bodies of a rule, of comprehensions and of ``every``. ``own`` are the names of rules and imports."""
    spec = rule.get("Spec") or {"head": rule["Default"], "bodies": []}
    arguments = frozenset(variables(spec["head"].get("Func", {}).get("args", [])))
    found = list(_bodies(source, spec["bodies"], arguments, own))
    yield from found
    given = (each.inside for each in found if each.parent in spec["bodies"])
    yield from _bodies(source, spec["head"], arguments.union(*given), own)


def variables(node: Any) -> Iterator[str]:
    """Yield the names that stand in a node: not those of functions, nor those in bodies below it."""
    if isinstance(node, dict):
        if "Var" in node and node["Var"]["value"] not in {"_", "input"}:
            yield node["Var"]["value"]
        for name, each in node.items():
            if name != "fcn" and "query" not in node:
                yield from variables(each)
    elif isinstance(node, list):
        for each in node:
            yield from variables(each)


def pattern(node: Node) -> Iterator[Node]:
    """Yield the variables that a node may give values to, as ``x`` and ``y`` in ``[x, {"k": y}]``."""
    if "Var" in node:
        yield node["Var"]
    fields = (each for _, *pair in node.get("Object", {}).get("fields", ()) for each in pair)
    for each in (*node.get("Array", {}).get("items", ()), *fields):
        yield from pattern(each)


def declared(source: bytes, node: Node) -> frozenset[str]:
    """Return the variables that what has a body declares in it: those of the same name around it are others."""
    statements = (_declared_by(source, each) for each in node["query"]["stmts"])
    return _keys_of_every(source, node).union(*statements)


def named_too_early(source: bytes, node: Any) -> Iterator[Node]:
    """Yield variables used before a statement on the same line declares others of their names.

    The engine takes them for the same, because it compares lines only.
    """
    for body in _having_bodies(node):
        statements = body["query"]["stmts"]
        for number, statement in enumerate(statements):
            for each in statements[number + 1 :]:
                names = _declared_by(source, each)
                for variable in _in_bodies(source, statement) if names else ():
                    if variable["value"] in names and variable["span"]["line"] >= each["span"]["line"]:
                        yield variable


def _having_bodies(node: Any) -> Iterator[Node]:
    if isinstance(node, dict):
        if "query" in node:
            yield node
        for each in node.values():
            yield from _having_bodies(each)
    elif isinstance(node, list):
        for each in node:
            yield from _having_bodies(each)


def _in_bodies(source: bytes, node: Any, *, inside: bool = False) -> Iterator[Node]:
    """Yield the variables in the bodies below a node that these do not declare."""
    if isinstance(node, dict):
        if inside and "Var" in node:
            yield node["Var"]
        own = declared(source, node) if "query" in node else ()
        for each in node.values():
            below = _in_bodies(source, each, inside=inside or "query" in node)
            yield from (variable for variable in below if variable["value"] not in own)
    elif isinstance(node, list):
        for each in node:
            yield from _in_bodies(source, each, inside=inside)


def _bodies(source: bytes, node: Any, around: frozenset[str], own: Collection[str]) -> Iterator[Body]:
    if isinstance(node, list):
        for each in node:
            yield from _bodies(source, each, around, own)
    elif isinstance(node, dict):
        inside = around
        if "query" in node:
            statements = node["query"]["stmts"]
            inside = around.union(_given(statements, own), _keys_of_every(source, node))
            yield Body(node, statements, around, inside)
            for number, statement in enumerate(statements):
                later = frozenset[str]().union(*(_declared_by(source, each) for each in statements[number + 1 :]))
                yield from _bodies(source, statement, (inside - later) | around, own)
        for name, each in node.items():
            if name != "query":
                yield from _bodies(source, each, around if name == "domain" else inside, own)


def _keys_of_every(source: bytes, node: Node) -> frozenset[str]:
    return frozenset(_texts(source, [node[each] for each in ("key", "value") if "domain" in node and node[each]]))


def _texts(source: bytes, spans: list[Node]) -> Iterator[str]:
    return (source[each["start"] : each["end"]].decode() for each in spans)


def _declared_by(source: bytes, statement: Node) -> frozenset[str]:
    """Return the variables that a statement declares."""
    ((kind, literal),) = statement["literal"].items()
    return frozenset(_texts(source, literal["vars"]) if kind == "SomeVars" else _valued_by(kind, literal))


def _valued_by(kind: str, literal: Node) -> Iterator[str]:
    """Yield the variables that a statement declares and gives values to."""
    if kind == "SomeIn":
        yield from variables([literal["key"], literal["value"]])
    elif kind == "Expr":
        assigned = literal["expr"].get("AssignExpr", {})
        if assigned.get("op") == "ColEq":
            yield from (each["value"] for each in pattern(assigned["lhs"]))


def _given(statements: list[Node], own: Collection[str]) -> Iterator[str]:
    """Yield the variables that statements may give values to. A rule has its name but where that is declared again."""
    for statement in statements:
        ((kind, literal),) = statement["literal"].items()
        yield from _valued_by(kind, literal)
        named = {"SomeIn": "collection", "Every": "domain", "Expr": "expr"}.get(kind, "")
        yield from (name for name in variables(literal.get(named)) if name not in own)
