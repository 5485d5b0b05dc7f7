"""Remove a plan's sensitive values (by the engine's JSON) from texts about it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

MASK = "(masked)"
#: Shorter values ("yes", "443") are everywhere; masking them would hide the sentence, not the secret.
_SHORTEST = 4


def masking(plan: Any) -> Callable[[str], str]:
    """Return a function that removes a plan's sensitive values from a text. The plan is untrusted."""
    spellings = {spelling for value in _sensitive(_fields(plan)) for spelling in _spellings(value)}
    if not spellings:
        return str
    longest_first = sorted(spellings, key=len, reverse=True)
    expression = re.compile("|".join(re.escape(each) for each in longest_first))
    return lambda text: expression.sub(MASK, text)


def _sensitive(plan: Mapping[str, Any]) -> Iterator[str]:
    for each in (*_items(plan.get("resource_changes")), *_items(plan.get("resource_drift"))):
        yield from _of_change(_fields(_fields(each).get("change")))
    for each in _fields(plan.get("output_changes")).values():
        yield from _of_change(_fields(each))
    for values in (_fields(plan.get("planned_values")), _fields(_fields(plan.get("prior_state")).get("values"))):
        yield from _of_outputs(_fields(values.get("outputs")))
        yield from _of_module(_fields(values.get("root_module")))
    declared = _fields(_fields(_fields(plan.get("configuration")).get("root_module")).get("variables"))
    for name, each in _fields(plan.get("variables")).items():
        yield from _leaves(_fields(each).get("value")) if _fields(declared.get(name)).get("sensitive") else ()


def _of_change(change: Mapping[str, Any]) -> Iterator[str]:
    for side in ("before", "after"):
        yield from _marked(change.get(side), change.get(f"{side}_sensitive"))


def _of_outputs(outputs: Mapping[str, Any]) -> Iterator[str]:
    for each in map(_fields, outputs.values()):
        yield from _leaves(each.get("value")) if each.get("sensitive") else ()


def _of_module(module: Mapping[str, Any]) -> Iterator[str]:
    for each in map(_fields, _items(module.get("resources"))):
        yield from _marked(each.get("values"), each.get("sensitive_values"))
    for each in _items(module.get("child_modules")):
        yield from _of_module(_fields(each))


def _marked(value: Any, marks: Any) -> Iterator[str]:
    """Yield the plain values that ``marks``, a tree shaped like ``value``, marks with true."""
    if marks is True:
        yield from _leaves(value)
    elif isinstance(marks, dict):
        for key, mark in marks.items():
            yield from _marked(_fields(value).get(key), mark)
    elif isinstance(marks, list):
        for each, mark in zip(_items(value), marks, strict=False):
            yield from _marked(each, mark)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _spellings(value: str) -> Iterable[str]:
    """Return the forms of a value in a text: by lines, and as JSON."""
    lines = {line.strip() for line in (value, *value.splitlines())}
    long = {line for line in lines if len(line) >= _SHORTEST}
    return long | {json.dumps(line, ensure_ascii=ascii_only)[1:-1] for line in long for ascii_only in (True, False)}


def _fields(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
