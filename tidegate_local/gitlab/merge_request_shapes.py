"""Merge requests as GitLab's API writes them."""

from __future__ import annotations

from tidegate_local.forge.git import NO_COMMIT, GitRefused
from tidegate_local.gitlab import mergeability, notes, shapes, statuses
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import MergeRequest, Pipeline, Project, User
from tidegate_local.gitlab.shapes import Json

_NO_TIME = {
    "time_estimate": 0,
    "total_time_spent": 0,
    "human_time_estimate": None,
    "human_total_time_spent": None,
}


def basic(hosting: Hosting, project: Project, one: MergeRequest) -> Json:
    """Return a merge request as lists have it."""
    source = hosting.project(one.source) or project
    status, merger = mergeability.of(hosting, project, one), shapes.named(hosting, one.merged_by)
    reference = f"!{one.iid}"
    return {
        "id": one.id,
        "iid": one.iid,
        "project_id": project.id,
        "title": one.title,
        "description": one.description,
        "state": one.state,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "merged_by": merger,
        "merge_user": merger,
        "merged_at": one.merged_at,
        "closed_by": shapes.named(hosting, one.closed_by),
        "closed_at": one.closed_at,
        "target_branch": one.target_branch,
        "source_branch": one.source_branch,
        "user_notes_count": len([note for note in notes.of(hosting, one) if not note.system]),
        "upvotes": 0,
        "downvotes": 0,
        "author": shapes.named(hosting, one.author),
        "assignees": [],
        "assignee": None,
        "reviewers": [],
        "source_project_id": source.id,
        "target_project_id": project.id,
        "labels": [],
        "draft": one.draft,
        "imported": False,
        "imported_from": "none",
        "work_in_progress": one.draft,
        "milestone": None,
        "merge_when_pipeline_succeeds": False,
        "merge_status": status.short,
        "detailed_merge_status": status.detailed,
        "merge_after": None,
        "sha": one.head_sha,
        "merge_commit_sha": one.merge_commit_sha,
        "squash_commit_sha": one.squash_commit_sha,
        "discussion_locked": None,
        "should_remove_source_branch": None,
        "force_remove_source_branch": one.remove_source_branch,
        "prepared_at": one.created_at,
        "reference": reference,
        "references": {"short": reference, "relative": reference, "full": f"{one.repository}{reference}"},
        "web_url": hosting.urls.page(one.repository, "merge_requests", one.iid),
        "time_stats": dict(_NO_TIME),
        "squash": one.squash,
        "squash_on_merge": one.squash,
        "task_completion_status": {"count": 0, "completed_count": 0},
        "has_conflicts": status.short == "cannot_be_merged",
        "blocking_discussions_resolved": True,
        "approvals_before_merge": None,
    }


def full(hosting: Hosting, project: Project, one: MergeRequest, caller: User | None) -> Json:
    """Return a merge request as its own address answers."""
    pipelines = statuses.pipelines_of(hosting, one)
    basic_head = pipeline(hosting, project, pipelines[0]) if pipelines else None
    target = f"refs/heads/{one.target_branch}"
    return {
        **basic(hosting, project, one),
        "subscribed": False,
        "changes_count": str(len(files(hosting, project, one))) if one.head_sha else None,
        "latest_build_started_at": None,
        "latest_build_finished_at": None,
        "first_deployed_to_production_at": None,
        "pipeline": basic_head,
        "head_pipeline": _full_pipeline(hosting, project, pipelines[0]) if pipelines else None,
        "diff_refs": {"base_sha": one.base_sha, "head_sha": one.head_sha, "start_sha": one.start_sha},
        "merge_error": None,
        "first_contribution": False,
        "user": {"can_merge": caller is not None and hosting.may_push(caller, project, target)},
    }


def files(hosting: Hosting, project: Project, one: MergeRequest) -> list[Json]:
    """Return the files that a merge request changes."""
    try:
        return shapes.diffs(hosting, project, one.base_sha, one.head_sha)
    except GitRefused:
        return []


def _full_pipeline(hosting: Hosting, project: Project, one: Pipeline) -> Json:
    shape = pipeline(hosting, project, one)
    status = shape["status"]
    words = dict.fromkeys(("text", "label", "group", "tooltip"), status)
    path = shape["web_url"].removeprefix(hosting.urls.home)
    more = {"icon": f"status_{status}", "has_details": True, "details_path": path, "illustration": None, "favicon": ""}
    return {
        **shape,
        "before_sha": NO_COMMIT,
        "tag": False,
        "yaml_errors": None,
        "user": shapes.named(hosting, one.user),
        "started_at": None,
        "finished_at": None,
        "committed_at": None,
        "duration": None,
        "queued_duration": None,
        "coverage": None,
        "detailed_status": {**words, **more},
    }


def pipeline(hosting: Hosting, project: Project, one: Pipeline) -> Json:
    """Return a pipeline as lists have it."""
    return {
        "id": one.id,
        "iid": one.iid,
        "project_id": project.id,
        "sha": one.sha,
        "ref": one.ref,
        "status": statuses.pipeline_status(hosting, one),
        "source": one.source,
        "created_at": one.created_at,
        "updated_at": one.created_at,
        "web_url": hosting.urls.page(project.repository, "pipelines", one.id),
    }
