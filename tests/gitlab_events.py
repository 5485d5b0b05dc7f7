"""Webhooks as GitLab describes them, one of each kind, made up for these tests."""

from __future__ import annotations

from typing import Any

HEAD, BEFORE, ZEROS = "c" * 40, "b" * 40, "0" * 40
USER = {"id": 11, "name": "Dev Eloper", "username": "developer", "avatar_url": None, "email": "[REDACTED]"}
PROJECT = {
    "id": 77,
    "name": "Infra",
    "description": "",
    "web_url": "https://gitlab.example/acme/platform/infra",
    "git_http_url": "https://gitlab.example/acme/platform/infra.git",
    "namespace": "platform",
    "visibility_level": 0,
    "path_with_namespace": "acme/platform/infra",
    "default_branch": "main",
}
REPOSITORY = {"name": "Infra", "url": "git@gitlab.example:acme/platform/infra.git", "visibility_level": 0}


def push(**changes: Any) -> dict[str, Any]:
    commit = {
        "id": HEAD,
        "message": "Change the network\n",
        "title": "Change the network",
        "timestamp": "2026-03-02T09:00:00+00:00",
        "author": {"name": "Dev Eloper", "email": "developer@example.com"},
        "added": [],
        "modified": ["network/main.tf"],
        "removed": [],
    }
    return {
        "object_kind": "push",
        "event_name": "push",
        "before": BEFORE,
        "after": HEAD,
        "ref": "refs/heads/main",
        "ref_protected": True,
        "checkout_sha": HEAD,
        "user_id": 11,
        "user_name": "Dev Eloper",
        "user_username": "developer",
        "user_email": "",
        "project_id": 77,
        "project": PROJECT,
        "commits": [commit],
        "total_commits_count": 1,
        "repository": REPOSITORY,
        **changes,
    }


def merge_request(
    action: str | None = "open", changes: dict[str, Any] | None = None, **attributes: Any
) -> dict[str, Any]:
    return {
        "object_kind": "merge_request",
        "event_type": "merge_request",
        "user": USER,
        "project": PROJECT,
        "object_attributes": {
            "id": 900,
            "iid": 5,
            "title": "Change the network",
            "state": "opened",
            "draft": False,
            "work_in_progress": False,
            "source_branch": "feature",
            "target_branch": "main",
            "source_project_id": 77,
            "target_project_id": 77,
            "last_commit": {"id": HEAD, "message": "Change the network"},
            "merge_status": "unchecked",
            "detailed_merge_status": "checking",
            **({"action": action} if action else {}),
            **attributes,
        },
        "labels": [],
        "changes": changes or {},
        "repository": REPOSITORY,
    }


def note(text: str = "tidegate help", kind: str = "MergeRequest", **attributes: Any) -> dict[str, Any]:
    about = {"MergeRequest": "merge_request", "Issue": "issue", "Commit": "commit", "Snippet": "snippet"}[kind]
    return {
        "object_kind": "note",
        "event_type": "note",
        "user": USER,
        "project_id": 77,
        "project": PROJECT,
        "object_attributes": {
            "id": 4321,
            "note": text,
            "noteable_type": kind,
            "author_id": 11,
            "created_at": "2026-03-02 08:00:00 UTC",
            "system": False,
            "action": "create",
            "url": "https://gitlab.example/acme/platform/infra/-/merge_requests/5#note_4321",
            **attributes,
        },
        "repository": REPOSITORY,
        about: {"id": 900, "iid": 5, "source_branch": "feature", "target_branch": "main", "state": "opened"},
    }


def other(kind: str, **fields: Any) -> dict[str, Any]:
    return {"object_kind": kind, "user": USER, "project": PROJECT, "repository": REPOSITORY, **fields}


