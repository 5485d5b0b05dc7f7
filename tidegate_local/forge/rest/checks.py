"""Check runs and their annotations."""

from __future__ import annotations

from typing import Any

from werkzeug.wrappers import Response

from tidegate_local.forge import check_shapes, checks
from tidegate_local.forge.git import GitRefused
from tidegate_local.forge.records import CheckRun, CheckSuite
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.routing import Call, Routes, answer, page_of

ROUTES = Routes()
_IN = "/repos/<owner>/<name>"


def _run(call: Call) -> CheckRun:
    try:
        run = call.hosting.store.get(CheckRun, call.path["id"])
    except KeyError:
        raise not_found() from None
    if run.repository != call.repository.repository:
        raise not_found()
    return run


def _show(call: Call, run: CheckRun) -> dict[str, Any]:
    return checks.run_json(call.hosting, call.repository, run)


@ROUTES.add("POST", f"{_IN}/check-runs", "checks:write", who=("installation",))
def create(call: Call) -> Response:
    return answer(_show(call, checks.create(call.hosting, call.repository, call.body())), 201)


@ROUTES.add("PATCH", f"{_IN}/check-runs/<int:id>", "checks:write", who=("installation",))
def update(call: Call) -> Response:
    return answer(_show(call, checks.update(call.hosting, call.repository, _run(call), call.body())))


@ROUTES.add("GET", f"{_IN}/check-runs/<int:id>", "checks:read")
def get(call: Call) -> Response:
    return answer(_show(call, _run(call)))


@ROUTES.add("GET", f"{_IN}/check-runs/<int:id>/annotations", "checks:read")
def list_annotations(call: Call) -> Response:
    run = _run(call)
    return page_of(call, run.annotations, lambda one: check_shapes.annotation(call.hosting.urls, run, one))


@ROUTES.add("POST", f"{_IN}/check-runs/<int:id>/rerequest", "checks:write")
def rerequest(call: Call) -> Response:
    checks.tell(call.hosting, call.repository, _run(call), "rerequested", call.caller.login)
    return answer({}, 201)


@ROUTES.add("GET", f"{_IN}/commits/<path:ref>/check-runs", "checks:read")
def of_commit(call: Call) -> Response:
    try:
        sha = call.hosting.git(call.repository).resolve(call.path["ref"])
    except GitRefused:
        raise Refusal(422, f"No commit found for SHA: {call.path['ref']}") from None
    wanted = call.request.args
    if wanted.get("app_id", call.hosting.settings.app_id, type=int) != call.hosting.settings.app_id:
        return page_of(call, [], lambda one: one, "check_runs")
    runs = checks.runs_of(call.hosting, call.repository, sha)
    runs = [run for run in runs if wanted.get("check_name", run.name) == run.name]
    runs = checks.latest(runs) if wanted.get("filter", "latest") == "latest" else runs
    runs = [run for run in runs if wanted.get("status", run.status) == run.status]
    return page_of(call, runs[::-1], lambda run: _show(call, run), "check_runs")


@ROUTES.add("POST", f"{_IN}/check-suites/<int:id>/rerequest", "checks:write")
def rerequest_suite(call: Call) -> Response:
    try:
        suite = call.hosting.store.get(CheckSuite, call.path["id"])
    except KeyError:
        raise not_found() from None
    if suite.repository != call.repository.repository:
        raise not_found()
    checks.tell_suite(call.hosting, call.repository, suite, "rerequested", call.caller.login)
    return answer({}, 201)
