"""Merge requests: opened, read, changed, approved, merged, and the notes below them."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import approvals, merge_requests, mergeability, merging, notes, shapes
from tidegate_local.gitlab.records import MergeRequest, Note, Project, Version
from tidegate_local.gitlab.refusals import forbidden, not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import GUEST, MAINTAINER, REPORTER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_ALL = "/projects/:id/merge_requests"
_ONE = f"{_ALL}/:iid"
_NOTES = f"{_ONE}/notes"


def _found(call: Call) -> MergeRequest:
    """Return the merge request that the path names. Raise Refusal (404)."""
    iid = call.path["iid"]
    found = merge_requests.by_iid(call.hosting, call.project, int(iid)) if iid.isdecimal() else None
    if found is None:
        raise not_found()
    return found


def _full(call: Call, one: MergeRequest) -> Response:
    return answer(shapes.full_merge_request(call.hosting, call.project, one))


@ROUTES.add("GET", _ALL, REPORTER)
def list_merge_requests(call: Call) -> Response:
    """List merge requests, newest first unless ``sort`` is asc, limited by ``state``."""
    state = call.request.args.get("state", "all")
    found = [one for one in merge_requests.of(call.hosting, call.project) if state in {"all", one.state}]
    found = found if call.request.args.get("sort") == "asc" else found[::-1]
    return page_of(call, found, lambda one: shapes.merge_request(call.hosting, call.project, one))


@ROUTES.add("POST", _ALL)
def create(call: Call) -> Response:
    """Open a merge request from a branch of this project, to it or (``target_project_id``) to where it was forked."""
    given, target = call.needed("source_branch", "target_branch", "title"), call.project
    if given.get("target_project_id") is not None:
        target = _target(call, str(given["target_project_id"]))
    one = merge_requests.open_one(call.hosting, call.project, target, call.user, given)
    return answer(shapes.full_merge_request(call.hosting, target, one), 201)


def _target(call: Call, number: str) -> Project:
    found = call.hosting.project(number)
    related = found and found.repository in {call.project.repository, call.project.forked_from}
    if found is None or not related or not call.hosting.sees(call.user, found):
        raise not_found("Project")
    return found


@ROUTES.add("GET", _ONE, REPORTER)
def get(call: Call) -> Response:
    return _full(call, _found(call))


@ROUTES.add("PUT", _ONE, REPORTER)
def change(call: Call) -> Response:
    """Change fields, or close and reopen by ``state_event``."""
    return _full(call, merge_requests.edit(call.hosting, call.project, _found(call), call.user, call.given()))


@ROUTES.add("PUT", f"{_ONE}/merge", REPORTER)
def merge(call: Call) -> Response:
    return _full(call, merging.merge(call.hosting, call.project, _found(call), call.user, call.given()))


@ROUTES.add("GET", f"{_ONE}/versions", REPORTER)
def versions(call: Call) -> Response:
    """List what a merge request showed after each push, newest first."""
    one = _found(call)
    found = call.hosting.store.find(Version, one.repository, iid=one.iid)[::-1]
    return page_of(call, found, _version)


def _version(each: Version) -> Json:
    ends = {"base_commit_sha": each.base_sha, "start_commit_sha": each.start_sha}
    return {"id": each.id, "head_commit_sha": each.head_sha, **ends, "created_at": each.created_at}


def _approvals(call: Call, one: MergeRequest, status: int = 200) -> Response:
    """Answer who approves a merge request; with no approvals needed, GitLab calls it approved at once."""
    found, needed = mergeability.approvals(call.hosting, one), call.project.approvals
    by = [{"user": shapes.named(call.hosting, each.user), "approved_at": each.created_at} for each in found]
    counts = {"approvals_required": needed, "approvals_left": max(0, needed - len(found))}
    return answer({"iid": one.iid, "approved": len(found) >= needed, **counts, "approved_by": by}, status)


@ROUTES.add("GET", f"{_ONE}/approvals", REPORTER)
def list_approvals(call: Call) -> Response:
    return _approvals(call, _found(call))


@ROUTES.add("POST", f"{_ONE}/approve", REPORTER)
def approve(call: Call) -> Response:
    one = _found(call)
    approvals.approve(call.hosting, call.project, one, call.user, call.given().get("sha"))
    return _approvals(call, one, 201)


@ROUTES.add("POST", f"{_ONE}/unapprove", REPORTER)
def unapprove(call: Call) -> Response:
    one = _found(call)
    approvals.unapprove(call.hosting, call.project, one, call.user)
    return _approvals(call, one, 201)


def _note(call: Call, one: MergeRequest) -> Note:
    for note in notes.of(call.hosting, one):
        if str(note.id) == call.path["note"]:
            return note
    raise not_found()


def _own(call: Call, one: MergeRequest) -> Note:
    """Return one's own note; maintainers change those of others too."""
    note = _note(call, one)
    if note.system or (note.author != call.user.username and call.level < MAINTAINER):
        raise forbidden()
    return note


@ROUTES.add("GET", _NOTES, GUEST)
def list_notes(call: Call) -> Response:
    """List notes, newest first unless ``sort`` is asc; GitLab's own are among them."""
    one = _found(call)
    found = notes.of(call.hosting, one)
    found = found if call.request.args.get("sort") == "asc" else found[::-1]
    return page_of(call, found, lambda note: shapes.note(call.hosting, call.project, one, note))


@ROUTES.add("POST", _NOTES, GUEST)
def create_note(call: Call) -> Response:
    one, text = _found(call), str(call.needed("body")["body"])
    made = notes.create(call.hosting, call.project, one, call.user, text)
    return answer(shapes.note(call.hosting, call.project, one, made), 201)


@ROUTES.add("GET", f"{_NOTES}/:note", GUEST)
def get_note(call: Call) -> Response:
    one = _found(call)
    return answer(shapes.note(call.hosting, call.project, one, _note(call, one)))


@ROUTES.add("PUT", f"{_NOTES}/:note", GUEST)
def edit_note(call: Call) -> Response:
    one, text = _found(call), str(call.needed("body")["body"])
    changed = notes.edit(call.hosting, call.project, one, _own(call, one), who=call.user, text=text)
    return answer(shapes.note(call.hosting, call.project, one, changed))


@ROUTES.add("DELETE", f"{_NOTES}/:note", GUEST)
def delete_note(call: Call) -> Response:
    notes.delete(call.hosting, _own(call, _found(call)))
    return Response(status=204)


@ROUTES.add("GET", f"{_NOTES}/:note/award_emoji", GUEST)
def awards(call: Call) -> Response:
    found = notes.awards(call.hosting, _note(call, _found(call)))
    return page_of(call, found, lambda one: shapes.award(call.hosting, one))


@ROUTES.add("POST", f"{_NOTES}/:note/award_emoji", GUEST)
def award(call: Call) -> Response:
    """Award an emoji (``name``); a second time is refused as not found, as GitLab does."""
    note, name = _note(call, _found(call)), str(call.needed("name")["name"])
    return answer(shapes.award(call.hosting, notes.award(call.hosting, note, call.user, name)), 201)
