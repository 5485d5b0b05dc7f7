"""Check runs: created and updated within GitHub's limits, with webhooks to the App."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidegate_local.forge import clock, shapes
from tidegate_local.forge.git import GitRefused
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.records import CheckRun, CheckSuite, Repository
from tidegate_local.forge.refusals import Refusal, invalid
from tidegate_local.forge.shapes import Json

STATUSES = ("queued", "in_progress", "completed")
#: What "Re-run failed checks" runs again. GitHub itself concludes a check with stale or startup_failure.
FAILED = frozenset({"failure", "timed_out", "cancelled", "action_required", "stale", "startup_failure"})
CONCLUSIONS = FAILED - {"startup_failure"} | {"neutral", "success", "skipped"}
MAXIMUM_TEXT, MAXIMUM_ANNOTATIONS, MAXIMUM_ACTIONS = 65_535, 50, 3
_ACTION_LENGTHS = {"label": 20, "description": 40, "identifier": 20}
_ANNOTATION = {"path": str, "start_line": int, "end_line": int, "annotation_level": str, "message": str}
_RESOURCE = "CheckRun"


def create(hosting: Hosting, repository: Repository, body: Mapping[str, Any], *, app: str | None = None) -> CheckRun:
    """Make a check run of the fields that GitHub takes, as another App's with ``app``. Raise Refusal (422)."""
    for field in ("name", "head_sha"):
        if not isinstance(body.get(field), str) or not body[field]:
            raise invalid(_RESOURCE, field, "missing_field", f"{field} wasn't supplied.")
    try:
        sha = hosting.git(repository).resolve(body["head_sha"])
    except GitRefused:
        raise Refusal(422, f"No commit found for SHA: {body['head_sha']}") from None
    changes = {"status": "queued", "started_at": clock.now(), **_changes(body)}
    suite = ensure_suite(hosting, repository, sha, app=app)
    run = hosting.store.add(
        lambda fresh: CheckRun(fresh, repository.repository, suite.id, body["name"], sha, **changes, app=app)
    )
    tell(hosting, repository, run, "created", hosting.bot(app).login)
    if run.status == "completed":
        _tell_completed(hosting, repository, run)
    return run


def update(hosting: Hosting, repository: Repository, run: CheckRun, body: Mapping[str, Any]) -> CheckRun:
    """Change a check run. Raise Refusal (422).

    As on GitHub, a completed run may be set back to another status; nobody should rely on what pages show then.
    """
    changes = _changes(body)
    if isinstance(body.get("name"), str) and body["name"]:
        changes["name"] = body["name"]
    if changes.get("status", "completed") != "completed":
        changes |= {"conclusion": None, "completed_at": None}

    def change(old: CheckRun) -> CheckRun:
        annotations = [*old.annotations, *changes.get("annotations", [])]
        return replace(old, **{**changes, "annotations": annotations})

    changed = hosting.store.change(CheckRun, run.id, change)
    if changed.status == "completed" and run.status != "completed":
        _tell_completed(hosting, repository, changed)
    return changed


def _changes(body: Mapping[str, Any]) -> dict[str, Any]:
    changes = {name: body[name] for name in ("external_id", "details_url") if isinstance(body.get(name), str)}
    changes |= _state(body)
    if body.get("output") is not None:
        changes |= _output(body["output"])
    if body.get("actions") is not None:
        changes["actions"] = _actions(body["actions"])
    return changes


def _state(body: Mapping[str, Any]) -> dict[str, Any]:
    status, conclusion = body.get("status"), body.get("conclusion")
    if status not in {None, *STATUSES}:
        raise invalid(_RESOURCE, "status", "invalid")
    if conclusion not in {None, *CONCLUSIONS}:
        raise invalid(_RESOURCE, "conclusion", "invalid")
    if conclusion is None and status == "completed":
        raise invalid(_RESOURCE, "conclusion", "missing_field", "conclusion wasn't supplied.")
    state: dict[str, Any] = {} if status is None else {"status": status}
    if conclusion is not None:
        state = {"status": "completed", "conclusion": conclusion, "completed_at": clock.now()}
    try:
        return state | ({"started_at": clock.written(clock.read(body["started_at"]))} if "started_at" in body else {})
    except (ValueError, TypeError):
        raise invalid(_RESOURCE, "started_at", "invalid", "started_at is not an ISO 8601 time.") from None


def _output(output: Any) -> dict[str, Any]:
    if not isinstance(output, dict) or not isinstance(output.get("summary"), str):
        raise invalid(_RESOURCE, "summary", "missing_field", "summary wasn't supplied.")
    texts = {name: output[name] for name in ("title", "summary", "text") if output.get(name) is not None}
    for name, text in texts.items():
        if not isinstance(text, str) or len(text) > MAXIMUM_TEXT:
            raise invalid(_RESOURCE, name, "custom", f"A text of at most {MAXIMUM_TEXT} characters is allowed.")
    return texts | ({"annotations": _annotations(output["annotations"])} if output.get("annotations") else {})


