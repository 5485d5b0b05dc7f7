"""Repositories, their commits, contents, collaborators and statuses."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

from werkzeug.wrappers import Response

from tidegate_local.forge import clock, commit_shapes, forks, shapes
from tidegate_local.forge.git import BareRepository, GitRefused
from tidegate_local.forge.records import CommitStatus, Repository
from tidegate_local.forge.refusals import Refusal, invalid, not_found
from tidegate_local.forge.routing import Call, Routes, answer, page_of

ROUTES = Routes()
_IN = "/repos/<owner>/<name>"
#: GitHub lists at most this many files in a commit or comparison, and commits in a comparison's first page.
MAXIMUM_FILES, MAXIMUM_COMMITS = 300, 250
_STATES = ("error", "failure", "pending", "success")


def _git(call: Call) -> BareRepository:
    return call.hosting.git(call.repository)


def _sha(call: Call, name: str) -> str:
    try:
        return _git(call).resolve(name)
    except GitRefused:
        raise Refusal(422, f"No commit found for SHA: {name}") from None


def files_between(call: Call, before: str, after: str) -> list[dict[str, Any]]:
    """Return the first files that differ, as JSON."""
    files, patches = _git(call).changed_files(before, after)[:MAXIMUM_FILES], _git(call).patches(before, after)
    urls, name = call.hosting.urls, call.repository.repository
    return [commit_shapes.diff_entry(urls, name, after, file, patches.get(file.name)) for file in files]


@ROUTES.add("GET", _IN, "metadata:read")
def get(call: Call) -> Response:
    return answer(call.hosting.full_repository_json(call.repository, _permission(call)))


def _permission(call: Call) -> str:
    if call.caller.kind == "person":
        return call.caller.permission
    return "write" if call.caller.may("contents:write") else "read"


@ROUTES.add("PATCH", _IN, "administration:write")
def change(call: Call) -> Response:
    """Make a repository public or private; nothing else is changed here."""
    private = call.body().get("private")
    if not isinstance(private, bool):
        raise invalid("Repository", "private", "missing_field")
    if not call.caller.may("administration:admin"):
        raise Refusal(403, "Must have admin rights to Repository.")
    changed = call.hosting.store.change(Repository, call.repository.id, lambda old: replace(old, private=private))
    return answer(call.hosting.full_repository_json(changed, _permission(call)))


@ROUTES.add("POST", f"{_IN}/forks", "contents:read", who=("person",))
def fork(call: Call) -> Response:
    """Fork into the caller's own account; here it is ready at once."""
    return answer(
        call.hosting.full_repository_json(forks.fork(call.hosting, call.repository, call.caller.login), "admin"), 202
    )


@ROUTES.add("GET", f"{_IN}/commits", "contents:read")
def commits(call: Call) -> Response:
    sha = _sha(call, call.request.args.get("sha", call.repository.default_branch))
    everything = _git(call).log(sha, 1000)
    where = call.hosting.urls, call.repository.repository
    return page_of(call, everything, lambda one: commit_shapes.commit(*where, one, call.hosting.linked_account))


@ROUTES.add("GET", f"{_IN}/commits/<path:ref>", "contents:read")
def commit(call: Call) -> Response:
    one = _git(call).commit(_sha(call, call.path["ref"]))
    before = one.parents[0] if one.parents else _git(call).empty_tree()
    files = files_between(call, before, one.sha)
    where = call.hosting.urls, call.repository.repository
    return answer(commit_shapes.detailed_commit(*where, one, files, call.hosting.linked_account))


@ROUTES.add("GET", f"{_IN}/compare/<path:basehead>", "contents:read")
def compare(call: Call) -> Response:
    base, dots, head = call.path["basehead"].partition("...")
    git = _git(call)
    try:
        ends = tuple(forks.resolve(call.hosting, call.repository, name) for name in (base, head))
        which = git.compare(*ends)
    except GitRefused:
        raise not_found() from None
    if not dots:
        raise not_found()
    shown = git.log(f"{which.merge_base}..{which.head}", MAXIMUM_COMMITS)[::-1]
    two = git.commit(which.base), git.commit(which.merge_base)
    files = files_between(call, which.merge_base, which.head)
    where, linked = (call.hosting.urls, call.repository.repository), call.hosting.linked_account
    return answer(
        commit_shapes.comparison(*where, which, ends=two, commits=shown, files=files, linked=linked),
    )


