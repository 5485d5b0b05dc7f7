"""What is changed in functions, one thing at a time, each under a name that stays while its function does."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """A change of a file. ``function`` is the outermost one around it: it is replaced as a whole.

    A test that runs none of the ``lines`` cannot see the change.
    """

    path: str
    function: str
    change: str
    ordinal: int
    lines: range
    before: str
    after: str

    @property
    def name(self) -> str:
        return f"{self.path} {self.function} {self.change} {self.ordinal}"


def mutants(top: Path, path: Path) -> list[Mutant]:
    """Return all mutants of a file."""
    return [mutant for mutant, *_ in _all(path.relative_to(top).as_posix(), path)]


def unchanged(mutant: Mutant) -> Mutant:
    """Return the mutant that changes nothing of the same function."""
    return replace(mutant, change="nothing", after=mutant.before)


def changed(top: Path, mutant: Mutant) -> ast.Module:
    """Return the tree of the mutant's file with the change."""
    if mutant == unchanged(mutant):
        return ast.parse((top / mutant.path).read_text(encoding="utf-8"))
    for found, tree, old, new in _all(mutant.path, top / mutant.path):
        if found == mutant:
            return ast.fix_missing_locations(_Put(old, new).visit(tree))
    raise LookupError(mutant.name)


def _all(path: str, file: Path) -> Iterator[tuple[Mutant, ast.Module, ast.AST, ast.AST]]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for function, node in _functions(tree, ""):
        seen: Counter[str] = Counter()
        for statement in _statements(node.body):
            for change, old, new in _changes(statement):
                seen[change] += 1
                texts = ast.unparse(old), ast.unparse(new)
                yield Mutant(path, function, change, seen[change], _lines(statement), *texts), tree, old, new


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in getattr(node, "body", []):
        if isinstance(child, _FUNCTIONS):
            yield prefix + child.name, child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        for inner in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, inner, []))
        for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
            yield from _statements(part.body)


def _lines(statement: ast.stmt) -> range:
    body: list[ast.stmt] = getattr(statement, "body", [])
    return range(statement.lineno, body[0].lineno if body else (statement.end_lineno or statement.lineno) + 1)


def _changes(statement: ast.stmt) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """Yield what can be changed in a statement, without the statements in it."""
    match statement:
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield "leave out", statement, ast.Pass()
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return nothing", statement, ast.Return(ast.Constant(None))
        case ast.If(test=test) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield "negate", test, ast.UnaryOp(ast.Not(), test)
        case ast.Break():
            yield "go on", statement, ast.Continue()
        case ast.Continue():
            yield "stop", statement, ast.Break()
        case ast.AugAssign(op=op) if type(op) in _COUNTED:
            yield "count", statement, _with(statement, op=_COUNTED[type(op)]())
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt | ast.excepthandler | ast.match_case | ast.arguments):
            yield from _in_expression(child)


def _in_expression(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    yield from _of_operators(node)
    match node:
        case ast.IfExp():
            yield "swap", node, _with(node, body=node.orelse, orelse=node.body)
        case ast.Constant(value=bool()):
            yield "true false", node, ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield "one more", node, ast.Constant(node.value + 1)
        case ast.comprehension(ifs=[_, *_]):
            yield "all", node, _with(node, ifs=[])
    if not isinstance(node, ast.JoinedStr):  # What is said in prose is no fact that a test should hold.
        for child in ast.iter_child_nodes(node):
            yield from _in_expression(child)


def _of_operators(node: ast.AST) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            yield "compare", node, _with(node, ops=[_COMPARED[type(op)]()])
        case ast.BoolOp(op=op):
            yield "and or", node, _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield "not", node, node.operand
        case ast.BinOp(op=op) if type(op) in _COUNTED:
            yield "count", node, _with(node, op=_COUNTED[type(op)]())


def _with(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, ast.copy_location(new, old) if hasattr(old, "lineno") else new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)
