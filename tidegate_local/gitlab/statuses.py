"""Statuses of commits, as jobs of pipelines with GitLab's states and transitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tidegate_local.forge.git import GitRefused
from tidegate_local.gitlab import clock, shapes, webhooks
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.records import Pipeline, Project, Status, User
from tidegate_local.gitlab.refusals import Refusal, invalid, message, not_found
from tidegate_local.gitlab.shapes import Json

STATES = ("pending", "running", "success", "failed", "canceled", "skipped")
ALIVE = {"created", "pending", "running"}
#: GitLab's limit for target_url, description and ref.
LONGEST = 255
#: The event that each state is asked for by, and the states that it is possible from.
_EVENTS = {
    "pending": ("enqueue", {"created", "skipped"}),
    "running": ("run", {"pending"}),
    "success": ("success", {"created", "pending", "running"}),
    "failed": ("drop", {"created", "pending", "running"}),
    "canceled": ("cancel", {"created", "pending", "running"}),
    "skipped": ("skip", {"created", "pending"}),
}


def set_one(hosting: Hosting, project: Project, sha: str, who: User, request: Json) -> Status:
    """Set a status of a commit: change the one of this name that is alive, or begin a new one.

    Raise Refusal: 404 for a commit that is not there or on no branch, 400 for fields and transitions that cannot be.
    """
    commit, number = commit_of(hosting, project, sha), request.get("pipeline_id")
    newest = _newest(hosting, project, commit, request.get("ref"), number)
    ref = request.get("ref") or (newest.ref if newest else _branch_with(hosting, project, commit))
    if ref is None:
        raise not_found("References for commit")
    if newest is None and number is not None:
        raise not_found("Pipeline for pipeline_id, sha and ref")
    fields, name = _fields(request), str(request.get("name") or request.get("context") or "default")
    with hosting.writing(project):
        pipeline = newest or start_pipeline(hosting, project, commit, ref, who)
        known = _alive(hosting, pipeline, name, ref, who)
        state = _next(known.status if known else "created", request["state"])
        if known is None:
            changed = _begin(hosting, pipeline, ref, who=who, fields={**fields, "name": name, "status": state})
        else:
            times = _times(known, state)
            changed = hosting.store.change(Status, known.id, lambda old: replace(old, **fields, **times, status=state))
    _tell(hosting, project, pipeline, who)
    return changed


def _tell(hosting: Hosting, project: Project, pipeline: Pipeline, who: User) -> None:
    """Tell webhooks of a pipeline which state it has now."""
    states = {one.status for one in hosting.store.find(Status, project.repository, pipeline=pipeline.id, retried=0)}
    order = ("running", "pending", "failed", "canceled", "success", "skipped")
    state = next(each for each in order if each in states)
    names = ("id", "iid", "ref", "sha", "source", "created_at")
    attributes = {**{name: getattr(pipeline, name) for name in names}, "tag": False, "status": state}
    commit = shapes.hook_commit(hosting, project, hosting.git(project).commit(pipeline.sha))
    payload = {"object_kind": "pipeline", "object_attributes": attributes, "commit": commit}
    webhooks.tell_of(hosting, project, "Pipeline Hook", who, payload)


def commit_of(hosting: Hosting, project: Project, sha: str) -> str:
    """Return the full SHA of a commit. Raise Refusal (404)."""
    try:
        return hosting.git(project).resolve(sha)
    except GitRefused:
        raise not_found("Commit") from None


def _newest(hosting: Hosting, project: Project, sha: str, ref: object, number: object) -> Pipeline | None:
    """Return the newest pipeline of a commit, with this ref and number where they are given: there statuses go."""
    known = hosting.store.find(Pipeline, project.repository, sha=sha)
    fitting = [one for one in known if ref in {None, one.ref} and (number is None or str(one.id) == str(number))]
    return fitting[-1] if fitting else None


def _branch_with(hosting: Hosting, project: Project, sha: str) -> str | None:
    git = hosting.git(project)
    lines = git.run("for-each-ref", "--format=%(refname:lstrip=2)", f"--contains={sha}", "refs/heads").splitlines()
    return lines[0] if lines else None


def _fields(request: Json) -> dict[str, Any]:
    fields = {name: request[name] for name in ("target_url", "description") if request.get(name) is not None}
    for name in ("target_url", "description"):
        if len(str(fields.get(name, ""))) > LONGEST:
            raise invalid(name, f"is too long (maximum is {LONGEST} characters)")
    url = str(fields.get("target_url", "https://"))
    if not url.startswith(("http://", "https://")):
        raise invalid("target_url", "is blocked: Only allowed schemes are http, https")
    return fields


def start_pipeline(
    hosting: Hosting, project: Project, sha: str, ref: str, who: User, *, source: str = "external"
) -> Pipeline:
    """Make a pipeline of a commit, as statuses do where there is none, and GitLab for what it builds itself."""
    iid = 1 + len(hosting.store.find(Pipeline, project.repository))
    return hosting.store.add(
        lambda fresh: Pipeline(fresh, project.repository, iid, sha, ref, who.username, clock.now(), source)
    )


def _alive(hosting: Hosting, pipeline: Pipeline, name: str, ref: str, who: User) -> Status | None:
    """Return this user's own status that has not ended; one of somebody else is left alone."""
    same = {"pipeline": pipeline.id, "name": name, "ref": ref, "user": who.username}
    found = hosting.store.find(Status, pipeline.repository, **same)
    return next((one for one in found if one.status in ALIVE), None)


def _next(current: str, wanted: str) -> str:
    """Return the state after a request. Raise Refusal (400)."""
    event, possible = _EVENTS[wanted]
    if wanted == "running" and current == "created":
        current = "pending"  # GitLab enqueues first
    if current not in possible:
        text = (
            f'Cannot transition status via :{event} from :{current} (Reason(s): Status cannot transition via "{event}")'
        )
        raise message(400, text)
    return wanted


def _times(known: Status | None, state: str) -> dict[str, Any]:
    now = clock.now()
    times: dict[str, Any] = {"updated_at": now}
    if state == "running" and not (known and known.started_at):
        times["started_at"] = now
    if state in {"success", "failed", "canceled"}:
        times["finished_at"] = now
    return times


def _begin(hosting: Hosting, pipeline: Pipeline, ref: str, *, who: User, fields: Json) -> Status:
    now = clock.now()
    return add(hosting, pipeline, ref, who, {"created_at": now, **_times(None, fields["status"]), **fields})


def add(hosting: Hosting, pipeline: Pipeline, ref: str, who: User, fields: Json) -> Status:
    """Add a status or a job; older ones of the same name are retried now."""
    same = {"pipeline": pipeline.id, "name": fields["name"], "retried": 0}
    for old in hosting.store.find(Status, pipeline.repository, **same):
        hosting.store.change(Status, old.id, lambda one: replace(one, retried=True))
    return hosting.store.add(
        lambda fresh: Status(
            fresh, pipeline.repository, pipeline=pipeline.id, sha=pipeline.sha, ref=ref, user=who.username, **fields
        )
    )


def check_state(state: object) -> None:
    """Refuse (400) what is no state."""
    if state is None:
        raise Refusal(400, {"error": "state is missing, state does not have a valid value"})
    if state not in STATES:
        raise Refusal(400, {"error": "state does not have a valid value"})
