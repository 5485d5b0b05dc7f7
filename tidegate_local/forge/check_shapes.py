"""Check runs and suites as GitHub's JSON has them."""

from __future__ import annotations

from typing import Any

from tidegate_local.forge.records import CheckRun, CheckSuite, PullRequest, Repository
from tidegate_local.forge.shapes import Json, node_id
from tidegate_local.forge.urls import Urls


def pull_request_minimal(urls: Urls, repository: Repository, pull: PullRequest) -> Json:
    """Return the few fields of a pull request that checks carry."""
    repo = {"id": repository.id, "url": urls.rest(repository.repository), "name": repository.name}
    return {
        "id": pull.id,
        "number": pull.number,
        "url": urls.rest(pull.repository, "pulls", pull.number),
        "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": repo},
        "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": repo},
    }


def check_run(urls: Urls, run: CheckRun, app: Json, pulls: list[Json]) -> Json:
    """Return a check run."""
    return {
        "id": run.id,
        "head_sha": run.head_sha,
        "node_id": node_id("CheckRun", run.id),
        "external_id": run.external_id,
        "url": urls.rest(run.repository, "check-runs", run.id),
        "html_url": urls.page(run.repository, "runs", run.id),
        "details_url": run.details_url or urls.page(run.repository, "runs", run.id),
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "output": _output(urls, run),
        "name": run.name,
        "check_suite": {"id": run.suite},
        "app": app,
        "pull_requests": pulls,
    }


def _output(urls: Urls, run: CheckRun) -> Json:
    return {
        "title": run.title,
        "summary": run.summary,
        "text": run.text,
        "annotations_count": len(run.annotations),
        "annotations_url": urls.rest(run.repository, "check-runs", run.id, "annotations"),
    }


def annotation(urls: Urls, run: CheckRun, one: dict[str, Any]) -> Json:
    """Return an annotation of a check run."""
    optional = {name: one.get(name) for name in ("start_column", "end_column", "title", "raw_details")}
    return {
        "path": one["path"],
        "start_line": one["start_line"],
        "end_line": one["end_line"],
        **optional,
        "annotation_level": one["annotation_level"],
        "message": one["message"],
        "blob_href": urls.page(run.repository, "blob", run.head_sha, one["path"]),
    }


def suite_status(runs: list[CheckRun]) -> tuple[str, str | None]:
    """Return a suite's status and conclusion, which follow from its runs."""
    if not runs:
        return "queued", None
    if any(run.status != "completed" for run in runs):
        return ("queued" if all(run.status == "queued" for run in runs) else "in_progress"), None
    worst = ("failure", "timed_out", "cancelled", "action_required", "stale", "success", "neutral", "skipped")
    return "completed", next(name for name in worst if any(run.conclusion == name for run in runs))


def suite_in_run(urls: Urls, suite: CheckSuite, status: tuple[str, str | None], app: Json, pulls: list[Json]) -> Json:
    """Return the suite as a check run's webhook carries it."""
    return {
        "id": suite.id,
        "node_id": node_id("CheckSuite", suite.id),
        "head_branch": suite.head_branch,
        "head_sha": suite.head_sha,
        "status": status[0],
        "conclusion": status[1],
        "url": urls.rest(suite.repository, "check-suites", suite.id),
        "before": suite.before,
        "after": suite.head_sha,
        "pull_requests": pulls,
        "app": app,
        "created_at": suite.created_at,
        "updated_at": suite.created_at,
    }


def suite_in_webhook(in_run: Json, head_commit: Json, runs: int) -> Json:
    """Return the suite as its own webhook carries it."""
    return {
        **in_run,
        "latest_check_runs_count": runs,
        "head_commit": head_commit,
        "check_runs_url": f"{in_run['url']}/check-runs",
        "rerequestable": True,
        "runs_rerequestable": True,
    }
