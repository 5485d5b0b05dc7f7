"""What is published about GitLab's answers and webhooks, corrected where its types say too much."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema

_FILE = Path(__file__).parents[1] / "data/gitlab/schemas.json"

#: Published fields that are not there for what is asked here: paid features, administrators, other places.
ABSENT = {
    "GroupSchema": {
        "default_branch_protection",
        "lfs_enabled",
        "project_creation_level",
        "request_access_enabled",
        "require_two_factor_authentication",
        "share_with_group_lock",
        "subgroup_creation_level",
        "two_factor_grace_period",
    },
    # Only a group's owners see addresses and SAML.
    "MemberSchema": {"email", "group_saml_identity"},
    # A webhook is of its project by ``project_id``.
    "ProjectHookSchema": {"projectId", "resource_access_token_events"},
    # Only who makes a token is shown it.
    "PersonalAccessTokenSchema": {"token"},
    "UserSchema": {"skype"},
    # Nobody is assigned, and GitLab leaves such fields of a note's merge request out or null.
    "WebhookMergeRequestNoteEventSchema": {"event_name"},
    "WebhookMergeRequestNoteEventSchema.merge_request": {"assignee", "position"},
    "WebhookMergeRequestEventSchema": {"event_name"},
    # ``changes`` holds what changed, never all that can.
    "WebhookMergeRequestEventSchema.changes": {"*"},
    # People of lists carry no date.
    "AwardEmojiSchema.user": {"created_at"},
    "WebhookMergeRequestEventSchema.user": {"state", "web_url"},
    "WebhookMergeRequestNoteEventSchema.user": {"state", "web_url"},
}
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
#: The rest of a project is settings that nobody here reads.
PROJECT = {
    "archived",
    "created_at",
    "creator_id",
    "default_branch",
    "empty_repo",
    "forks_count",
    "http_url_to_repo",
    "id",
    "last_activity_at",
    "merge_method",
    "merge_requests_enabled",
    "name",
    "name_with_namespace",
    "namespace",
    "only_allow_merge_if_pipeline_succeeds",
    "path",
    "path_with_namespace",
    "permissions",
    "ssh_url_to_repo",
    "visibility",
    "web_url",
}


def _corrected() -> dict[str, Any]:
    schemas = copy.deepcopy(json.loads(_FILE.read_text(encoding="utf-8"))["$defs"])
    # In a note's webhook the note belongs to a number, and all notes have a discussion.
    note = schemas["WebhookMergeRequestNoteEventSchema"]["properties"]["object_attributes"]["properties"]
    note["noteable_id"] = {"type": "integer"}
    # Who closed an issue is a user, not a name.
    issue = schemas["IssueSchemaWithBasicLabels"]["properties"]
    issue["closed_by"] = issue["author"]
    # Only pushes name a repository's addresses for git.
    event = schemas["WebhookMergeRequestEventSchema"]["properties"]
    event["repository"] = {**schemas["WebhookRepositorySchema"], "required": ["description", "homepage", "name", "url"]}
    permissions = schemas["ProjectSchema"]["properties"]["permissions"]["properties"]
    for name, one in permissions.items():
        permissions[name] = {"anyOf": [one, {"type": "null"}]}
    schemas["ProjectSchema"]["properties"]["allow_merge_on_skipped_pipeline"] = {"type": ["boolean", "null"]}
    schemas["ProjectSchema"]["required"] = sorted(PROJECT)
    schemas["MergeRequestSchema"]["properties"]["detailed_merge_status"]["enum"] += ["conflict", "need_rebase"]
    schemas["ExpandedMergeRequestSchema"]["properties"]["detailed_merge_status"]["enum"] += ["conflict", "need_rebase"]
    for where, names in ABSENT.items():
        one = _at(schemas, where)
        one["required"] = [] if names == {"*"} else [name for name in one["required"] if name not in names]
    for where, names in NULLABLE.items():
        properties = _at(schemas, where)["properties"]
        for name in names:
            properties[name] = {"anyOf": [properties[name], {"type": "null"}]}
    return schemas


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