@ROUTES.add("GET", f"{_IN}/contents/<path:path>", "contents:read")
def contents(call: Call) -> Response:
    path, name = call.path["path"], call.repository.repository
    ref = call.request.args.get("ref", call.repository.default_branch)
    try:
        sha = _git(call).resolve(ref)
        content = _git(call).file(sha, path)
        blob = _git(call).run("rev-parse", f"{sha}:{path}").strip()
    except GitRefused:
        raise not_found() from None
    address, urls = f"{call.hosting.urls.rest(name, 'contents', path)}?ref={ref}", call.hosting.urls
    links = {"self": address, "git": urls.rest(name, "git/blobs", blob), "html": urls.page(name, "blob", ref, path)}
    return answer(
        {
            "type": "file",
            "encoding": "base64",
            "size": len(content),
            "name": path.rpartition("/")[2],
            "path": path,
            "content": base64.encodebytes(content).decode(),
            "sha": blob,
            "url": address,
            "git_url": links["git"],
            "html_url": links["html"],
            "download_url": urls.page(name, "raw", ref, path),
            "_links": links,
        }
    )


@ROUTES.add("GET", f"{_IN}/collaborators/<user>/permission", "metadata:read")
def permission(call: Call) -> Response:
    login = call.path["user"]
    if call.hosting.identities.person(login) is None:
        raise Refusal(404, f"{login} is not a user")
    role = call.hosting.identities.permission(login, call.repository)
    user = {**call.hosting.account_json(login), "role_name": role, "permissions": shapes.rights(role)}
    return answer({"permission": role, "role_name": role, "user": user})


@ROUTES.add("POST", f"{_IN}/statuses/<sha>", "statuses:write")
def create_status(call: Call) -> Response:
    body, sha = call.body(), _sha(call, call.path["sha"])
    if body.get("state") not in _STATES:
        raise invalid("Status", "state", "invalid")
    status = call.hosting.store.add(
        lambda fresh: CommitStatus(
            fresh,
            call.repository.repository,
            sha,
            body["state"],
            body.get("context") or "default",
            call.caller.login,
            clock.now(),
            body.get("description"),
            body.get("target_url"),
        )
    )
    return answer(_status(call, status), 201)


def _status(call: Call, one: CommitStatus) -> dict[str, Any]:
    return {
        "url": call.hosting.urls.rest(one.repository, "statuses", one.sha),
        "avatar_url": None,
        "id": one.id,
        "node_id": shapes.node_id("StatusContext", one.id),
        "state": one.state,
        "description": one.description,
        "target_url": one.target_url,
        "context": one.context,
        "created_at": one.created_at,
        "updated_at": one.created_at,
        "creator": call.hosting.account_json(one.creator),
    }


@ROUTES.add("GET", f"{_IN}/commits/<path:ref>/statuses", "statuses:read")
def statuses(call: Call) -> Response:
    sha = _sha(call, call.path["ref"])
    everything = call.hosting.store.find(CommitStatus, call.repository.repository, sha=sha)[::-1]
    return page_of(call, everything, lambda one: _status(call, one))


@ROUTES.add("GET", f"{_IN}/commits/<path:ref>/status", "statuses:read")
def combined_status(call: Call) -> Response:
    sha, urls, name = _sha(call, call.path["ref"]), call.hosting.urls, call.repository.repository
    newest = {one.context: one for one in call.hosting.store.find(CommitStatus, name, sha=sha)}
    states = {one.state for one in newest.values()}
    state = "failure" if states & {"failure", "error"} else "success" if states == {"success"} else "pending"
    owner = call.hosting.owner(call.repository)
    return answer(
        {
            "state": state,
            "sha": sha,
            "total_count": len(newest),
            "statuses": [_status(call, one) for one in newest.values()],
            "repository": shapes.minimal_repository(urls, call.repository, owner),
            "commit_url": urls.rest(name, "commits", sha),
            "url": urls.rest(name, "commits", sha, "status"),
        }
    )
