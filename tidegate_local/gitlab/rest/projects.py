"""Projects: read, made, changed, forked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import shapes
from tidegate_local.gitlab.records import Group, Project
from tidegate_local.gitlab.refusals import improper, message, not_found, unauthorized
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import MAINTAINER, REPORTER

ROUTES = Routes()
_ONE = "/projects/:id"
#: What a call may change, and the record's name for it.
_CHANGEABLE = {
    "description": "description",
    "visibility": "visibility",
    "default_branch": "default_branch",
    "merge_method": "merge_method",
    "only_allow_merge_if_pipeline_succeeds": "only_green",
}


@ROUTES.add("GET", "/projects")
def projects(call: Call) -> Response:
    """List the projects that the caller may see, newest first.

    ``membership`` limits them to the caller's own, ``min_access_level`` to those where they have such a level.
    """
    hosting, who = call.hosting, call.caller.user if call.caller else None
    seen = [one for one in hosting.projects() if hosting.sees(who, one)]
    least = max(call.request.args.get("min_access_level", 0, type=int), int(call.flag("membership")))
    if least and who:
        seen = [one for one in seen if hosting.identities.level(who.username, one.repository) >= least]
    return page_of(call, seen[::-1], lambda one: shapes.project(hosting, one, who))


@ROUTES.add("GET", _ONE)
def project(call: Call) -> Response:
    return _show(call, call.project)


def _show(call: Call, one: Project, status: int = 200) -> Response:
    return answer(shapes.project(call.hosting, one, call.caller.user if call.caller else None), status)


@ROUTES.add("POST", "/projects")
def create(call: Call) -> Response:
    """Make an empty project in a group (``namespace_id``) or the caller's own namespace."""
    given, hosting = call.given(), call.hosting
    name = given.get("path") or given.get("name")
    if not name:
        raise improper("name, path", "are missing, at least one parameter must be provided")
    where = _namespace(call, given.get("namespace_id"))
    if hosting.identities.level(call.user.username, where) < MAINTAINER:
        raise message(400, "Namespace is not valid")
    visibility = given.get("visibility", "private")
    if visibility not in shapes.VISIBILITY_LEVELS:
        raise improper("visibility")
    return _show(
        call, hosting.create_project(f"{where}/{name}", str(given.get("default_branch") or "main"), visibility), 201
    )


def _namespace(call: Call, number: Any) -> str:
    if number is None:
        return call.user.username
    found: Group | None = call.hosting.store.first(Group, id=int(number)) if str(number).isdecimal() else None
    if found is None:
        raise not_found("Namespace")
    return found.path


@ROUTES.add("PUT", _ONE, MAINTAINER)
def change(call: Call) -> Response:
    """Change a project's settings."""
    given = call.given()
    wanted = {ours: given[theirs] for theirs, ours in _CHANGEABLE.items() if theirs in given}
    if wanted.get("visibility", "private") not in shapes.VISIBILITY_LEVELS:
        raise improper("visibility")
    if wanted.get("merge_method", "merge") not in {"merge", "ff"}:
        raise improper("merge_method")
    changed = call.hosting.store.change(Project, call.project.id, lambda old: replace(old, **wanted))
    return _show(call, changed)


@ROUTES.add("POST", f"{_ONE}/approvals", MAINTAINER)
def change_approvals(call: Call) -> Response:
    """Change how many approvals a merge asks for, and whether a push drops them."""
    given, names = call.given(), {"approvals_before_merge": "approvals", "reset_approvals_on_push": "reset_approvals"}
    wanted = {ours: given[theirs] for theirs, ours in names.items() if theirs in given}
    changed = call.hosting.store.change(Project, call.project.id, lambda old: replace(old, **wanted))
    return answer(_approvals(call, changed), 201)


@ROUTES.add("GET", f"{_ONE}/approvals", REPORTER)
def approvals(call: Call) -> Response:
    """Answer how many approvals a merge asks for."""
    return answer(_approvals(call, call.project))


def _approvals(call: Call, one: Project) -> dict[str, Any]:
    return {
        "approvals_before_merge": one.approvals,
        "reset_approvals_on_push": one.reset_approvals,
        "selective_code_owner_removals": False,
        "disable_overriding_approvers_per_merge_request": None,
        "merge_requests_author_approval": call.hosting.settings.author_may_approve,
        "merge_requests_disable_committers_approval": None,
        "require_password_to_approve": False,
    }


@ROUTES.add("POST", f"{_ONE}/fork")
def fork(call: Call) -> Response:
    """Fork into the caller's own namespace; here it is ready at once."""
    if call.level < REPORTER and call.project.visibility == "private":
        raise unauthorized()
    return _show(call, call.hosting.fork(call.project, call.user), 201)
