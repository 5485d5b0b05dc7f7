"""The person who calls, new repositories, the rate limit."""

from __future__ import annotations

import time
from typing import Any

from werkzeug.wrappers import Response

from tidegate_local.forge.refusals import invalid, not_found
from tidegate_local.forge.routing import Call, Routes, answer
from tidegate_local.forge.shapes import SINCE

ROUTES = Routes()


@ROUTES.add("GET", "/user", who=("person",))
def user(call: Call) -> Response:
    return answer(_person(call, call.caller.login))


@ROUTES.add("GET", "/users/<login>")
def account(call: Call) -> Response:
    return answer(_person(call, call.path["login"]))


def _person(call: Call, login: str) -> dict[str, Any]:
    person = call.hosting.identities.person(login)
    if person is None:
        raise not_found()
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    nothing = dict.fromkeys(("company", "location", "email", "hireable", "bio"))
    since = {"created_at": SINCE, "updated_at": SINCE}
    return {**call.hosting.account_json(login), "name": person.name, "blog": "", **nothing, **counts, **since}


@ROUTES.add("POST", "/orgs/<owner>/repos", "administration:write", who=("person",))
def create_repository(call: Call) -> Response:
    body = call.body()
    if not isinstance(body.get("name"), str):
        raise invalid("Repository", "name", "missing_field")
    private = body.get("private") is True
    repository = call.hosting.create_repository(call.path["owner"], body["name"], private=private)
    return answer(call.hosting.full_repository_json(repository, "admin"), 201)


@ROUTES.add("GET", "/orgs/<org>/teams/<slug>/memberships/<login>", "members:read")
def membership(call: Call) -> Response:
    org, slug, login = call.path["org"], call.path["slug"], call.path["login"]
    if call.caller.kind == "installation" and call.caller.owner != org:
        raise not_found()
    try:
        state = call.hosting.identities.membership(slug, login)
    except KeyError:
        raise not_found() from None
    if state is None or call.hosting.identities.account(org).type != "Organization":
        raise not_found()
    address = f"{call.hosting.urls.api}/orgs/{org}/teams/{slug}/memberships/{login}"
    return answer({"url": address, "role": "member", "state": state})


@ROUTES.add("GET", "/rate_limit", who=("app", "installation", "person"))
def rate_limit(call: Call) -> Response:
    del call
    one = {"limit": 5000, "used": 1, "remaining": 4999, "reset": int(time.time()) + 3600}
    return answer({"resources": {"core": one, "search": {**one, "limit": 30, "remaining": 29}}, "rate": one})
