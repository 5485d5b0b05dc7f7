"""What is published about GitLab's answers and webhooks, corrected where its types say too much."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema

_FILE = Path(__file__).parents[1] / "data/gitlab/schemas.json"

#: Fields that are published as never null, and are null or missing until there is something to say.
NULLABLE = {
    "CommitStatusSchema": {"description", "finished_at", "started_at", "target_url"},
    "DeployTokenSchema": {"expires_at"},
    "NewDeployTokenSchema": {"expires_at"},
    "ExpandedCommitSchema": {"last_pipeline", "status"},
    "ExpandedPipelineSchema": {"committed_at", "duration", "finished_at", "started_at"},
    # Nothing is the target of a push.
    "EventSchema": {"target_id", "target_title", "target_type"},
    "GroupSchema": {"parent_id"},
    "IssueSchemaWithBasicLabels": {
        "closed_at",
        "closed_by",
        "discussion_locked",
        "due_date",
        "milestone",
        "moved_to_id",
        "service_desk_reply_to",
    },
    "CondensedNamespaceSchema": {"parent_id"},
    "JobSchema": {"finished_at", "started_at"},
    "MemberSchema": {"expires_at"},
    "MergeRequestLevelMergeRequestApprovalSchema": {"description"},
    "ProjectLevelMergeRequestApprovalSchema": {
        "disable_overriding_approvers_per_merge_request",
        "merge_requests_disable_committers_approval",
    },
    "ProjectHookSchema": {"disabled_until"},
    "PersonalAccessTokenSchema": {"expires_at", "last_used_at"},
    "ProjectSchema": {"default_branch"},
    "RepositoryCompareSchema": {"commit"},
    "WebhookPushEventSchema": {"checkout_sha"},
    "WebhookTagEventSchema": {"checkout_sha"},
    "WebhookMergeRequestEventSchema.object_attributes": {
        "human_time_change",
        "human_time_estimate",
        "human_total_time_spent",
        "last_edited_at",
        "last_edited_by_id",
        "merge_commit_sha",
    },
    "WebhookMergeRequestNoteEventSchema.merge_request": {"assignee_id", "milestone_id"},
    "WebhookMergeRequestNoteEventSchema.object_attributes": {"commit_id", "line_code"},
}


def _corrected() -> dict[str, Any]:
    schemas = copy.deepcopy(json.loads(_FILE.read_text(encoding="utf-8"))["$defs"])
    # In a note's webhook the note belongs to a number, and all notes have a discussion.
    note = schemas["WebhookMergeRequestNoteEventSchema"]["properties"]["object_attributes"]["properties"]
    note["noteable_id"] = {"type": "integer"}
    # Who closed an issue is a user, not a name.
    issue = schemas["IssueSchemaWithBasicLabels"]["properties"]
    issue["closed_by"] = issue["author"]
    permissions = schemas["ProjectSchema"]["properties"]["permissions"]["properties"]
    for name, one in permissions.items():
        permissions[name] = {"anyOf": [one, {"type": "null"}]}
    schemas["MergeRequestSchema"]["properties"]["detailed_merge_status"]["enum"] += ["conflict", "need_rebase"]
    schemas["ExpandedMergeRequestSchema"]["properties"]["detailed_merge_status"]["enum"] += ["conflict", "need_rebase"]
    for where, names in NULLABLE.items():
        properties = _at(schemas, where)["properties"]
        for name in names:
            properties[name] = {"anyOf": [properties[name], {"type": "null"}]}
    return _without_required(schemas)


def _without_required(schema: Any) -> Any:
    """Return schemas that ask for no field: the stand-in has those that somebody reads, and these as published."""
    if isinstance(schema, dict):
        asks = isinstance(schema.get("required"), list)
        return {name: _without_required(one) for name, one in schema.items() if not (asks and name == "required")}
    return [_without_required(one) for one in schema] if isinstance(schema, list) else schema


def _at(schemas: dict[str, Any], where: str) -> dict[str, Any]:
    name, _, inside = where.partition(".")
    one = schemas[name]
    one = one["properties"][inside] if inside else one
    return schemas[one["$ref"].rpartition("/")[2]] if "$ref" in one else one


SCHEMAS = _corrected()


def check(name: str, value: Any, *, many: bool = False) -> None:
    """Hold a value (or ``many``: each of a list) against what is published under a name."""
    one = {"$ref": f"#/$defs/{name}"}
    schema = {"$defs": SCHEMAS, **({"type": "array", "items": one} if many else one)}
    problems = sorted(jsonschema.Draft202012Validator(schema).iter_errors(value), key=lambda error: error.json_path)
    assert not problems, "\n".join(f"{name} {error.json_path}: {error.message[:300]}" for error in problems[:12])
