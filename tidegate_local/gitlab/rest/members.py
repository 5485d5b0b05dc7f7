"""Members of projects and groups, direct and inherited."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import shapes
from tidegate_local.gitlab.records import Member
from tidegate_local.gitlab.refusals import Refusal, forbidden, improper, not_found
from tidegate_local.gitlab.rest.groups import group_of
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import LEVELS, MAINTAINER, NO_ACCESS, OWNER

ROUTES = Routes()
_PROJECT, _GROUP = "/projects/:id", "/groups/:group"


def _path(call: Call) -> str:
    return group_of(call).path if "group" in call.path else call.project.repository


def _list(call: Call, found: list[Member]) -> Response:
    return page_of(call, found, lambda one: shapes.member(call.hosting, one))


def _one(call: Call, found: list[Member], status: int = 200) -> Response:
    number = call.path["user"]
    for one in found:
        if str(call.hosting.identities.named(one.user).id) == number:
            return answer(shapes.member(call.hosting, one), status)
    raise not_found()


@ROUTES.add("GET", f"{_PROJECT}/members")
@ROUTES.add("GET", f"{_GROUP}/members")
def direct(call: Call) -> Response:
    return _list(call, call.hosting.identities.direct(_path(call)))


@ROUTES.add("GET", f"{_PROJECT}/members/all")
@ROUTES.add("GET", f"{_GROUP}/members/all")
def everybody(call: Call) -> Response:
    """List members with those inherited from the groups above, each once with the highest level."""
    return _list(call, call.hosting.identities.members(_path(call)))


@ROUTES.add("GET", f"{_PROJECT}/members/:user")
@ROUTES.add("GET", f"{_GROUP}/members/:user")
def direct_one(call: Call) -> Response:
    return _one(call, call.hosting.identities.direct(_path(call)))


@ROUTES.add("GET", f"{_PROJECT}/members/all/:user")
@ROUTES.add("GET", f"{_GROUP}/members/all/:user")
def one_of_everybody(call: Call) -> Response:
    return _one(call, call.hosting.identities.members(_path(call)))


@ROUTES.add("POST", f"{_PROJECT}/members")
@ROUTES.add("POST", f"{_GROUP}/members")
def add(call: Call) -> Response:
    """Make somebody (``user_id`` or ``username``) a direct member."""
    _check(call)
    given, identities = call.needed("access_level"), call.hosting.identities
    name, number = str(given.get("username", "")), str(given.get("user_id", ""))
    who = identities.by_id(int(number)) if number.isdecimal() else identities.user(name)
    if who is None:
        raise not_found("User")
    if any(one.user == who.username for one in identities.direct(_path(call))):
        raise Refusal(409, {"message": "Member already exists"})
    return _set(call, who.username, given["access_level"], 201)


def _check(call: Call) -> None:
    needed = OWNER if "group" in call.path else MAINTAINER
    if call.hosting.identities.level(call.user.username, _path(call)) < needed:
        raise forbidden()


def _set(call: Call, username: str, level: object, status: int = 200) -> Response:
    if not str(level).isdecimal() or int(str(level)) not in LEVELS:
        raise improper("access_level")
    member = call.hosting.identities.set_level(_path(call), username, int(str(level)))
    return answer(shapes.member(call.hosting, member), status)


@ROUTES.add("PUT", f"{_PROJECT}/members/:user")
@ROUTES.add("PUT", f"{_GROUP}/members/:user")
def change(call: Call) -> Response:
    """Change a direct member's access level."""
    _check(call)
    return _set(call, _username(call), call.needed("access_level")["access_level"])


@ROUTES.add("DELETE", f"{_PROJECT}/members/:user")
@ROUTES.add("DELETE", f"{_GROUP}/members/:user")
def remove(call: Call) -> Response:
    """Let somebody be no direct member any more."""
    _check(call)
    call.hosting.identities.set_level(_path(call), _username(call), NO_ACCESS)
    return Response(status=204)


def _username(call: Call) -> str:
    number = call.path["user"]
    who = call.hosting.identities.by_id(int(number)) if number.isdecimal() else None
    if who is None or all(one.user != who.username for one in call.hosting.identities.direct(_path(call))):
        raise not_found()
    return who.username
