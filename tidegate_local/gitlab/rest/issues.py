"""Issues of a project."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import issues, shapes
from tidegate_local.gitlab.records import Issue
from tidegate_local.gitlab.refusals import forbidden, not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import GUEST, REPORTER

ROUTES = Routes()
_ALL = "/projects/:id/issues"


def _show(call: Call, one: Issue, status: int = 200) -> Response:
    return answer(shapes.issue(call.hosting, call.project, one), status)


def _issue(call: Call) -> Issue:
    found = issues.by_iid(call.hosting, call.project, call.path["iid"])
    if found is None:
        raise not_found()
    return found


@ROUTES.add("GET", _ALL, GUEST)
def list_issues(call: Call) -> Response:
    """List issues, newest first unless ``sort`` is asc, limited by ``state`` and ``author_id``."""
    args, named = call.request.args, call.hosting.identities.named
    found = [one for one in issues.of(call.hosting, call.project) if args.get("state", "all") in {"all", one.state}]
    found = [one for one in found if args.get("author_id") in {None, str(named(one.author).id)}]
    found = found if args.get("sort") == "asc" else found[::-1]
    return page_of(call, found, lambda one: shapes.issue(call.hosting, call.project, one))


@ROUTES.add("POST", _ALL, GUEST)
def create(call: Call) -> Response:
    given = call.needed("title")
    text = str(given.get("description") or "")
    return _show(call, issues.open_one(call.hosting, call.project, call.user, str(given["title"]), text), 201)


@ROUTES.add("GET", f"{_ALL}/:iid", GUEST)
def get(call: Call) -> Response:
    return _show(call, _issue(call))


@ROUTES.add("PUT", f"{_ALL}/:iid", GUEST)
def change(call: Call) -> Response:
    """Change an issue: one's own, or any for reporters."""
    one = _issue(call)
    if one.author != call.user.username and call.level < REPORTER:
        raise forbidden()
    return _show(call, issues.edit(call.hosting, one, call.user, call.given()))
