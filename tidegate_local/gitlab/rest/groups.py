"""Groups."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import shapes
from tidegate_local.gitlab.records import Group
from tidegate_local.gitlab.refusals import missing, not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import OWNER

ROUTES = Routes()


def group_of(call: Call) -> Group:
    """Return the group that the path names. Raise Refusal (404), also for those who are no members."""
    found = call.hosting.group(call.path["group"])
    if found is None or not call.hosting.identities.level(call.user.username, found.path):
        raise not_found("Group")
    return found


@ROUTES.add("GET", "/groups")
def groups(call: Call) -> Response:
    """List the groups that the caller is a member of."""
    everything = [one for one in call.hosting.store.find(Group) if one.user is None]
    seen = [one for one in everything if call.hosting.identities.level(call.user.username, one.path)]
    return page_of(call, seen, lambda one: shapes.group(call.hosting, one))


@ROUTES.add("GET", "/groups/:group")
def group(call: Call) -> Response:
    return answer(shapes.group(call.hosting, group_of(call)))


@ROUTES.add("POST", "/groups")
def create(call: Call) -> Response:
    """Make a group, below ``parent_id`` for its owners."""
    given = call.needed("path")
    above = call.hosting.group(str(given["parent_id"])) if given.get("parent_id") is not None else None
    if above and call.hosting.identities.level(call.user.username, above.path) < OWNER:
        raise missing("parent_id")
    path = f"{above.path}/{given['path']}" if above else str(given["path"])
    return answer(shapes.group(call.hosting, call.hosting.namespace(path)), 201)


@ROUTES.add("GET", "/groups/:group/projects")
def projects(call: Call) -> Response:
    """List a group's projects; ``include_subgroups`` adds those below."""
    path, deep = group_of(call).path, call.flag("include_subgroups")
    everything = call.hosting.projects()
    found = [one for one in everything if one.namespace == path or (deep and one.namespace.startswith(f"{path}/"))]
    return page_of(call, found, lambda one: shapes.project(call.hosting, one, call.user))
