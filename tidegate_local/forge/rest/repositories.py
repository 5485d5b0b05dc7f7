"""Repositories: commits, branches, checks and statuses of commits, and what people may do there."""

from __future__ import annotations

import base64
import re

from werkzeug.wrappers import Response

from tidegate_local.forge import checks, clock, forks, protections, pulls, shapes
from tidegate_local.forge.git import GitRefused
from tidegate_local.forge.records import CheckRun, CommitStatus
from tidegate_local.forge.refusals import Refusal, invalid, not_found
from tidegate_local.forge.routing import Call, Routes, answer, page_of

ROUTES = Routes()
_IN = "/repos/<owner>/<name>"
#: GitHub lists at most this many commits of a comparison in its first page.
MAXIMUM_COMMITS = 250
#: The App of GitHub Actions: its check runs are jobs.
ACTIONS = "github-actions"
_OBJECT = re.compile(r"[0-9a-f]{40}")
_STATES = ("error", "failure", "pending", "success")


def _sha(call: Call, name: str) -> str:
    try:
        return forks.resolve(call.hosting, call.repository, name)
    except GitRefused:
        raise Refusal(422, f"No commit found for SHA: {name}") from None


@ROUTES.add("GET", _IN, "metadata:read")
def get(call: Call) -> Response:
    caller = call.caller
    may = caller.permission if caller.kind == "person" else "write" if caller.may("contents:write") else "read"
    return answer(shapes.full_repository(call.hosting, call.repository, may))


@ROUTES.add("POST", f"{_IN}/forks", "contents:read", who=("person",))
def fork(call: Call) -> Response:
    """Fork into the caller's own account; here it is ready at once."""
    made = forks.fork(call.hosting, call.repository, call.caller.login)
    return answer(shapes.full_repository(call.hosting, made, "admin"), 202)


@ROUTES.add("GET", f"{_IN}/commits", "contents:read")
def commits(call: Call) -> Response:
    sha = _sha(call, call.request.args.get("sha", call.repository.default_branch))
    everything, name = call.hosting.git(call.repository).log(sha, 1000), call.repository.repository
    return page_of(call, everything, lambda one: shapes.commit(call.hosting, name, one))


@ROUTES.add("GET", f"{_IN}/commits/<path:ref>", "contents:read")
def commit(call: Call) -> Response:
    one = call.hosting.git(call.repository).commit(_sha(call, call.path["ref"]))
    return answer(shapes.commit(call.hosting, call.repository.repository, one))


@ROUTES.add("GET", f"{_IN}/commits/<sha>/pulls", "pull_requests:read")
def pulls_of_commit(call: Call) -> Response:
    found = pulls.with_commit(call.hosting, call.repository, _sha(call, call.path["sha"]))
    return page_of(call, found, lambda one: shapes.pull(call.hosting, one))


@ROUTES.add("GET", f"{_IN}/compare/<path:basehead>", "contents:read")
def compare(call: Call) -> Response:
    base, dots, head = call.path["basehead"].partition("...")
    git = call.hosting.git(call.repository)
    try:
        which = git.compare(*(forks.resolve(call.hosting, call.repository, name) for name in (base, head)))
    except GitRefused:
        raise not_found() from None
    if not dots:
        raise not_found()
    new = git.log(f"{which.merge_base}..{which.head}", MAXIMUM_COMMITS)[::-1]
    ends = git.commit(which.base), git.commit(which.merge_base)
    return answer(shapes.comparison(call.hosting, call.repository.repository, which, ends, new))


@ROUTES.add("GET", f"{_IN}/branches/<path:branch>", "contents:read")
def branch(call: Call) -> Response:
    name, git, where = call.path["branch"], call.hosting.git(call.repository), call.repository.repository
    sha = git.branches().get(name)
    if sha is None:
        raise Refusal(404, "Branch not found")
    one = protections.of(call.hosting, call.repository, name)
    head = shapes.commit(call.hosting, where, git.commit(sha))
    asked = shapes.protection(one) if one else {"enabled": False}
    return answer({"name": name, "commit": head, "protected": one is not None, "protection": asked})


@ROUTES.add("PUT", f"{_IN}/branches/<path:branch>/protection", "administration:admin")
def protect(call: Call) -> Response:
    name = call.path["branch"]
    if name not in call.hosting.git(call.repository).branches():
        raise Refusal(404, "Branch not found")
    return answer(shapes.protection(protections.protect(call.hosting, call.repository, name, call.body())))


@ROUTES.add("GET", f"{_IN}/collaborators/<user>/permission", "metadata:read")
def permission(call: Call) -> Response:
    login = call.path["user"]
    if call.hosting.identities.person(login) is None:
        raise Refusal(404, f"{login} is not a user")
    role = call.hosting.identities.permission(login, call.repository)
    user = {**call.hosting.account_json(login), "role_name": role, "permissions": shapes.rights(role)}
    return answer({"permission": role, "role_name": role, "user": user})


