"""Controls that no real VCS provider has, for scripts on this machine: API and webhook faults, webhook URLs."""

from __future__ import annotations

import json

from werkzeug.wrappers import Request, Response

from tidegate_local.forge.avatars import avatar
from tidegate_local.forge.fault_injections import FaultInjection, FaultInjections
from tidegate_local.forge.faults import Fault, Faults
from tidegate_local.forge.hooks import Webhooks
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.routing import answer


def respond(webhooks: Webhooks, faults: Faults, request: Request) -> Response:
    """Answer ``/_local/…``: PUT webhook; POST, DELETE and GET faults and webhook-faults; GET health and avatars."""
    what = request.path.removeprefix("/_local/")
    if what.startswith("avatars/") and what.endswith(".svg"):
        return avatar(what.removeprefix("avatars/").removesuffix(".svg"))
    if request.method != "GET" and request.mimetype != "application/json":
        raise Refusal(415, "send application/json")  # what no page of another site can send unasked
    if (request.method, what) == ("GET", "health"):
        return answer({"status": "up", "webhook_url": webhooks.url})
    if (request.method, what) == ("PUT", "webhook"):
        return _point_webhook(webhooks, _body(request))
    if what == "faults":
        return _inject(faults, Fault, request)
    if what == "webhook-faults":
        return _inject(webhooks.fault_injections, FaultInjection, request)
    raise not_found()


def _body(request: Request) -> dict[str, object]:
    try:
        body = json.loads(request.get_data())
    except ValueError:
        raise Refusal(400, "Problems parsing JSON") from None
    if not isinstance(body, dict):
        raise Refusal(400, "Body should be a JSON object")
    return body


def _point_webhook(webhooks: Webhooks, body: dict[str, object]) -> Response:
    url, secret = body.get("url"), body.get("secret")
    if not (url is None or isinstance(url, str)) or not isinstance(secret, str):
        raise Refusal(422, "url and secret must be strings")
    webhooks.point_at(url, secret)
    return answer({"webhook_url": url})


def _inject(pending: Faults | FaultInjections, kind: type[Fault | FaultInjection], request: Request) -> Response:
    if request.method == "POST":
        try:
            pending.inject(kind(**_body(request)))  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise Refusal(422, str(error)) from None
    elif request.method == "DELETE":
        pending.clear()
    return answer({"left": pending.left()})
