"""What GitHub publishes of its REST API and its webhooks, to hold answers against."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema

GITHUB = Path(__file__).parents[1] / "data/github"
DESCRIPTION = json.loads((GITHUB / "openapi.json").read_text(encoding="utf-8"))


def _without_required(schema: Any) -> Any:
    """Return a schema that asks for no field: the stand-in has those that somebody reads, and these as it does."""
    if isinstance(schema, dict):
        asks = isinstance(schema.get("required"), list)
        named = {
            "anyOf" if name == "oneOf" else name: one
            for name, one in schema.items()
            if not (asks and name == "required")
        }
        return {name: _without_required(one) for name, one in named.items()}
    return [_without_required(one) for one in schema] if isinstance(schema, list) else schema


DESCRIPTION = _without_required(DESCRIPTION)


def validate(schema: dict[str, Any], value: Any) -> None:
    """Hold the fields of a value against a schema of GitHub's description, dates and addresses included."""
    checker = jsonschema.FormatChecker(["date-time"])
    whole = {"components": DESCRIPTION["components"], **schema}
    validator = jsonschema.Draft202012Validator(whole, format_checker=checker)
    problems = sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
    assert not problems, "\n".join(f"{error.json_path}: {error.message[:300]}" for error in problems[:10])


def operation_of(method: str, path: str) -> dict[str, Any]:
    """Return GitHub's description of the operation that a call names."""
    by_length = sorted(DESCRIPTION["operations"].items(), key=lambda item: -len(item[0]))
    for name, operation in by_length:
        verb, template = name.split(" ")
        last = template.endswith(("{basehead}", "{path}", "/git/refs/{ref}", "{branch}"))
        pattern = re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(template))
        pattern = f"{pattern.removesuffix('[^/]+')}.+" if last else pattern
        if verb == method and re.fullmatch(pattern, path):
            return operation
    raise AssertionError(f"{method} {path} is no operation in {GITHUB}/openapi.json")


EXAMPLES = json.loads((GITHUB / "webhook-examples.json").read_text(encoding="utf-8"))


def hold_against_github(came, event, action=None):
    """Hold a webhook against GitHub's schema, and the names of its fields against those of a recorded example."""
    name = "-".join([event, *([action] if action else [])]).replace("_", "-")
    payload = came["payload"]
    validate(DESCRIPTION["webhooks"][name], payload)
    if example := EXAMPLES.get(f"{event}.{action}" if action else event):
        assert not payload.keys() - example.keys() - {"organization", "installation", "changes"}
