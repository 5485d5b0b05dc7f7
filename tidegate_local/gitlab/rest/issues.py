"""Issues of a project."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import issues, shapes
from tidegate_local.gitlab.records import Issue
from tidegate_local.gitlab.refusals import forbidden, improper, not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import GUEST, OWNER, REPORTER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_ALL = "/projects/:id/issues"
_ONE = f"{_ALL}/:iid"


def _show(call: Call, one: Issue) -> Json:
    hosting, reference = call.hosting, f"#{one.iid}"
    own = f"{hosting.urls.api}/projects/{call.project.id}"
    nothing = ("assignee", "milestone", "due_date", "moved_to_id", "service_desk_reply_to", "discussion_locked")
    counts = ("user_notes_count", "merge_requests_count", "upvotes", "downvotes")
    spent = {"time_estimate": 0, "total_time_spent": 0}
    return {
        "id": one.id,
        "iid": one.iid,
        "project_id": call.project.id,
        "title": one.title,
        "description": one.description,
        "state": one.state,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "closed_at": one.closed_at,
        "closed_by": shapes.named(hosting, one.closed_by),
        "labels": [],
        "assignees": [],
        "author": shapes.named(hosting, one.author),
        "type": "ISSUE",
        "issue_type": "issue",
        **dict.fromkeys(nothing),
        **dict.fromkeys(counts, 0),
        "confidential": False,
        "web_url": hosting.urls.page(one.repository, "issues", one.iid),
        "time_stats": {**spent, "human_time_estimate": None, "human_total_time_spent": None},
        "task_completion_status": {"count": 0, "completed_count": 0},
        "has_tasks": False,
        "task_status": "0 of 0 checklist items completed",
        "blocking_issues_count": 0,
        "_links": {
            "self": f"{own}/issues/{one.iid}",
            "notes": f"{own}/issues/{one.iid}/notes",
            "award_emoji": f"{own}/issues/{one.iid}/award_emoji",
            "project": own,
            "closed_as_duplicate_of": None,
        },
        "references": {"short": reference, "relative": reference, "full": f"{one.repository}{reference}"},
        "severity": "UNKNOWN",
        "subscribed": False,
        "imported": False,
        "imported_from": "none",
    }


def _issue(call: Call) -> Issue:
    found = issues.by_iid(call.hosting, call.project, call.path["iid"])
    if found is None:
        raise not_found()
    return found


@ROUTES.add("GET", _ALL, GUEST)
def list_issues(call: Call) -> Response:
    """List issues, newest first unless ``sort`` is asc, limited by ``state`` and author."""
    args, found = call.request.args, issues.of(call.hosting, call.project)
    if args.get("state", "all") not in {"opened", "closed", "all"}:
        raise improper("state")
    found = [one for one in found if args.get("state", "all") in {"all", one.state}]
    found = [one for one in found if args.get("author_username") in {None, one.author}]
    if args.get("author_id") is not None:
        found = [one for one in found if str(call.hosting.identities.named(one.author).id) == args["author_id"]]
    return page_of(call, found if args.get("sort") == "asc" else found[::-1], lambda one: _show(call, one))


@ROUTES.add("POST", _ALL, GUEST)
def create(call: Call) -> Response:
    given = call.needed("title")
    text = str(given.get("description") or "")
    return answer(_show(call, issues.open_one(call.hosting, call.project, call.user, str(given["title"]), text)), 201)


@ROUTES.add("GET", _ONE, GUEST)
def get(call: Call) -> Response:
    return answer(_show(call, _issue(call)))


@ROUTES.add("PUT", _ONE, GUEST)
def change(call: Call) -> Response:
    """Change an issue: one's own, or any for reporters."""
    one = _issue(call)
    if one.author != call.user.username and call.level < REPORTER:
        raise forbidden()
    return answer(_show(call, issues.edit(call.hosting, one, call.user, call.given())))


@ROUTES.add("DELETE", _ONE, OWNER)
def delete(call: Call) -> Response:
    call.hosting.store.remove(Issue, _issue(call).id)
    return Response(status=204)
