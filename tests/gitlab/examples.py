"""Whole webhooks as GitLab sends them, made from what is published of each kind: every field is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.gitlab.published import SCHEMAS, check

SHA, OLDER = "c" * 40, "b" * 40
#: What stands in fields that are not just any text, by their names.
_TEXTS = {
    "username": "developer",
    "user_username": "developer",
    "path_with_namespace": "acme/platform/infra",
    "default_branch": "main",
    "ref": "refs/heads/main",
    "after": SHA,
    "before": OLDER,
    "checkout_sha": SHA,
    "sha": SHA,
    "state": "opened",
}


def example(name: str, **changes: Any) -> dict[str, Any]:
    """Return a webhook of a published kind. ``changes`` go into it, those that are mappings into what is there."""
    made = _changed(_object(SCHEMAS[name], ""), changes)
    check(name, made)
    return made


def _changed(made: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    for field, value in changes.items():
        known = made.get(field)
        made[field] = _changed(dict(known), value) if isinstance(known, dict) and isinstance(value, dict) else value
    return made


def _object(schema: Mapping[str, Any], field: str) -> Any:
    """Return a value of a schema, as full as it can be."""
    if "$ref" in schema:
        return _object(SCHEMAS[schema["$ref"].rpartition("/")[2]], field)
    if "anyOf" in schema:
        return _object(schema["anyOf"][0], field)
    if "const" in schema or "enum" in schema:
        return schema.get("const") or schema["enum"][0]
    if "properties" in schema:
        return {name: _object(one, name) for name, one in schema["properties"].items()}
    return _plain(schema, field)


def _plain(schema: Mapping[str, Any], field: str) -> Any:
    kind = schema.get("type")
    if kind == "array":
        return [_object(schema.get("items", {}), field)]
    plain = {"string": _TEXTS.get(field, "text"), "number": 7, "integer": 7, "boolean": False, "null": None}
    return plain.get(kind, {}) if isinstance(kind, str) else None
