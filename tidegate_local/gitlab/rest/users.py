"""Users."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import shapes
from tidegate_local.gitlab.refusals import not_found, unauthorized
from tidegate_local.gitlab.routing import Call, Routes, page_of

ROUTES = Routes()
_SCOPES = ("api", "read_api", "read_user")


@ROUTES.add("GET", "/user", scopes=_SCOPES)
def myself(call: Call) -> Response:
    """Answer who a token belongs to."""
    who = call.user
    private = {"email": f"{who.username}@users.noreply.forge.invalid", "two_factor_enabled": False, "external": False}
    return answer({**shapes.full_user(call.hosting, who), **private, "can_create_project": True})


@ROUTES.add("GET", "/users", scopes=_SCOPES)
def users(call: Call) -> Response:
    """List users; ``username`` names one, whatever the case."""
    if call.caller is None and "username" not in call.request.args:
        raise unauthorized()
    wanted = call.request.args.get("username", "").lower()
    found = [one for one in call.hosting.identities.users() if not wanted or one.username.lower() == wanted]
    return page_of(call, found, lambda one: shapes.user(call.hosting, one))


@ROUTES.add("GET", "/users/:user", scopes=_SCOPES)
def user(call: Call) -> Response:
    """Answer a user by number."""
    number = call.path["user"]
    found = call.hosting.identities.by_id(int(number)) if number.isdecimal() else None
    if found is None:
        raise not_found("User")
    return answer(shapes.full_user(call.hosting, found))