#: The value of X-Gitlab-Event, the payload, and what becomes of it.
EVERY: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("Push Hook", push(), "stored"),
    ("Push Hook", push(ref="refs/heads/feature"), "ignored"),
    ("Push Hook", push(after=ZEROS, checkout_sha=None, commits=[], total_commits_count=0), "ignored"),
    ("Push Hook", push(before=ZEROS), "stored"),
    ("Tag Push Hook", {**push(ref="refs/tags/v1"), "object_kind": "tag_push"}, "ignored"),
    ("Merge Request Hook", merge_request("open"), "stored"),
    ("Merge Request Hook", merge_request("reopen"), "stored"),
    ("Merge Request Hook", merge_request("update", oldrev=BEFORE), "stored"),
    ("Merge Request Hook", merge_request("update", {"draft": {"previous": True, "current": False}}), "stored"),
    (
        "Merge Request Hook",
        merge_request("update", {"draft": {"previous": False, "current": True}}, draft=True),
        "stored",
    ),
    ("Merge Request Hook", merge_request("update", {"target_branch": {"previous": "a", "current": "main"}}), "stored"),
    ("Merge Request Hook", merge_request("update", {"title": {"previous": "a", "current": "b"}}), "ignored"),
    ("Merge Request Hook", merge_request(None), "ignored"),
    ("Merge Request Hook", merge_request("approved"), "stored"),
    ("Merge Request Hook", merge_request("unapproved"), "stored"),
    ("Merge Request Hook", merge_request("approval"), "stored"),
    ("Merge Request Hook", merge_request("unapproval"), "stored"),
    ("Merge Request Hook", merge_request("close", state="closed"), "stored"),
    ("Merge Request Hook", merge_request("merge", state="merged"), "stored"),
    ("Note Hook", note(), "stored"),
    ("Note Hook", note("Looks good to me."), "ignored"),
    ("Note Hook", note(action="update"), "ignored"),
    ("Note Hook", note(system=True), "ignored"),
    ("Note Hook", note(kind="Issue"), "ignored"),
    ("Note Hook", note(kind="Commit"), "ignored"),
    ("Note Hook", note(kind="Snippet"), "ignored"),
    ("Confidential Note Hook", {**note(), "event_type": "confidential_note"}, "ignored"),
    ("Issue Hook", other("issue", object_attributes={"iid": 1, "action": "open"}), "ignored"),
    ("Confidential Issue Hook", other("issue", object_attributes={"iid": 1, "action": "open"}), "ignored"),
    ("Wiki Page Hook", other("wiki_page", object_attributes={"slug": "home", "action": "create"}), "ignored"),
    ("Pipeline Hook", other("pipeline", object_attributes={"id": 31, "status": "running", "sha": HEAD}), "ignored"),
    ("Pipeline Hook", other("pipeline", object_attributes={"id": 31, "status": "success", "sha": HEAD}), "stored"),
    ("Pipeline Hook", other("pipeline", object_attributes={"id": 31, "status": ["success"], "sha": HEAD}), "ignored"),
    ("Job Hook", other("build", build_id=1, build_status="created", sha=HEAD), "ignored"),
    ("Job Hook", other("build", build_id=1, build_status="failed", sha=HEAD), "stored"),
    ("Deployment Hook", other("deployment", status="success", deployment_id=15), "ignored"),
    ("Feature Flag Hook", other("feature_flag", object_attributes={"id": 6, "active": True}), "ignored"),
    ("Release Hook", other("release", action="create", tag="v1.1"), "ignored"),
    ("Milestone Hook", other("milestone", action="create", object_attributes={"iid": 2}), "ignored"),
    ("Emoji Hook", other("emoji", object_attributes={"name": "rocket"}, event_type="award"), "ignored"),
    ("Member Hook", {"event_name": "user_add_to_group", "group_path": "acme", "user_username": "developer"}, "ignored"),
    ("Subgroup Hook", {"event_name": "subgroup_create", "full_path": "acme/platform", "group_id": 10}, "ignored"),
    ("Project Hook", {"event_name": "project_create", "path_with_namespace": "acme/new"}, "ignored"),
    ("Resource Access Token Hook", other("access_token", object_attributes={"name": "acd"}), "ignored"),
    ("Vulnerability Hook", other("vulnerability", object_attributes={"state": "confirmed"}), "ignored"),
    ("System Hook", {"event_name": "push", "ref": "refs/heads/main"}, "ignored"),
    ("Service Hook", push(), "ignored"),
)
