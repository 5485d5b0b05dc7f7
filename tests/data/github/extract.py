"""Extract from GitHub's OpenAPI description and webhook examples what the tests of the local forge use.

Usage: python extract.py OPENAPI_PACKAGE EXAMPLES_PACKAGE (unpacked npm packages); README.md says how to get them.
Writes openapi.json (JSON Schemas of operations and webhooks), webhook-examples.json (one of each kind that the forge
sends) and all-webhook-examples.json.gz beside this file.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
REPO = "/repos/{owner}/{repo}"
OPERATIONS = (
    "GET /app",
    "POST /app-manifests/{code}/conversions",
    "GET /app/hook/config",
    "PATCH /app/hook/config",
    "GET /app/hook/deliveries",
    "GET /app/hook/deliveries/{delivery_id}",
    "GET /app/installations/{installation_id}",
    "POST /app/installations/{installation_id}/access_tokens",
    "GET /user",
    "POST /orgs/{org}/repos",
    f"GET {REPO}",
    f"GET {REPO}/installation",
    f"POST {REPO}/check-runs",
    f"GET {REPO}/check-runs/{{check_run_id}}",
    f"PATCH {REPO}/check-runs/{{check_run_id}}",
    f"GET {REPO}/collaborators/{{username}}/permission",
    f"GET {REPO}/commits",
    f"GET {REPO}/commits/{{ref}}",
    f"GET {REPO}/commits/{{ref}}/check-runs",
    f"GET {REPO}/commits/{{ref}}/status",
    f"GET {REPO}/compare/{{basehead}}",
    f"GET {REPO}/issues",
    f"POST {REPO}/issues",
    f"GET {REPO}/issues/{{issue_number}}",
    f"PATCH {REPO}/issues/{{issue_number}}",
    f"GET {REPO}/issues/{{issue_number}}/comments",
    f"POST {REPO}/issues/{{issue_number}}/comments",
    f"PATCH {REPO}/issues/comments/{{comment_id}}",
    f"GET {REPO}/pulls",
    f"POST {REPO}/pulls",
    f"GET {REPO}/pulls/{{pull_number}}",
    f"PATCH {REPO}/pulls/{{pull_number}}",
    f"POST {REPO}/check-runs/{{check_run_id}}/rerequest",
    "GET /orgs/{org}/teams/{team_slug}/memberships/{username}",
    f"POST {REPO}/forks",
    f"GET {REPO}/branches/{{branch}}",
    f"PUT {REPO}/branches/{{branch}}/protection",
    f"GET {REPO}/commits/{{commit_sha}}/pulls",
    f"POST {REPO}/issues/comments/{{comment_id}}/reactions",
    f"GET {REPO}/pulls/{{pull_number}}/reviews",
    f"POST {REPO}/pulls/{{pull_number}}/reviews",
    f"PUT {REPO}/pulls/{{pull_number}}/reviews/{{review_id}}/dismissals",
    "POST /app/hook/deliveries/{delivery_id}/attempts",
    f"PUT {REPO}/pulls/{{pull_number}}/merge",
    f"POST {REPO}/statuses/{{sha}}",
    f"POST {REPO}/actions/jobs/{{job_id}}/rerun",
    f"GET {REPO}/git/blobs/{{file_sha}}",
)
WEBHOOKS = (
    "push",
    "check-run-created",
    "check-run-completed",
    "check-run-requested-action",
    "check-run-rerequested",
    "check-suite-requested",
    "check-suite-completed",
    "check-suite-rerequested",
    "pull-request-opened",
    "pull-request-synchronize",
    "pull-request-closed",
    "pull-request-edited",
    "pull-request-reopened",
    "issue-comment-created",
    "issue-comment-edited",
    "issue-comment-deleted",
    "pull-request-ready-for-review",
    "pull-request-converted-to-draft",
    "merge-group-checks-requested",
    "merge-group-destroyed",
    "pull-request-review-submitted",
    "pull-request-review-dismissed",
    "status",
)
EXAMPLES = (
    ("push", None),
    ("check_run", "created"),
    ("check_run", "completed"),
    ("check_run", "requested_action"),
    ("check_run", "rerequested"),
    ("check_suite", "requested"),
    ("check_suite", "completed"),
    ("check_suite", "rerequested"),
    ("pull_request", "opened"),
    ("pull_request", "closed"),
    ("pull_request", "synchronize"),
    ("pull_request", "reopened"),
    ("pull_request", "ready_for_review"),
    ("pull_request", "converted_to_draft"),
    ("merge_group", "checks_requested"),
    ("issue_comment", "created"),
    ("issue_comment", "edited"),
    ("issue_comment", "deleted"),
    ("pull_request_review", "submitted"),
    ("pull_request_review", "dismissed"),
    ("status", None),
)
KEPT = frozenset(
    {"$ref", "additionalProperties", "allOf", "anyOf", "enum", "format", "items", "maxItems", "maxLength", "minLength"}
    | {"oneOf", "properties", "required", "type"}
)


def schema_of(openapi: Any) -> Any:
    """Return an OpenAPI 3.0 schema as JSON Schema, without prose."""
    if not isinstance(openapi, dict):
        return openapi
    kept: dict[str, Any] = {name: value for name, value in openapi.items() if name in KEPT}
    for name in ("allOf", "anyOf", "oneOf"):
        if name in kept:
            kept[name] = [schema_of(one) for one in kept[name]]
    if "properties" in kept:
        kept["properties"] = {name: schema_of(one) for name, one in kept["properties"].items()}
    for name in ("items", "additionalProperties"):
        if name in kept:
            kept[name] = schema_of(kept[name])
    return _nullable(kept) if openapi.get("nullable") else kept


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if set(schema) <= {"type", "format", "maxLength", "minLength"} and isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def references(schema: Any) -> set[str]:
    """Return the names of the components that a schema refers to."""
    if isinstance(schema, list):
        return set().union(*map(references, schema))
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else set()
    return own.union(*map(references, schema.values()))


def resolved(description: Any, node: Any) -> Any:
    """Follow a reference of the description."""
    while "$ref" in node:
        found = description
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def json_schema(description: Any, holder: Any) -> Any:
    content = resolved(description, holder).get("content", {})
    return schema_of(content["application/json"]["schema"]) if "application/json" in content else None


def operation(description: Any, name: str) -> dict[str, Any]:
    method, path = name.split(" ")
    found = description["paths"][path][method.lower()]
    answers = {code: json_schema(description, answer) for code, answer in found["responses"].items() if code < "300"}
    request = json_schema(description, found["requestBody"]) if "requestBody" in found else None
    return {"request": request, "responses": {code: schema for code, schema in answers.items() if schema}}


def name_all_events(schema: Any) -> None:
    """Add to lists of an App's events the one that merge queues send, which Apps can subscribe to."""
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        name_all_events(part)
    if isinstance(schema, dict) and "merge_queue_entry" in schema.get("enum", ()):
        schema["enum"].append("merge_group")


