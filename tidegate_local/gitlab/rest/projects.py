"""Projects and what is around them: groups, members, users, pushes, and what GitLab says of itself and of tokens."""

from __future__ import annotations

from dataclasses import replace

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import shapes
from tidegate_local.gitlab.identity import ALL_SCOPES
from tidegate_local.gitlab.records import Group, Member, Project, PushEvent
from tidegate_local.gitlab.refusals import message, not_found, unauthorized
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import MAINTAINER, REPORTER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_ONE = "/projects/:id"
_OF_USERS = ("api", "read_api", "read_user")
#: The version whose API this is.
VERSION = "17.11.0"
#: What a call may change, and the record's name for it.
_CHANGEABLE = {
    "visibility": "visibility",
    "merge_method": "merge_method",
    "only_allow_merge_if_pipeline_succeeds": "only_green",
}
_APPROVALS = {"approvals_before_merge": "approvals", "reset_approvals_on_push": "reset_approvals"}


@ROUTES.add("GET", "/metadata", scopes=_OF_USERS)
def metadata(call: Call) -> Response:
    """Answer which GitLab this is, to users only."""
    return answer({"version": VERSION, "enterprise": False} if call.user else {})


@ROUTES.add("GET", "/personal_access_tokens/self", scopes=ALL_SCOPES)
def own_token(call: Call) -> Response:
    """Answer what the token that asks may do, whatever it is."""
    if call.caller is None:
        raise unauthorized()
    until = call.caller.expires_at and call.caller.expires_at[:10]
    return answer({"id": call.user.id, "scopes": list(call.caller.scopes), "active": True, "expires_at": until})


@ROUTES.add("GET", "/user", scopes=_OF_USERS)
def myself(call: Call) -> Response:
    """Answer who a token belongs to."""
    return answer({**shapes.user(call.hosting, call.user), "bot": call.user.bot})


@ROUTES.add("GET", "/users", scopes=_OF_USERS)
def users(call: Call) -> Response:
    """List the users whose ``username`` this is, whatever the case. Nobody here has an address to ``search`` for."""
    wanted = call.request.args.get("username", "").lower()
    found = [one for one in call.hosting.identities.users() if one.username.lower() == wanted]
    return page_of(call, found, lambda one: shapes.user(call.hosting, one))


@ROUTES.add("GET", "/projects")
def projects(call: Call) -> Response:
    """List the projects that the caller may see and has ``min_access_level`` in, newest first."""
    hosting, who = call.hosting, call.user
    least = call.request.args.get("min_access_level", 1, type=int)
    seen = [one for one in hosting.projects() if hosting.identities.level(who.username, one.repository) >= least]
    return page_of(call, seen[::-1], lambda one: shapes.project(hosting, one, who))


def _show(call: Call, one: Project, status: int = 200) -> Response:
    return answer(shapes.project(call.hosting, one, call.caller.user if call.caller else None), status)


@ROUTES.add("GET", _ONE)
def project(call: Call) -> Response:
    return _show(call, call.project)


@ROUTES.add("POST", "/projects")
def create(call: Call) -> Response:
    """Make an empty private project in a group (``namespace_id``)."""
    given, hosting = call.needed("path", "namespace_id"), call.hosting
    where = hosting.store.first(Group, id=int(given["namespace_id"]))
    if where is None or hosting.identities.level(call.user.username, where.path) < MAINTAINER:
        raise message(400, "Namespace is not valid")
    return _show(call, hosting.create_project(f"{where.path}/{given['path']}"), 201)


@ROUTES.add("PUT", _ONE, MAINTAINER)
def change(call: Call) -> Response:
    wanted = {ours: call.given()[theirs] for theirs, ours in _CHANGEABLE.items() if theirs in call.given()}
    return _show(call, call.hosting.store.change(Project, call.project.id, lambda old: replace(old, **wanted)))


@ROUTES.add("POST", f"{_ONE}/approvals", MAINTAINER)
def change_approvals(call: Call) -> Response:
    """Change how many approvals a merge asks for, and whether a push drops them."""
    wanted = {ours: call.given()[theirs] for theirs, ours in _APPROVALS.items() if theirs in call.given()}
    changed = call.hosting.store.change(Project, call.project.id, lambda old: replace(old, **wanted))
    return answer({theirs: getattr(changed, ours) for theirs, ours in _APPROVALS.items()}, 201)


@ROUTES.add("POST", f"{_ONE}/fork")
def fork(call: Call) -> Response:
    """Fork into the caller's own namespace; here it is ready at once."""
    if call.level < REPORTER and call.project.visibility == "private":
        raise unauthorized()
    return _show(call, call.hosting.fork(call.project, call.user), 201)


@ROUTES.add("GET", "/groups/:group")
def group(call: Call) -> Response:
    return answer(shapes.group(call.hosting, _group(call)))


def _group(call: Call) -> Group:
    """Return the group that the path names. Raise Refusal (404), also for those who are no members."""
    found = call.hosting.group(call.path["group"])
    if found is None or not call.hosting.identities.level(call.user.username, found.path):
        raise not_found("Group")
    return found


@ROUTES.add("GET", f"{_ONE}/members/all/:user")
def member(call: Call) -> Response:
    """Answer a member of a project, or of a group above it, with the highest level."""
    return _member(call, call.hosting.identities.members(call.project.repository))


@ROUTES.add("GET", "/groups/:group/members/:user")
def direct_member(call: Call) -> Response:
    """Answer a member of the group itself."""
    return _member(call, call.hosting.identities.direct(_group(call).path))


def _member(call: Call, found: list[Member]) -> Response:
    for one in found:
        if str(call.hosting.identities.named(one.user).id) == call.path["user"]:
            return answer(shapes.member(call.hosting, one))
    raise not_found()


@ROUTES.add("GET", f"{_ONE}/events", REPORTER)
def events(call: Call) -> Response:
    """List what happened, here pushes only, newest first."""
    found = call.hosting.store.find(PushEvent, call.project.repository)
    return page_of(call, found[::-1], lambda one: _event(call, one))


def _event(call: Call, one: PushEvent) -> Json:
    action = "created" if one.before is None else "removed" if one.after is None else "pushed"
    kind, _, name = (one.ref or "refs/heads/").removeprefix("refs/").partition("/")
    return {
        "id": one.id,
        "project_id": call.project.id,
        "created_at": one.created_at,
        "author_username": one.user,
        "push_data": {
            "action": "pushed" if one.refs else action,
            "ref_type": {"heads": "branch", "tags": "tag"}[kind],
            "commit_from": one.before,
            "commit_to": one.after,
            "ref": name or None,
            "ref_count": one.refs,
        },
    }