def _annotations(annotations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(annotations) > MAXIMUM_ANNOTATIONS:
        raise invalid(_RESOURCE, "annotations", "custom", f"at most {MAXIMUM_ANNOTATIONS} annotations in one request")
    if not all(isinstance(one.get(name), kind) for one in annotations for name, kind in _ANNOTATION.items()):
        raise invalid(_RESOURCE, "annotations", "invalid")
    return annotations


def _actions(actions: list[dict[str, str]]) -> list[dict[str, str]]:
    if len(actions) > MAXIMUM_ACTIONS:
        raise invalid(_RESOURCE, "actions", "custom", f"at most {MAXIMUM_ACTIONS} actions are allowed")
    for name, length in _ACTION_LENGTHS.items():
        if not all(0 < len(action.get(name, "")) <= length for action in actions):
            raise invalid(_RESOURCE, f"actions.{name}", "custom", f"1 to {length} characters are allowed")
    return [{name: action[name] for name in _ACTION_LENGTHS} for action in actions]


def rerun_job(hosting: Hosting, repository: Repository, run: CheckRun) -> CheckRun:
    """Begin a job of GitHub Actions again: it is another check run of the same name."""
    return create(hosting, repository, {"name": run.name, "head_sha": run.head_sha}, app=run.app)


def ensure_suite(
    hosting: Hosting,
    repository: Repository,
    sha: str,
    branch: str | None = None,
    before: str | None = None,
    app: str | None = None,
) -> CheckSuite:
    """Return an App's suite of a commit; the first mention makes it."""
    if branch is None:
        branch = next((name for name, head in hosting.git(repository).branches().items() if head == sha), None)
    return hosting.store.first_or_add(
        CheckSuite,
        lambda fresh: CheckSuite(fresh, repository.repository, sha, branch, before, clock.now(), app),
        repository.repository,
        head_sha=sha,
        app=app,
    )


def runs_of(hosting: Hosting, repository: Repository, sha: str) -> list[CheckRun]:
    """Return a commit's check runs, oldest first."""
    return hosting.store.find(CheckRun, repository.repository, head_sha=sha)


def latest(runs: list[CheckRun]) -> list[CheckRun]:
    """Return the newest run of each name of each App."""
    return list({(run.app, run.name): run for run in runs}.values())


def _pulls(hosting: Hosting, repository: Repository, sha: str) -> list[Json]:
    pulls = hosting.open_pulls_of(repository.repository, sha)
    return [shapes.pull_in_check(hosting, repository, pull) for pull in pulls]


def run_json(hosting: Hosting, repository: Repository, run: CheckRun) -> Json:
    """Return a check run as the API answers it."""
    return shapes.check_run(hosting, run, _pulls(hosting, repository, run.head_sha))


def _suite_json(hosting: Hosting, repository: Repository, suite: CheckSuite) -> Json:
    runs = latest(hosting.store.find(CheckRun, repository.repository, suite=suite.id))
    return shapes.check_suite(hosting, suite, runs, _pulls(hosting, repository, suite.head_sha))


def tell(
    hosting: Hosting, repository: Repository, run: CheckRun, action: str, sender: str, *, identifier: str | None = None
) -> None:
    """Send the check_run webhook; ``identifier`` is the clicked button's."""
    suite = _suite_json(hosting, repository, hosting.store.get(CheckSuite, run.suite))
    check_run = {**run_json(hosting, repository, run), "check_suite": suite}
    clicked = {} if identifier is None else {"requested_action": {"identifier": identifier}}
    hosting.tell("check_run", repository, sender, {"action": action, "check_run": check_run, **clicked})


def tell_suite(hosting: Hosting, repository: Repository, suite: CheckSuite, action: str, sender: str) -> None:
    """Send the check_suite webhook."""
    head = shapes.simple_commit(hosting.git(repository).commit(suite.head_sha))
    shape = {**_suite_json(hosting, repository, suite), "head_commit": head}
    hosting.tell("check_suite", repository, sender, {"action": action, "check_suite": shape})


def _tell_completed(hosting: Hosting, repository: Repository, run: CheckRun) -> None:
    tell(hosting, repository, run, "completed", hosting.bot(run.app).login)
    runs = latest(hosting.store.find(CheckRun, repository.repository, suite=run.suite))
    if all(one.status == "completed" for one in runs):
        suite = hosting.store.get(CheckSuite, run.suite)
        tell_suite(hosting, repository, suite, "completed", hosting.bot(run.app).login)


def click(hosting: Hosting, repository: Repository, run: CheckRun, identifier: str, user: str) -> None:
    """Click a button of a check run as a user. Raise Refusal (422) for a button that it does not have."""
    if identifier not in {action["identifier"] for action in run.actions}:
        raise invalid(_RESOURCE, "identifier", "invalid", "the check run has no such action")
    tell(hosting, repository, run, "requested_action", user, identifier=identifier)


def rerun(hosting: Hosting, repository: Repository, run: CheckRun, user: str) -> None:
    """Ask for a check run again: its App is told, and the run stays as it is. Other Apps have no webhooks here."""
    if run.app is None:
        tell(hosting, repository, run, "rerequested", user)


def rerun_failed(hosting: Hosting, repository: Repository, sha: str, user: str) -> int:
    """Ask for the failed ones of a commit's newest check runs again, and return how many."""
    failed = [run for run in latest(runs_of(hosting, repository, sha)) if run.conclusion in FAILED]
    for run in failed:
        rerun(hosting, repository, run, user)
    return len(failed)


def rerun_all(hosting: Hosting, repository: Repository, sha: str, user: str) -> None:
    """Ask for all checks of a commit again. Raise Refusal (422) when it has none."""
    suite = hosting.store.first(CheckSuite, repository.repository, head_sha=sha, app=None)
    if suite is None or not runs_of(hosting, repository, sha):
        raise invalid("CheckSuite", "head_sha", "custom", "This commit has no checks that could be run again.")
    tell_suite(hosting, repository, suite, "rerequested", user)
