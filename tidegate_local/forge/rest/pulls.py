"""Pull requests and issues, with their comments and reviews."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge import comments, issues, merging, pulls, reviews, shapes
from tidegate_local.forge.comments import Author
from tidegate_local.forge.records import Comment, Issue, PullRequest, Review
from tidegate_local.forge.refusals import Refusal, invalid, not_found
from tidegate_local.forge.routing import Call, Routes, answer, page_of

ROUTES = Routes()
_PULLS, _ISSUES = "/repos/<owner>/<name>/pulls", "/repos/<owner>/<name>/issues"
_REVIEWS = f"{_PULLS}/<int:number>/reviews"


def _pull(call: Call) -> PullRequest:
    pull = pulls.by_number(call.hosting, call.repository, call.path["number"])
    if pull is None:
        raise not_found()
    return pull


@ROUTES.add("POST", _PULLS, "pull_requests:write", readers=True)
def create(call: Call) -> Response:
    pull = pulls.open_one(call.hosting, call.repository, call.caller.login, call.body())
    return answer(pulls.details(call.hosting, call.repository, pull), 201)


@ROUTES.add("GET", _PULLS, "pull_requests:read")
def index(call: Call) -> Response:
    """List pull requests, open ones unless ``state`` says otherwise, newest first unless ``direction`` is asc."""
    state = call.request.args.get("state", "open")
    wanted = {} if state == "all" else {"state": state}
    found = call.hosting.store.find(PullRequest, call.repository.repository, **wanted)
    found = found if call.request.args.get("direction") == "asc" else found[::-1]
    return page_of(call, found, lambda one: shapes.pull(call.hosting, one))


@ROUTES.add("GET", f"{_PULLS}/<int:number>", "pull_requests:read")
def get(call: Call) -> Response:
    return answer(pulls.details(call.hosting, call.repository, _pull(call)))


@ROUTES.add("PATCH", f"{_PULLS}/<int:number>", "pull_requests:write")
def edit(call: Call) -> Response:
    pull = pulls.edit(call.hosting, call.repository, _pull(call), call.body(), call.caller.login)
    return answer(pulls.details(call.hosting, call.repository, pull))


@ROUTES.add("PUT", f"{_PULLS}/<int:number>/merge", "contents:write")
def merge(call: Call) -> Response:
    sha = merging.merge(call.hosting, call.repository, _pull(call), call.caller.login, call.body())
    return answer({"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


@ROUTES.add("GET", f"{_ISSUES}/<int:number>/comments", "pull_requests:read")
def list_comments(call: Call) -> Response:
    return page_of(call, comments.of(call.hosting, _pull(call)), lambda one: shapes.comment(call.hosting, one))


@ROUTES.add("POST", f"{_ISSUES}/<int:number>/comments", "pull_requests:write", readers=True)
def comment(call: Call) -> Response:
    author = Author(call.caller.login, call.caller.by_app)
    made = comments.create(call.hosting, call.repository, _pull(call), author, call.body().get("body"))
    return answer(shapes.comment(call.hosting, made), 201)


@ROUTES.add("PATCH", f"{_ISSUES}/comments/<int:id>", "pull_requests:write", readers=True)
def edit_comment(call: Call) -> Response:
    found, user = call.found_record(Comment), call.caller.login
    if found.user != user and not call.caller.may("pull_requests:write"):
        raise Refusal(403, "Must have admin rights to Repository.")
    changed = comments.edit(call.hosting, call.repository, found, user, call.body().get("body"))
    return answer(shapes.comment(call.hosting, changed))


@ROUTES.add("POST", f"{_ISSUES}/comments/<int:id>/reactions", "pull_requests:write", readers=True)
def react(call: Call) -> Response:
    content = call.body().get("content")
    made, new = comments.react(call.hosting, call.found_record(Comment), call.caller.login, content)
    return answer(shapes.reaction(call.hosting, made), 201 if new else 200)


@ROUTES.add("GET", _REVIEWS, "pull_requests:read")
def list_reviews(call: Call) -> Response:
    return page_of(call, reviews.of(call.hosting, _pull(call)), lambda one: shapes.review(call.hosting, one))


@ROUTES.add("POST", _REVIEWS, "pull_requests:write", readers=True)
def review(call: Call) -> Response:
    made = reviews.create(call.hosting, call.repository, _pull(call), call.caller.login, call.body())
    return answer(shapes.review(call.hosting, made))


@ROUTES.add("PUT", f"{_REVIEWS}/<int:id>/dismissals", "pull_requests:write")
def dismiss(call: Call) -> Response:
    if not call.body().get("message"):
        raise invalid("PullRequestReview", "message", "missing_field")
    pull, found = _pull(call), call.found_record(Review)
    return answer(
        shapes.review(call.hosting, reviews.dismiss(call.hosting, call.repository, pull, found, call.caller.login))
    )


@ROUTES.add("GET", _ISSUES, "issues:read")
def list_issues(call: Call) -> Response:
    """List issues and pull requests, open ones unless ``state`` says otherwise; ``creator`` is a login."""
    state, creator = call.request.args.get("state", "open"), call.request.args.get("creator")
    every: list[Issue | PullRequest] = [
        *call.hosting.store.find(Issue, call.repository.repository),
        *call.hosting.store.find(PullRequest, call.repository.repository),
    ]
    found = [one for one in every if state in {one.state, "all"} and creator in {None, one.user}]
    return page_of(call, sorted(found, key=lambda one: -one.number), lambda one: shapes.issue(call.hosting, one))


@ROUTES.add("POST", _ISSUES, "issues:write", readers=True)
def open_issue(call: Call) -> Response:
    author = Author(call.caller.login, call.caller.by_app)
    return answer(shapes.issue(call.hosting, issues.create(call.hosting, call.repository, author, call.body())), 201)


def _issue(call: Call) -> Issue:
    found = issues.by_number(call.hosting, call.repository, call.path["number"])
    if found is None:
        raise not_found()
    return found


@ROUTES.add("GET", f"{_ISSUES}/<int:number>", "issues:read")
def issue(call: Call) -> Response:
    return answer(shapes.issue(call.hosting, _issue(call)))


@ROUTES.add("PATCH", f"{_ISSUES}/<int:number>", "issues:write", readers=True)
def edit_issue(call: Call) -> Response:
    one = _issue(call)
    if one.user != call.caller.login and not call.caller.may("issues:write"):
        raise Refusal(403, "Must have admin rights to Repository.")
    return answer(shapes.issue(call.hosting, issues.edit(call.hosting, one, call.body())))
