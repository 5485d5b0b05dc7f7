"""What earlier releases stored and sent, as it lies in tests/data/releases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.api.scenario import Client, WebScenario

CORPUS = Path(__file__).parents[1] / "data/releases"
RELEASES = sorted(path.name for path in CORPUS.iterdir()) if CORPUS.exists() else []


def corpus(release: str, name: str) -> Mapping[str, Any]:
    """Return a file of a release's corpus."""
    found: Mapping[str, Any] = json.loads((CORPUS / release / f"{name}.json").read_text())
    return found


def offered_api() -> Mapping[str, Any]:
    """Return what callers of the HTTP API rely on: paths, parameters, status codes, and the fields of bodies."""
    document = Client(WebScenario()).get("/api/v1/openapi.json").json
    paths = {
        path: {
            method: {
                "parameters": {each["name"]: each.get("required", False) for each in found.get("parameters", ())},
                "responses": dict.fromkeys(found["responses"], True),
            }
            for method, found in methods.items()
        }
        for path, methods in document["paths"].items()
    }
    fields = {
        name: {field: kind.get("type") for field, kind in schema.get("properties", {}).items()}
        for name, schema in document["components"]["schemas"].items()
    }
    return {"paths": paths, "fields": fields}


def offered_events() -> Mapping[str, Any]:
    """Return the fields of events and audit messages by schema, each with its type."""
    files = sorted((CORPUS.parents[2] / "docs/schemas").glob("*.json"))
    return {path.name: _fields(json.loads(path.read_text())) for path in files}


def _fields(schema: Any) -> dict[str, list[str]]:
    """Return the types of each field, of all variants of a message together."""
    types: dict[str, set[str]] = {}
    for path, found in _typed(schema):
        types.setdefault(path, set()).update(found if isinstance(found, list) else filter(None, [found]))
    return {path: sorted(each) for path, each in types.items()}


def _typed(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, found in schema.get("properties", {}).items():
        yield f"{path}/{name}", found.get("type")
        yield from _typed(found, f"{path}/{name}")
    for part in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), *schema.get("$defs", {}).values()):
        yield from _typed(part, path)


def lost(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """Yield what plain data had before and has no more, or has otherwise, by its path."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name, value in before.items():
            if name not in now:
                yield f"{path}/{name}"
            else:
                yield from lost(value, now[name], f"{path}/{name}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) <= len(now):
        for number, value in enumerate(before):
            yield from lost(value, now[number], f"{path}/{number}")
    elif before != now:
        yield f"{path}: {before!r} became {now!r}"
