"""Issues: lists (where pull requests are issues as well), single ones, new ones, changes."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge import issue_shapes, issues, pull_shapes, pulls
from tidegate_local.forge.comments import Author
from tidegate_local.forge.records import Issue, PullRequest
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.routing import Call, Routes, answer, page_of
from tidegate_local.forge.shapes import Json

ROUTES = Routes()
_IN = "/repos/<owner>/<name>/issues"
_ONE = f"{_IN}/<int:number>"


@ROUTES.add("GET", _IN, "issues:read")
def index(call: Call) -> Response:
    """List open ones unless ``state`` says otherwise, newest first; ``creator`` is a login."""
    state, creator = call.request.args.get("state", "open"), call.request.args.get("creator")
    every: list[Issue | PullRequest] = [
        *call.hosting.store.find(Issue, call.repository.repository),
        *call.hosting.store.find(PullRequest, call.repository.repository),
    ]
    found = [one for one in every if state in {one.state, "all"} and creator in {None, one.user}]
    return page_of(call, sorted(found, key=lambda one: -one.number), lambda one: _shape(call, one))


@ROUTES.add("POST", _IN, "issues:write", readers=True)
def create(call: Call) -> Response:
    author = Author(call.caller.login, call.caller.by_app)
    made = issues.create(call.hosting, call.repository, author, call.body())
    return answer(_shape(call, made), 201)


@ROUTES.add("GET", _ONE, "issues:read")
def get(call: Call) -> Response:
    return answer(_shape(call, _issue(call)))


@ROUTES.add("PATCH", _ONE, "issues:write", readers=True)
def edit(call: Call) -> Response:
    """Change an issue; a pull request is changed at its own address here."""
    one = _issue(call)
    if isinstance(one, PullRequest):
        raise not_found()
    if one.user != call.caller.login and not call.caller.may("issues:write"):
        raise Refusal(403, "Must have admin rights to Repository.")
    return answer(_shape(call, issues.edit(call.hosting, one, call.body())))


def _issue(call: Call) -> Issue | PullRequest:
    number = call.path["number"]
    found = issues.by_number(call.hosting, call.repository, number)
    found_pull = None if found else pulls.by_number(call.hosting, call.repository, number)
    one = found or found_pull
    if one is None:
        raise not_found()
    return one


def _shape(call: Call, one: Issue | PullRequest) -> Json:
    if isinstance(one, PullRequest):
        return pull_shapes.issue(call.hosting, call.repository, one)
    return issue_shapes.issue(call.hosting, call.repository, one)
