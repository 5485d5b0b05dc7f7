"""Pull requests and the comments on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from werkzeug.wrappers import Response

from local.forge import clock, merging, pull_shapes, pulls
from local.forge.records import Comment, PullRequest
from local.forge.refusals import invalid, not_found
from local.forge.rest.repositories import files_between
from local.forge.routing import Call, Routes, answer, page_of

ROUTES = Routes()
_IN = "/repos/<owner>/<name>"


def _pull(call: Call) -> PullRequest:
    pull = pulls.by_number(call.hosting, call.repository, call.path["number"])
    if pull is None:
        raise not_found()
    return pull


def _text(body: dict[str, Any], field: str, resource: str = "PullRequest") -> str:
    if not isinstance(body.get(field), str) or not body[field]:
        raise invalid(resource, field, "missing_field")
    return str(body[field])


@ROUTES.add("POST", f"{_IN}/pulls", "pull_requests:write")
def create(call: Call) -> Response:
    body = call.body()
    title, head, base = (_text(body, field) for field in ("title", "head", "base"))
    pull = pulls.open_one(call.hosting, call.repository, call.caller.login, title, head, base, body.get("body"))
    return answer(pulls.details(call.hosting, call.repository, pull), 201)


@ROUTES.add("GET", f"{_IN}/pulls", "pull_requests:read")
def index(call: Call) -> Response:
    wanted = call.request.args
    state = wanted.get("state", "open")
    found = call.hosting.store.find(
        PullRequest, call.repository.repository, **({} if state == "all" else {"state": state})
    )
    head = wanted.get("head", "").rpartition(":")[2]
    found = [one for one in found if head in {"", one.head_ref} and wanted.get("base", one.base_ref) == one.base_ref]
    return page_of(call, found[::-1], lambda one: pull_shapes.simple(call.hosting, call.repository, one))


@ROUTES.add("GET", f"{_IN}/pulls/<int:number>", "pull_requests:read")
def get(call: Call) -> Response:
    return answer(pulls.details(call.hosting, call.repository, _pull(call)))


@ROUTES.add("PATCH", f"{_IN}/pulls/<int:number>", "pull_requests:write")
def edit(call: Call) -> Response:
    pull = pulls.edit(call.hosting, call.repository, _pull(call), call.body(), call.caller.login)
    return answer(pulls.details(call.hosting, call.repository, pull))


@ROUTES.add("GET", f"{_IN}/pulls/<int:number>/files", "pull_requests:read")
def files(call: Call) -> Response:
    pull = _pull(call)
    merge_base = pulls.merge_base(call.hosting.git(call.repository), pull)
    return page_of(call, files_between(call, merge_base, pull.head_sha), lambda one: one)


@ROUTES.add("PUT", f"{_IN}/pulls/<int:number>/merge", "contents:write")
def merge(call: Call) -> Response:
    sha = merging.merge(call.hosting, call.repository, _pull(call), call.caller.login, call.body())
    return answer({"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


@ROUTES.add("GET", f"{_IN}/pulls/<int:number>/merge", "pull_requests:read")
def is_merged(call: Call) -> Response:
    if _pull(call).merged_at is None:
        raise not_found()
    return Response(status=204)


@ROUTES.add("GET", f"{_IN}/issues/<int:number>/comments", "pull_requests:read")
def comments(call: Call) -> Response:
    found = call.hosting.store.find(Comment, call.repository.repository, number=_pull(call).number)
    return page_of(call, found, lambda one: pull_shapes.comment(call.hosting, one))


@ROUTES.add("POST", f"{_IN}/issues/<int:number>/comments", "pull_requests:write")
def create_comment(call: Call) -> Response:
    pull, text, time = _pull(call), _text(call.body(), "body", "IssueComment"), clock.now()
    comment = call.hosting.store.add(
        lambda fresh: Comment(
            fresh, pull.repository, pull.number, call.caller.login, text, time, time, call.caller.kind == "installation"
        )
    )
    _tell(call, pull, comment, "created")
    return answer(pull_shapes.comment(call.hosting, comment), 201)


@ROUTES.add("PATCH", f"{_IN}/issues/comments/<int:id>", "pull_requests:write")
def edit_comment(call: Call) -> Response:
    old, text = _comment(call), _text(call.body(), "body", "IssueComment")
    comment = call.hosting.store.change(Comment, old.id, lambda one: replace(one, body=text, updated_at=clock.now()))
    pull = pulls.by_number(call.hosting, call.repository, comment.number)
    if pull is not None:
        _tell(call, pull, comment, "edited", changes={"body": {"from": old.body}})
    return answer(pull_shapes.comment(call.hosting, comment))


@ROUTES.add("GET", f"{_IN}/issues/comments/<int:id>", "pull_requests:read")
def get_comment(call: Call) -> Response:
    return answer(pull_shapes.comment(call.hosting, _comment(call)))


def _comment(call: Call) -> Comment:
    try:
        comment = call.hosting.store.get(Comment, call.path["id"])
    except KeyError:
        raise not_found() from None
    if comment.repository != call.repository.repository:
        raise not_found()
    return comment


def _tell(call: Call, pull: PullRequest, comment: Comment, action: str, **more: Any) -> None:
    shapes = {
        "issue": pull_shapes.issue(call.hosting, call.repository, pull),
        "comment": pull_shapes.comment(call.hosting, comment),
    }
    call.hosting.tell("issue_comment", call.repository, call.caller.login, {"action": action, **shapes, **more})
