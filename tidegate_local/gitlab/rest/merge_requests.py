"""Merge requests: opened, read, changed, merged."""

from __future__ import annotations

from typing import Any

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import merge_request_shapes, merge_requests, merging, shapes, statuses
from tidegate_local.gitlab.records import MergeRequest, Project, Version
from tidegate_local.gitlab.refusals import improper, not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import REPORTER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_ALL = "/projects/:id/merge_requests"
_ONE = f"{_ALL}/:iid"
_STATES = ("opened", "closed", "locked", "merged", "all")
_MANY = 1000


def merge_request_of(call: Call) -> MergeRequest:
    """Return the merge request that the path names. Raise Refusal (404)."""
    iid = call.path["iid"]
    found = merge_requests.by_iid(call.hosting, call.project, int(iid)) if iid.isdecimal() else None
    if found is None:
        raise not_found()
    return found


def _full(call: Call, one: MergeRequest, status: int = 200) -> Response:
    who = call.caller.user if call.caller else None
    return answer(merge_request_shapes.full(call.hosting, call.project, one, who), status)


@ROUTES.add("GET", _ALL, REPORTER)
def list_merge_requests(call: Call) -> Response:
    """List merge requests, newest first, limited by ``state``, branches, author and ``iids[]``."""
    args = call.request.args
    if args.get("state", "all") not in _STATES:
        raise improper("state")
    found = merge_requests.of(call.hosting, call.project)
    found = [one for one in found if args.get("state", "all") in {"all", one.state}]
    for name, field in {"source_branch": "source_branch", "target_branch": "target_branch"}.items():
        found = [one for one in found if args.get(name) in {None, getattr(one, field)}]
    found = [one for one in found if args.get("author_username") in {None, one.author}]
    if iids := args.getlist("iids[]"):
        found = [one for one in found if str(one.iid) in iids]
    return page_of(call, _sorted(call, found), lambda one: merge_request_shapes.basic(call.hosting, call.project, one))


def _sorted(call: Call, found: list[MergeRequest]) -> list[MergeRequest]:
    by = call.request.args.get("order_by", "created_at")
    if by not in {"created_at", "updated_at", "title", "merged_at"}:
        raise improper("order_by")
    found = sorted(found, key=lambda one: (str(getattr(one, by)), one.id))
    return found if call.request.args.get("sort", "desc") == "asc" else found[::-1]


@ROUTES.add("POST", _ALL)
def create(call: Call) -> Response:
    """Open a merge request from a branch of this project, to it or (``target_project_id``) to where it was forked."""
    given = call.needed("source_branch", "target_branch", "title")
    target = call.project
    if given.get("target_project_id") is not None:
        target = _target(call, str(given["target_project_id"]))
    one = merge_requests.open_one(call.hosting, call.project, target, call.user, given)
    return answer(merge_request_shapes.full(call.hosting, target, one, call.user), 201)


def _target(call: Call, number: str) -> Project:
    found = call.hosting.project(number)
    related = found and found.repository in {call.project.repository, call.project.forked_from}
    if found is None or not related or not call.hosting.sees(call.user, found):
        raise not_found("Project")
    return found


@ROUTES.add("GET", _ONE, REPORTER)
def get(call: Call) -> Response:
    return _full(call, merge_request_of(call))


@ROUTES.add("PUT", _ONE, REPORTER)
def change(call: Call) -> Response:
    """Change fields, or close and reopen by ``state_event``."""
    return _full(call, merge_requests.edit(call.hosting, call.project, merge_request_of(call), call.user, call.given()))


@ROUTES.add("PUT", f"{_ONE}/merge", REPORTER)
def merge(call: Call) -> Response:
    return _full(call, merging.merge(call.hosting, call.project, merge_request_of(call), call.user, call.given()))


@ROUTES.add("GET", f"{_ONE}/commits", REPORTER)
def commits(call: Call) -> Response:
    """List a merge request's commits, newest first."""
    one = merge_request_of(call)
    found = call.hosting.git(call.project).log(f"{one.base_sha}..{one.head_sha}", _MANY)
    return page_of(call, found, lambda each: shapes.commit(call.hosting, call.project, each))


@ROUTES.add("GET", f"{_ONE}/diffs", REPORTER)
def diffs(call: Call) -> Response:
    found = merge_request_shapes.files(call.hosting, call.project, merge_request_of(call))
    return page_of(call, found, lambda each: each)


@ROUTES.add("GET", f"{_ONE}/changes", REPORTER)
def changes(call: Call) -> Response:
    """Answer the merge request with all its files (deprecated by GitLab, still there)."""
    one, who = merge_request_of(call), call.caller.user if call.caller else None
    whole = merge_request_shapes.full(call.hosting, call.project, one, who)
    files = merge_request_shapes.files(call.hosting, call.project, one)
    return answer({**whole, "changes": files, "overflow": False})


@ROUTES.add("GET", f"{_ONE}/versions", REPORTER)
def versions(call: Call) -> Response:
    """List what a merge request showed after each push, newest first."""
    one = merge_request_of(call)
    found = call.hosting.store.find(Version, one.repository, iid=one.iid)[::-1]
    return page_of(call, found, lambda each: _version(one, each))


def _version(one: MergeRequest, each: Version) -> Json:
    shown: dict[str, Any] = {
        "id": each.id,
        "head_commit_sha": each.head_sha,
        "base_commit_sha": each.base_sha,
        "start_commit_sha": each.start_sha,
        "created_at": each.created_at,
        "merge_request_id": one.id,
        "state": "collected",
        "real_size": "1",
        "patch_id_sha": None,
    }
    return shown


@ROUTES.add("GET", f"{_ONE}/pipelines", REPORTER)
def pipelines(call: Call) -> Response:
    """List the pipelines of a merge request's head, newest first."""
    found = statuses.pipelines_of(call.hosting, merge_request_of(call))
    return page_of(call, found, lambda each: merge_request_shapes.pipeline(call.hosting, call.project, each))
