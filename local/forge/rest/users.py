"""The person who calls, new repositories, the rate limit."""

from __future__ import annotations

import time

from werkzeug.wrappers import Response

from local.forge import shapes
from local.forge.refusals import invalid, not_found
from local.forge.routing import Call, Routes, answer

ROUTES = Routes()


@ROUTES.add("GET", "/user", who=("person",))
def user(call: Call) -> Response:
    person = call.hosting.identities.person(call.caller.login)
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    nothing = dict.fromkeys(("company", "location", "email", "hireable", "bio"))
    since = {"created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z"}
    name = person.name if person else call.caller.login
    return answer(
        {**call.hosting.account_json(call.caller.login), "name": name, "blog": "", **nothing, **counts, **since}
    )


@ROUTES.add("GET", "/users/<login>")
def account(call: Call) -> Response:
    if call.hosting.identities.person(call.path["login"]) is None:
        raise not_found()
    return answer(call.hosting.account_json(call.path["login"]))


@ROUTES.add("POST", "/orgs/<owner>/repos", "administration:write", who=("person",))
def create_repository(call: Call) -> Response:
    body = call.body()
    if not isinstance(body.get("name"), str):
        raise invalid("Repository", "name", "missing_field")
    repository = call.hosting.create_repository(call.path["owner"], body["name"])
    owner = call.hosting.owner(repository)
    rights = {"admin": True, "maintain": True, "push": True, "triage": True, "pull": True}
    return answer(shapes.full_repository(call.hosting.urls, repository, owner, rights), 201)


@ROUTES.add("GET", "/rate_limit", who=("app", "installation", "person"))
def rate_limit(call: Call) -> Response:
    del call
    one = {"limit": 5000, "used": 1, "remaining": 4999, "reset": int(time.time()) + 3600}
    return answer({"resources": {"core": one, "search": {**one, "limit": 30, "remaining": 29}}, "rate": one})