def main() -> None:
    openapi, examples = Path(sys.argv[1]), Path(sys.argv[2])
    description = json.loads((openapi / "generated/api.github.com.json").read_text(encoding="utf-8"))
    hooks = {
        name: json_schema(description, description["x-webhooks"][name]["post"]["requestBody"]) for name in WEBHOOKS
    }
    whole: dict[str, Any] = {
        "operations": {name: operation(description, name) for name in OPERATIONS},
        "webhooks": hooks,
    }
    components: dict[str, Any] = {}
    while missing := references([whole, components]) - components.keys():
        for name in sorted(missing):
            components[name] = schema_of(description["components"]["schemas"][name])
    name_all_events(components)
    whole["components"] = {"schemas": components}
    events = {one["name"]: one["examples"] for one in json.loads((examples / "api.github.com/index.json").read_text())}
    chosen = {
        f"{event}.{action}" if action else event: next(
            one
            for one in events[event]
            if (one.get("action") == action if action else event != "push" or (one["ref"] != "" and one["commits"]))
        )
        for event, action in EXAMPLES
    }
    every = json.dumps(events, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    (HERE / "all-webhook-examples.json.gz").write_bytes(gzip.compress(every.encode(), mtime=0))
    for name, content in (("openapi.json", whole), ("webhook-examples.json", chosen)):
        text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        (HERE / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
