"""The App: itself, its installations and their tokens, its webhook's deliveries."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from werkzeug.wrappers import Response

from tidegate_local.forge import shapes
from tidegate_local.forge.records import Account, Delivery, Repository
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.routing import Call, Routes, answer

ROUTES = Routes()
_APP = ("app",)
_LEVELS = {"read": 1, "write": 2}


@ROUTES.add("GET", "/app", who=_APP)
def app(call: Call) -> Response:
    return answer(shapes.app(call.hosting))


@ROUTES.add("POST", "/app-manifests/<code>/conversions", who=())
def convert(call: Call) -> Response:
    """Hand out the App that was made from a manifest, with its secrets, once."""
    created = call.hosting.manifests.convert(call.path["code"])
    if created is None:
        raise not_found()
    return answer(created, 201)


def _installed(call: Call) -> list[Account]:
    owners = {one.owner for one in call.hosting.repositories()}
    accounts = [call.hosting.identities.account(owner) for owner in sorted(owners)]
    return [one for one in accounts if call.hosting.is_installed(one)]


def _owner(call: Call) -> Account:
    owner = next((one for one in _installed(call) if one.id == call.path["id"]), None)
    if owner is None:
        raise not_found()
    return owner


@ROUTES.add("GET", "/app/installations/<int:id>", who=_APP)
def installation(call: Call) -> Response:
    return answer(shapes.installation(call.hosting, _owner(call)))


@ROUTES.add("GET", "/repos/<owner>/<name>/installation", who=_APP)
def installation_of_repository(call: Call) -> Response:
    owner = call.hosting.owner(call.repository)
    if not call.hosting.is_installed(owner):
        raise not_found()
    return answer(shapes.installation(call.hosting, owner))


@ROUTES.add("POST", "/app/installations/<int:id>/access_tokens", who=_APP)
def access_token(call: Call) -> Response:
    owner, wanted = _owner(call), call.body()
    permissions = _permissions(call, wanted.get("permissions"))
    chosen = _repositories(call, owner, wanted)
    names = None if chosen is None else [one.repository for one in chosen]
    token, expires_at = call.hosting.identities.give_installation_token(owner.login, permissions, names)
    body: dict[str, Any] = {
        "token": token,
        "expires_at": expires_at,
        "permissions": permissions,
        "repository_selection": "all" if chosen is None else "selected",
    }
    if chosen is not None:
        body["repositories"] = [shapes.repository(call.hosting, one) for one in chosen]
    return answer(body, 201)


def _permissions(call: Call, wanted: Any) -> dict[str, str]:
    granted = call.hosting.settings.permissions
    if not wanted:
        return dict(granted)
    for name, level in wanted.items():
        if _LEVELS.get(level, 9) > _LEVELS.get(granted.get(name, ""), 0):
            raise Refusal(422, "The permissions requested are not granted to this installation.")
    return {"metadata": "read", **wanted}


def _repositories(call: Call, owner: Account, wanted: dict[str, Any]) -> list[Repository] | None:
    names = wanted.get("repositories")
    if not names:
        return None
    accessible = [one for one in call.hosting.repositories() if one.owner == owner.login]
    chosen = [one for one in accessible if one.name in names]
    if len(chosen) < len(set(names)):
        raise Refusal(
            422, "There is at least one repository that does not exist or is not accessible to the parent installation."
        )
    return chosen


def _delivery(call: Call) -> Delivery:
    try:
        return call.hosting.store.get(Delivery, call.path["id"])
    except KeyError:
        raise not_found() from None


def _delivery_item(one: Delivery) -> dict[str, Any]:
    return {
        "id": one.id,
        "guid": one.guid,
        "delivered_at": one.delivered_at,
        "redelivery": one.redelivery,
        "duration": one.duration,
        "status": one.status,
        "status_code": one.status_code,
        "event": one.event,
        "action": one.action,
        "installation_id": one.installation,
        "repository_id": one.repository_id,
        "throttled_at": None,
    }


@ROUTES.add("GET", "/app/hook/config", who=_APP)
def webhook(call: Call) -> Response:
    return answer(_webhook(call))


@ROUTES.add("PATCH", "/app/hook/config", who=_APP)
def change_webhook(call: Call) -> Response:
    """Change where webhooks go and how they are signed; what is not given stays."""
    wanted, hooks = call.body(), call.hosting.webhooks
    hooks.point_at(wanted.get("url", hooks.url), wanted.get("secret", hooks.secret))
    return answer(_webhook(call))


def _webhook(call: Call) -> dict[str, Any]:
    url = call.hosting.webhooks.url or ""
    return {"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": url}


@ROUTES.add("GET", "/app/hook/deliveries", who=_APP)
def deliveries(call: Call) -> Response:
    """List deliveries, newest first; pages are asked for by cursor: the id before which to go on."""
    (_, size), cursor = call.page(), call.request.args.get("cursor", type=int)
    newest = call.hosting.store.newest(Delivery, 3 * size, before=cursor)
    found = [one for one in newest if one.status_code][: size + 1]
    shown = found[:size]
    query = urlencode({"per_page": size, "cursor": shown[-1].id if shown else 0})
    link = {"Link": f'<{call.hosting.urls.api}/app/hook/deliveries?{query}>; rel="next"'}
    return answer([_delivery_item(one) for one in shown], headers=link if len(found) > size else None)


@ROUTES.add("GET", "/app/hook/deliveries/<int:id>", who=_APP)
def delivery(call: Call) -> Response:
    one = _delivery(call)
    request = {"headers": one.request_headers, "payload": json.loads(one.payload)}
    response = {"headers": one.response_headers, "payload": one.response}
    return answer({**_delivery_item(one), "url": one.url, "request": request, "response": response})


@ROUTES.add("POST", "/app/hook/deliveries/<int:id>/attempts", who=_APP)
def redeliver(call: Call) -> Response:
    call.hosting.webhooks.send_again(_delivery(call).id)
    return answer({}, 202)
