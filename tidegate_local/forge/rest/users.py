"""The person who calls, new repositories, teams."""

from __future__ import annotations

from werkzeug.wrappers import Response

from tidegate_local.forge import shapes
from tidegate_local.forge.refusals import invalid, not_found
from tidegate_local.forge.routing import Call, Routes, answer

ROUTES = Routes()


@ROUTES.add("GET", "/user", who=("person",))
def user(call: Call) -> Response:
    return answer(call.hosting.account_json(call.caller.login))


@ROUTES.add("POST", "/orgs/<owner>/repos", "administration:write", who=("person",))
def create_repository(call: Call) -> Response:
    body = call.body()
    if not isinstance(body.get("name"), str):
        raise invalid("Repository", "name", "missing_field")
    private = body.get("private") is True
    repository = call.hosting.create_repository(call.path["owner"], body["name"], private=private)
    return answer(shapes.full_repository(call.hosting, repository, "admin"), 201)


@ROUTES.add("GET", "/orgs/<org>/teams/<slug>/memberships/<login>", "members:read")
def membership(call: Call) -> Response:
    org, identities = call.path["org"], call.hosting.identities
    if call.caller.kind == "installation" and call.caller.owner != org:
        raise not_found()
    state = identities.membership(call.path["slug"], call.path["login"])
    if state is None or identities.account(org).type != "Organization":
        raise not_found()
    return answer({"role": "member", "state": state})
