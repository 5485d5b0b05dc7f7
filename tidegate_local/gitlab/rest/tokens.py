"""Deploy tokens of projects: for git only."""

from __future__ import annotations

from dataclasses import replace

from werkzeug.wrappers import Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import clock
from tidegate_local.gitlab.records import AccessToken
from tidegate_local.gitlab.refusals import improper, not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import MAINTAINER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_ALL = "/projects/:id/deploy_tokens"
_SCOPES = {"read_repository", "write_repository", "read_registry", "write_registry"}


def _show(one: AccessToken) -> Json:
    return {
        "id": one.id,
        "name": one.name,
        "username": f"gitlab+deploy-token-{one.id}",
        "expires_at": one.expires_at,
        "revoked": one.revoked,
        "expired": bool(one.expires_at) and clock.is_past(one.expires_at or ""),
        "scopes": one.scopes,
    }


def _known(call: Call) -> list[AccessToken]:
    path = call.project.repository
    return call.hosting.store.find(AccessToken, purpose="deploy", project=path, revoked=0)


@ROUTES.add("GET", _ALL, MAINTAINER)
def deploy_tokens(call: Call) -> Response:
    return page_of(call, _known(call), _show)


@ROUTES.add("POST", _ALL, MAINTAINER)
def create(call: Call) -> Response:
    """Make a deploy token; the answer shows it, once."""
    given = call.needed("name", "scopes")
    scopes = given["scopes"] if isinstance(given["scopes"], list) else [given["scopes"]]
    if not scopes or not {*scopes} <= _SCOPES:
        raise improper("scopes")
    fields = {"purpose": "deploy", "user": call.user.username, "scopes": scopes, "expires_at": given.get("expires_at")}
    secret, made = call.hosting.identities.give(
        "gldt-", **fields, project=call.project.repository, name=str(given["name"])
    )
    return answer({**_show(made), "token": secret}, 201)


@ROUTES.add("DELETE", f"{_ALL}/:token", MAINTAINER)
def revoke(call: Call) -> Response:
    for one in _known(call):
        if str(one.id) == call.path["token"]:
            call.hosting.store.change(AccessToken, one.id, lambda old: replace(old, revoked=True))
            return Response(status=204)
    raise not_found()
