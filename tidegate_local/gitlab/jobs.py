"""Jobs of pipelines, as GitLab CI runs them: here they are in the state that somebody says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate_local.gitlab import clock, shapes, statuses, webhooks
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Pipeline, Project, Status
from tidegate_local.gitlab.refusals import message, not_found
from tidegate_local.gitlab.shapes import Json

#: The variable of a pipeline that says what its jobs are here, as there is no CI: ``NAME=STATE`` for each, by commas.
VARIABLE = "LOCAL_JOBS"
_ENDED = {"success", "failed", "canceled", "skipped"}


def wanted(request: Mapping[str, Any]) -> dict[str, str]:
    """Return the state of each job that a new pipeline is to have, by name."""
    variables = request.get("variables") or []
    told = next((str(one["value"]) for one in variables if one.get("key") == VARIABLE), "")
    return dict(each.rsplit("=", 1) for each in told.split(",") if "=" in each)


def begin(hosting: Hosting, project: Project, pipeline: Pipeline, name: str, state: str) -> Status:
    """Make a job, and tell webhooks. One of the same name in the pipeline is retried now."""
    who, now = hosting.identities.named(pipeline.user), clock.now()
    times = {"started_at": now if state != "pending" else None, "finished_at": now if state in _ENDED else None}
    reason = "script_failure" if state == "failed" else None
    known = {"name": name, "status": state, "created_at": now, "updated_at": now, "failure_reason": reason, **times}
    made = statuses.add(hosting, pipeline, pipeline.ref, who, {**known, "job": True})
    webhooks.tell_of(hosting, project, "Job Hook", who, _told(project, made))
    return made


def retry(hosting: Hosting, project: Project, number: int) -> Status:
    """Begin a job again. Raise Refusal: 404 for none, 403 for one that has not ended."""
    one = hosting.store.first(Status, project.repository, id=number)
    if one is None or not one.job:
        raise not_found()
    if one.status not in _ENDED or one.retried:
        raise message(403, "403 Forbidden - Job is not retryable")
    return begin(hosting, project, hosting.store.get(Pipeline, one.pipeline), one.name, "pending")


def shape(hosting: Hosting, project: Project, one: Status) -> Json:
    """Return a job."""
    names = ("id", "name", "status", "ref", "created_at", "started_at", "finished_at")
    pipeline = hosting.store.get(Pipeline, one.pipeline)
    return {
        **{name: getattr(one, name) for name in names},
        **({"failure_reason": one.failure_reason} if one.failure_reason else {}),
        "stage": "test",
        "allow_failure": False,
        "user": shapes.named(hosting, one.user),
        "commit": shapes.commit(hosting, project, hosting.git(project).commit(one.sha)),
        "pipeline": {"id": pipeline.id, "project_id": project.id, "sha": one.sha, "ref": one.ref},
    }


def _told(project: Project, one: Status) -> Json:
    """Return a job as its webhook carries it."""
    return {
        "object_kind": "build",
        "ref": one.ref,
        "tag": False,
        "sha": one.sha,
        "build_id": one.id,
        "build_name": one.name,
        "build_stage": "test",
        "build_status": one.status,
        "build_created_at": one.created_at,
        "build_started_at": one.started_at,
        "build_finished_at": one.finished_at,
        "build_allow_failure": False,
        "build_failure_reason": one.failure_reason or "unknown_failure",
        "pipeline_id": one.pipeline,
        "project_id": project.id,
        "project_name": project.repository,
    }