def _run(call: Call) -> CheckRun:
    return call.found_record(CheckRun)


@ROUTES.add("POST", f"{_IN}/check-runs", "checks:write", who=("installation",))
def create_check_run(call: Call) -> Response:
    made = checks.create(call.hosting, call.repository, call.body(), app=call.caller.app)
    return answer(checks.run_json(call.hosting, call.repository, made), 201)


@ROUTES.add("PATCH", f"{_IN}/check-runs/<int:id>", "checks:write", who=("installation",))
def update_check_run(call: Call) -> Response:
    run = _run(call)
    if run.app != call.caller.app:
        raise Refusal(403, f"Invalid app_id `{run.app}` - it can only be modified by the App that made it.")
    changed = checks.update(call.hosting, call.repository, run, call.body())
    return answer(checks.run_json(call.hosting, call.repository, changed))


@ROUTES.add("GET", f"{_IN}/check-runs/<int:id>", "checks:read")
def check_run(call: Call) -> Response:
    return answer(checks.run_json(call.hosting, call.repository, _run(call)))


@ROUTES.add("POST", f"{_IN}/check-runs/<int:id>/rerequest", "checks:write", who=("installation",))
def rerequest_check_run(call: Call) -> Response:
    run = _run(call)
    if run.app != call.caller.app:
        raise Refusal(403, "This check run does not belong to the authenticated GitHub App.")
    checks.rerun(call.hosting, call.repository, run, call.caller.login)
    return answer({}, 201)


@ROUTES.add("POST", f"{_IN}/actions/jobs/<int:id>/rerun", "actions:write")
def rerun_job(call: Call) -> Response:
    run = _run(call)
    if run.app != ACTIONS:
        raise not_found()
    if run.status != "completed":
        raise Refusal(403, "This job is not completed, so that it cannot be run again.")
    checks.rerun_job(call.hosting, call.repository, run)
    return answer({}, 201)


@ROUTES.add("GET", f"{_IN}/commits/<path:ref>/check-runs", "checks:read")
def check_runs(call: Call) -> Response:
    runs, wanted = checks.runs_of(call.hosting, call.repository, _sha(call, call.path["ref"])), call.request.args
    runs = [run for run in runs if wanted.get("check_name", run.name) == run.name]
    runs = checks.latest(runs) if wanted.get("filter", "latest") == "latest" else runs
    return page_of(call, runs[::-1], lambda run: checks.run_json(call.hosting, call.repository, run), "check_runs")


@ROUTES.add("POST", f"{_IN}/statuses/<sha>", "statuses:write")
def create_status(call: Call) -> Response:
    body, sha = call.body(), _sha(call, call.path["sha"])
    if body.get("state") not in _STATES:
        raise invalid("Status", "state", "invalid")
    context, words = body.get("context") or "default", (body.get("description"), body.get("target_url"))
    where, who, now = call.repository.repository, call.caller.login, clock.now()
    made = call.hosting.store.add(
        lambda fresh: CommitStatus(fresh, where, sha, body["state"], context, who, now, *words)
    )
    told = shapes.told_status(call.hosting, call.repository, made)
    call.hosting.tell("status", call.repository, who, told)
    return answer(shapes.status(call.hosting, made), 201)


@ROUTES.add("GET", f"{_IN}/git/blobs/<file_sha>", "contents:read")
def blob(call: Call) -> Response:
    sha, git = call.path["file_sha"], call.hosting.git(call.repository)
    try:
        content = git.run_bytes("cat-file", "blob", sha) if _OBJECT.fullmatch(sha) else None
    except GitRefused:
        content = None
    if content is None:
        raise not_found()
    url = call.hosting.urls.rest(call.repository.repository, "git", "blobs", sha)
    known = {"sha": sha, "node_id": f"B_{sha}", "url": url, "size": len(content), "encoding": "base64"}
    return answer({**known, "content": base64.b64encode(content).decode()})


@ROUTES.add("GET", f"{_IN}/commits/<path:ref>/status", "statuses:read")
def combined_status(call: Call) -> Response:
    sha, name = _sha(call, call.path["ref"]), call.repository.repository
    newest = {one.context: one for one in call.hosting.store.find(CommitStatus, name, sha=sha)}
    states = {one.state for one in newest.values()}
    state = "failure" if states & {"failure", "error"} else "success" if states == {"success"} else "pending"
    listed = [shapes.status(call.hosting, one) for one in newest.values()]
    return answer({"state": state, "sha": sha, "total_count": len(newest), "statuses": listed})
