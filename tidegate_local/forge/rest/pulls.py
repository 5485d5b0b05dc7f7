"""Pull requests."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge import forks, merging, pull_shapes, pulls
from tidegate_local.forge.git import GitRefused
from tidegate_local.forge.records import PullRequest
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.rest.repositories import files_between
from tidegate_local.forge.routing import Call, Routes, answer, page_of

ROUTES = Routes()
_IN = "/repos/<owner>/<name>"


def pull_of(call: Call) -> PullRequest:
    """Return the pull request that the path names. Raise Refusal (404)."""
    pull = pulls.by_number(call.hosting, call.repository, call.path["number"])
    if pull is None:
        raise not_found()
    return pull


@ROUTES.add("POST", f"{_IN}/pulls", "pull_requests:write", readers=True)
def create(call: Call) -> Response:
    pull = pulls.open_one(call.hosting, call.repository, call.caller.login, call.body())
    return answer(pulls.details(call.hosting, call.repository, pull), 201)


@ROUTES.add("GET", f"{_IN}/pulls", "pull_requests:read")
def index(call: Call) -> Response:
    wanted = call.request.args
    state = wanted.get("state", "open")
    found = call.hosting.store.find(
        PullRequest, call.repository.repository, **({} if state == "all" else {"state": state})
    )
    owner, _, head = wanted.get("head", "").rpartition(":")
    found = [
        one
        for one in found
        if head in {"", one.head_ref}
        and owner in {"", one.head_repository.partition("/")[0]}
        and wanted.get("base", one.base_ref) == one.base_ref
    ]
    return page_of(call, found[::-1], lambda one: pull_shapes.simple(call.hosting, call.repository, one))


@ROUTES.add("GET", f"{_IN}/pulls/<int:number>", "pull_requests:read")
def get(call: Call) -> Response:
    return answer(pulls.details(call.hosting, call.repository, pull_of(call)))


@ROUTES.add("GET", f"{_IN}/commits/<sha>/pulls", "pull_requests:read")
def of_commit(call: Call) -> Response:
    try:
        sha = forks.resolve(call.hosting, call.repository, call.path["sha"])
    except GitRefused:
        raise Refusal(422, f"No commit found for SHA: {call.path['sha']}") from None
    found = pulls.with_commit(call.hosting, call.repository, sha)
    return page_of(call, found, lambda one: pull_shapes.simple(call.hosting, call.repository, one))


@ROUTES.add("PATCH", f"{_IN}/pulls/<int:number>", "pull_requests:write")
def edit(call: Call) -> Response:
    pull = pulls.edit(call.hosting, call.repository, pull_of(call), call.body(), call.caller.login)
    return answer(pulls.details(call.hosting, call.repository, pull))


@ROUTES.add("GET", f"{_IN}/pulls/<int:number>/files", "pull_requests:read")
def files(call: Call) -> Response:
    pull = pull_of(call)
    merge_base = pulls.merge_base(call.hosting.git(call.repository), pull)
    return page_of(call, files_between(call, merge_base, pull.head_sha), lambda one: one)


@ROUTES.add("PUT", f"{_IN}/pulls/<int:number>/merge", "contents:write")
def merge(call: Call) -> Response:
    sha = merging.merge(call.hosting, call.repository, pull_of(call), call.caller.login, call.body())
    return answer({"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


@ROUTES.add("GET", f"{_IN}/pulls/<int:number>/merge", "pull_requests:read")
def is_merged(call: Call) -> Response:
    if pull_of(call).merged_at is None:
        raise not_found()
    return Response(status=204)
