"""Values on their way into the engine of policies and back.

regopy holds texts as JSON writes them between quotes, and its own ways in and out forget that: ``set_input`` gives it
texts as they are, and the JSON of a result has them as they are held. A quote in a plan would end a text there, and
what follows would be read as the result. So texts are escaped on the way in, and results are read node by node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import regopy
from regopy.rego_shared import (
    NodeKind,
    rego_bundle_query_entrypoint,
    rego_free_output,
    rego_node_get,
    rego_node_json,
    rego_node_size,
    rego_node_type,
    rego_node_value,
    rego_output_node,
    rego_output_ok,
)

_MANY = frozenset({NodeKind.Array, NodeKind.Set})
_AROUND = frozenset({NodeKind.Results, NodeKind.Result, NodeKind.Terms, NodeKind.Term, NodeKind.Scalar})
_QUOTED = re.compile('".*"', re.DOTALL)
_NONE = frozenset({NodeKind.Undefined, NodeKind.Null})


class Failed(Exception):  # It carries what the engine says, for the one who asked.
    """A question to the policies that has no answer but the engine's description of an error."""


def held(value: Any) -> Any:
    """Return a value of JSON as the engine holds it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)[1:-1]
    if isinstance(value, dict):
        return {held(key): held(each) for key, each in value.items()}
    return [held(each) for each in value] if isinstance(value, list) else value


def answer(engine: regopy.Interpreter, bundle: regopy.Bundle, entrypoint: str) -> Any:
    """Return what a rule comes to, None where it is undefined. Raise Failed and RegoError."""
    output = rego_bundle_query_entrypoint(engine._impl, bundle._impl, entrypoint)  # noqa: SLF001
    try:
        node = rego_output_node(output)
        if not rego_output_ok(output) and rego_node_size(node):
            raise Failed(rego_node_json(rego_node_get(node, 0)))
        while rego_node_type(node) in _AROUND and rego_node_size(node):  # Results, the first, its terms, the first.
            node = rego_node_get(node, 0)
        return value(node)
    finally:
        rego_free_output(output)


def value(node: Any) -> Any:
    """Return a node of a result as plain data. Raise Failed where it is an error, or nothing that is known."""
    kind = rego_node_type(node)
    if kind in _NONE:
        return None
    if kind in _READ:
        return _READ[kind](rego_node_value(node))
    children = [rego_node_get(node, number) for number in range(rego_node_size(node))]
    if kind in _MANY:
        return [value(each) for each in children]
    if kind is NodeKind.Object:
        return {_key(rego_node_get(each, 0)): value(rego_node_get(each, 1)) for each in children}
    raise Failed(rego_node_json(node))


def _key(node: Any) -> str:
    key = value(node)
    return key if isinstance(key, str) else json.dumps(key)


def _text(text: str) -> str:
    """Return a text as it is meant. What functions of policies cut to pieces is told as it is.

    Of what was the key of an object, the engine holds the quotes as well.
    """
    quoted = text if _QUOTED.fullmatch(text) else f'"{text}"'
    try:
        meant = str(json.loads(quoted, strict=False))
    except ValueError:
        return text
    return meant.encode(errors="replace").decode()


_READ: Mapping[NodeKind, Callable[[str], Any]] = {
    NodeKind.Int: int,
    NodeKind.Float: float,
    NodeKind.Boolean: "true".__eq__,
    NodeKind.String: _text,
}
