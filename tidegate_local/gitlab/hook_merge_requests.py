"""Merge requests as GitLab's webhooks carry them."""

from __future__ import annotations

from tidegate_local.gitlab import clock, hook_shapes, mergeability
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import MergeRequest, Project
from tidegate_local.gitlab.shapes import Json

_NOTHING = (
    "assignee_id",
    "head_pipeline_id",
    "last_edited_at",
    "last_edited_by_id",
    "merge_error",
    "milestone_id",
    "updated_by_id",
    "human_time_change",
    "human_time_estimate",
    "human_total_time_spent",
)


def attributes(hosting: Hosting, project: Project, one: MergeRequest) -> Json:
    """Return a merge request of a project."""
    source = hosting.project(one.source) or project
    author, merger = (hosting.identities.user(name or "") for name in (one.author, one.merged_by))
    head = hosting.git(project).commit(one.head_sha)
    status = mergeability.unchecked(one)
    return {
        **dict.fromkeys(_NOTHING),
        "assignee_ids": [],
        "author_id": author.id if author else None,
        "blocking_discussions_resolved": True,
        "created_at": clock.in_hook(one.created_at),
        "description": one.description,
        "detailed_merge_status": status.detailed,
        "draft": one.draft,
        "first_contribution": False,
        "id": one.id,
        "iid": one.iid,
        "labels": [],
        "last_commit": hook_shapes.commit(hosting, project, head),
        "merge_commit_sha": one.merge_commit_sha,
        "merge_params": {"force_remove_source_branch": "1" if one.remove_source_branch else "0"},
        "merge_status": status.short,
        "merge_user_id": merger.id if merger else None,
        "merge_when_pipeline_succeeds": False,
        "prepared_at": clock.in_hook(one.created_at),
        "reviewer_ids": [],
        "source": hook_shapes.project(hosting, source),
        "source_branch": one.source_branch,
        "source_project_id": source.id,
        "squash_commit_sha": one.squash_commit_sha,
        "state": one.state,
        "state_id": {"opened": 1, "closed": 2, "merged": 3}[one.state],
        "target": hook_shapes.project(hosting, project),
        "target_branch": one.target_branch,
        "target_project_id": project.id,
        "time_change": 0,
        "time_estimate": 0,
        "title": one.title,
        "total_time_spent": 0,
        "updated_at": clock.in_hook(one.updated_at),
        "url": hosting.urls.page(one.repository, "merge_requests", one.iid),
        "work_in_progress": one.draft,
    }
