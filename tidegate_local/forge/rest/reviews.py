"""Reviews of pull requests."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge import comment_shapes, reviews
from tidegate_local.forge.records import Review
from tidegate_local.forge.refusals import invalid, not_found
from tidegate_local.forge.rest.pulls import pull_of
from tidegate_local.forge.routing import Call, Routes, answer, page_of

ROUTES = Routes()
_IN = "/repos/<owner>/<name>/pulls/<int:number>/reviews"


@ROUTES.add("GET", _IN, "pull_requests:read")
def index(call: Call) -> Response:
    found = reviews.of(call.hosting, pull_of(call), call.caller.login)
    return page_of(call, found, lambda one: comment_shapes.review(call.hosting, one))


@ROUTES.add("POST", _IN, "pull_requests:write", readers=True)
def create(call: Call) -> Response:
    made = reviews.create(call.hosting, call.repository, pull_of(call), call.caller.login, call.body())
    return answer(comment_shapes.review(call.hosting, made))


@ROUTES.add("PUT", f"{_IN}/<int:id>/dismissals", "pull_requests:write")
def dismiss(call: Call) -> Response:
    pull, message = pull_of(call), call.body().get("message")
    found = next((one for one in reviews.of(call.hosting, pull) if one.id == call.path["id"]), None)
    if found is None:
        raise not_found()
    if not isinstance(message, str) or not message:
        raise invalid("PullRequestReview", "message", "missing_field")
    done: Review = reviews.dismiss(call.hosting, call.repository, pull, found, call.caller.login)
    return answer(comment_shapes.review(call.hosting, done))
