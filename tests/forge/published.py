"""What GitHub publishes of its REST API and its webhooks, to hold answers against."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema

GITHUB = Path(__file__).parents[1] / "data/github"
DESCRIPTION = json.loads((GITHUB / "openapi.json").read_text(encoding="utf-8"))


def validate(schema: dict[str, Any], value: Any) -> None:
    """Hold a value against a schema of GitHub's description, dates and addresses included."""
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
#: What a recorded example has because of what its repository uses: deployments by GitHub Actions.
NOT_OURS = {"check_run.deployment"}


def hold_against_github(came, event, action=None):
    """Hold a webhook against GitHub's schema and the fields of a recorded example."""
    name = "-".join([event, *([action] if action else [])]).replace("_", "-")
    payload = came["payload"]
    validate(DESCRIPTION["webhooks"][name], payload)
    if example := EXAMPLES.get(f"{event}.{action}" if action else event):
        assert not example.keys() - payload.keys() - {"organization", "installation"}
        for part in (
            "repository",
            "sender",
            "check_run",
            "check_suite",
            "pull_request",
            "review",
            "merge_group",
            "comment",
            "head_commit",
            "pusher",
        ):
            if isinstance(example.get(part), dict) and isinstance(payload.get(part), dict):
                missing = {f"{part}.{field}" for field in example[part].keys() - payload[part].keys()} - NOT_OURS
                assert not missing, f"{event} lacks {sorted(missing)}"
