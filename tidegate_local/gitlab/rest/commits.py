"""Commits of a project's repository, and the merge requests that they came with."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.git import BareRepository, GitRefused
from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import merge_request_shapes, merge_requests, shapes, statuses
from tidegate_local.gitlab.records import MergeRequest, Version
from tidegate_local.gitlab.refusals import not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import REPORTER

ROUTES = Routes()
_IN = "/projects/:id/repository/commits"
_MANY = 1000


@ROUTES.add("GET", _IN, REPORTER)
def commits(call: Call) -> Response:
    """List commits of ``ref_name`` (a branch, tag, SHA or range), newest first."""
    git, name = call.hosting.git(call.project), call.request.args.get("ref_name", call.project.default_branch)
    try:
        ends = [git.resolve(one) for one in name.split("..")]
    except GitRefused:
        raise not_found("Repository") from None
    return page_of(call, git.log("..".join(ends), _MANY), lambda one: shapes.commit(call.hosting, call.project, one))


def _sha(call: Call) -> str:
    return statuses.commit_of(call.hosting, call.project, call.path["sha"])


@ROUTES.add("GET", f"{_IN}/:sha", REPORTER)
def commit(call: Call) -> Response:
    git = call.hosting.git(call.project)
    one = git.commit(_sha(call))
    files = git.changed_files(one.parents[0] if one.parents else git.empty_tree(), one.sha)
    additions, deletions = sum(file.additions for file in files), sum(file.deletions for file in files)
    found = statuses.of_commit(call.hosting, call.project, one.sha)
    return answer(
        {
            **shapes.commit(call.hosting, call.project, one),
            "stats": {"additions": additions, "deletions": deletions, "total": additions + deletions},
            "status": found[-1].status if found else None,
            "project_id": call.project.id,
            "last_pipeline": None,
        }
    )


@ROUTES.add("GET", f"{_IN}/:sha/diff", REPORTER)
def diff(call: Call) -> Response:
    git = call.hosting.git(call.project)
    one = git.commit(_sha(call))
    before = one.parents[0] if one.parents else git.empty_tree()
    return page_of(call, shapes.diffs(call.hosting, call.project, before, one.sha), lambda each: each)


@ROUTES.add("GET", f"{_IN}/:sha/refs", REPORTER)
def refs(call: Call) -> Response:
    """List the branches and tags that hold a commit."""
    found = call.hosting.git(call.project).run(
        "for-each-ref", "--format=%(refname)", f"--contains={_sha(call)}", "refs/heads", "refs/tags"
    )
    kinds = {"heads": "branch", "tags": "tag"}
    names = [line.split("/", 2)[1:] for line in found.splitlines()]
    return page_of(call, names, lambda one: {"type": kinds[one[0]], "name": one[1]})


@ROUTES.add("GET", f"{_IN}/:sha/merge_requests", REPORTER)
def merge_requests_of(call: Call) -> Response:
    """List the merge requests that a commit is or was part of, newest first; ``state`` limits them."""
    sha, git, state = _sha(call), call.hosting.git(call.project), call.request.args.get("state", "all")
    found = [one for one in merge_requests.of(call.hosting, call.project) if _has(call, git, one, sha)]
    wanted = [one for one in found if state in {"all", one.state}]
    return page_of(call, wanted[::-1], lambda one: merge_request_shapes.basic(call.hosting, call.project, one))


def _has(call: Call, git: BareRepository, one: MergeRequest, sha: str) -> bool:
    if sha in {one.merge_commit_sha, one.squash_commit_sha}:
        return True
    versions = call.hosting.store.find(Version, one.repository, iid=one.iid)
    return any(git.is_ancestor(sha, each.head_sha) and not git.is_ancestor(sha, each.base_sha) for each in versions)
