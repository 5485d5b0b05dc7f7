"""Comments on pull requests and reactions to them."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge import comment_shapes, comments
from tidegate_local.forge.comments import Author
from tidegate_local.forge.records import Comment, Reaction
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.rest.pulls import pull_of
from tidegate_local.forge.routing import Call, Routes, answer, page_of

ROUTES = Routes()
_IN = "/repos/<owner>/<name>/issues"
_ONE = f"{_IN}/comments/<int:id>"


@ROUTES.add("GET", f"{_IN}/<int:number>/comments", "pull_requests:read")
def index(call: Call) -> Response:
    found = comments.of(call.hosting, pull_of(call))
    return page_of(call, found, lambda one: comment_shapes.comment(call.hosting, one))


@ROUTES.add("POST", f"{_IN}/<int:number>/comments", "pull_requests:write", readers=True)
def create(call: Call) -> Response:
    author = Author(call.caller.login, call.caller.by_app)
    comment = comments.create(call.hosting, call.repository, pull_of(call), author, call.body().get("body"))
    return answer(comment_shapes.comment(call.hosting, comment), 201)


@ROUTES.add("GET", _ONE, "pull_requests:read")
def get(call: Call) -> Response:
    return answer(comment_shapes.comment(call.hosting, _comment(call)))


@ROUTES.add("PATCH", _ONE, "pull_requests:write", readers=True)
def edit(call: Call) -> Response:
    comment, user = _own_comment(call), call.caller.login
    changed = comments.edit(call.hosting, call.repository, comment, user, call.body().get("body"))
    return answer(comment_shapes.comment(call.hosting, changed))


@ROUTES.add("DELETE", _ONE, "pull_requests:write", readers=True)
def delete(call: Call) -> Response:
    comments.delete(call.hosting, call.repository, _own_comment(call), call.caller.login)
    return Response(status=204)


@ROUTES.add("GET", f"{_ONE}/reactions", "pull_requests:read")
def reactions(call: Call) -> Response:
    found = call.hosting.store.find(Reaction, call.repository.repository, comment=_comment(call).id)
    return page_of(call, found, lambda one: comment_shapes.reaction(call.hosting, one))


@ROUTES.add("POST", f"{_ONE}/reactions", "pull_requests:write", readers=True)
def react(call: Call) -> Response:
    made, new = comments.react(call.hosting, _comment(call), call.caller.login, call.body().get("content"))
    return answer(comment_shapes.reaction(call.hosting, made), 201 if new else 200)


def _comment(call: Call) -> Comment:
    try:
        comment = call.hosting.store.get(Comment, call.path["id"])
    except KeyError:
        raise not_found() from None
    if comment.repository != call.repository.repository:
        raise not_found()
    return comment


def _own_comment(call: Call) -> Comment:
    """Return the comment if the caller wrote it or may write here. Raise Refusal (403)."""
    comment = _comment(call)
    if comment.user != call.caller.login and not call.caller.may("pull_requests:write"):
        raise Refusal(403, "Must have admin rights to Repository.")
    return comment
