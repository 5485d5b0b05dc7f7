"""Statuses of commits."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import merge_request_shapes, shapes, statuses
from tidegate_local.gitlab.records import Status
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import DEVELOPER, REPORTER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()


def _show(call: Call, one: Status) -> Json:
    fields = ("id", "sha", "ref", "status", "name", "target_url", "description", "created_at", "started_at")
    return {
        **{field: getattr(one, field) for field in fields},
        "finished_at": one.finished_at,
        "allow_failure": False,
        "coverage": one.coverage,
        "pipeline_id": one.pipeline,
        "author": shapes.named(call.hosting, one.user),
    }


@ROUTES.add("POST", "/projects/:id/statuses/:sha", DEVELOPER)
def set_status(call: Call) -> Response:
    """Set a status; GitLab answers 201 also when it changed one."""
    given = call.given()
    statuses.check_state(given.get("state"))
    return answer(_show(call, statuses.set_one(call.hosting, call.project, call.path["sha"], call.user, given)), 201)


@ROUTES.add("POST", "/projects/:id/pipeline", DEVELOPER)
def start_pipeline(call: Call) -> Response:
    """Make a pipeline of a ref, as GitLab does for what it builds itself: statuses of that commit go there from now."""
    ref, hosting = str(call.needed("ref")["ref"]), call.hosting
    sha = statuses.commit_of(hosting, call.project, ref)
    with hosting.writing(call.project):
        made = statuses.start_pipeline(hosting, call.project, sha, ref, call.user, source="api")
    return answer(merge_request_shapes.pipeline(hosting, call.project, made), 201)


@ROUTES.add("GET", "/projects/:id/repository/commits/:sha/statuses", REPORTER)
def list_statuses(call: Call) -> Response:
    """List statuses, limited by ``name``, ``ref``, ``pipeline_id``; by id, or (``order_by``, ``sort``) otherwise."""
    args, sha = call.request.args, statuses.commit_of(call.hosting, call.project, call.path["sha"])
    found = statuses.of_commit(call.hosting, call.project, sha, everything=call.flag("all"))
    for name in ("name", "ref"):
        found = [one for one in found if args.get(name) in {None, getattr(one, name)}]
    found = [one for one in found if args.get("pipeline_id") in {None, str(one.pipeline)}]
    if args.get("sort") == "desc":
        found.reverse()
    return page_of(call, found, lambda one: _show(call, one))
