"""Webhooks of projects, and what they were told."""

from __future__ import annotations

import json
from dataclasses import replace
from urllib.parse import urlsplit

from werkzeug.wrappers import Response

from tidegate_local.forge.records import Delivery
from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import clock, disabling, webhooks
from tidegate_local.gitlab.records import Hook
from tidegate_local.gitlab.refusals import Refusal, invalid, not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import MAINTAINER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_ALL = "/projects/:id/hooks"
_ONE = f"{_ALL}/:hook"
_OURS = ("push_events", "tag_push_events", "merge_requests_events", "note_events")
_OTHERS = (
    "issues",
    "confidential_issues",
    "confidential_note",
    "job",
    "pipeline",
    "wiki_page",
    "deployment",
    "releases",
)
_OUTCOMES = {"successful": range(200, 300), "client_failure": range(400, 500), "server_failure": range(500, 600)}


def _hooks(call: Call) -> list[Hook]:
    shared = webhooks.everywhere(call.hosting, call.project)
    return [*([shared] if shared else []), *webhooks.of(call.hosting, call.project)]


def _hook(call: Call) -> Hook:
    for one in _hooks(call):
        if str(one.id) == call.path["hook"]:
            return one
    raise not_found("Hook" if call.request.method == "DELETE" else "")


def _show(call: Call, one: Hook) -> Json:
    url = call.hosting.webhooks.url if one.id == webhooks.EVERYWHERE else one.url
    status, until = disabling.status(call.hosting, one.id)
    return {
        "id": one.id,
        "url": url,
        "name": one.name,
        "description": None,
        "project_id": call.project.id,
        **{name: getattr(one, name) for name in _OURS},
        **{f"{name}_events": False for name in _OTHERS},
        "push_events_branch_filter": "",
        "branch_filter_strategy": "wildcard",
        "enable_ssl_verification": True,
        "repository_update_events": False,
        "alert_status": status,
        "disabled_until": until,
        "url_variables": [],
        "custom_webhook_template": None,
        "custom_headers": [],
        "created_at": one.created_at,
    }


@ROUTES.add("GET", _ALL, MAINTAINER)
def hooks(call: Call) -> Response:
    return page_of(call, _hooks(call), lambda one: _show(call, one))


@ROUTES.add("GET", _ONE, MAINTAINER)
def hook(call: Call) -> Response:
    return answer(_show(call, _hook(call)))


def _wanted(given: Json) -> Json:
    wanted = {name: given[name] in {True, "true"} for name in _OURS if name in given}
    texts = {name: str(given[name]) for name in ("url", "token", "name") if given.get(name) is not None}
    if "url" in texts and urlsplit(texts["url"]).scheme not in {"http", "https"}:
        raise invalid("url", "is blocked: Only allowed schemes are http, https")
    return wanted | texts


@ROUTES.add("POST", _ALL, MAINTAINER)
def add(call: Call) -> Response:
    """Add a webhook; its token is never shown again."""
    call.needed("url")
    wanted, path = {"token": "", **_wanted(call.given())}, call.project.repository
    made = call.hosting.store.add(lambda fresh: Hook(fresh, path, created_at=clock.now(), **wanted))
    return answer(_show(call, made), 201)


@ROUTES.add("PUT", _ONE, MAINTAINER)
def change(call: Call) -> Response:
    one, wanted = _hook(call), _wanted(call.given())
    return answer(_show(call, call.hosting.store.change(Hook, one.id, lambda old: replace(old, **wanted))))


@ROUTES.add("DELETE", _ONE, MAINTAINER)
def remove(call: Call) -> Response:
    call.hosting.store.remove(Hook, _hook(call).id)
    return Response(status=204)


def _event(one: Delivery) -> Json:
    hidden = {"X-Gitlab-Token": "[REDACTED]"} if "X-Gitlab-Token" in one.request_headers else {}
    kind = one.event.removesuffix(" Hook").lower().replace(" ", "_")
    return {
        "id": one.id,
        "url": one.url,
        "trigger": f"{kind}_hooks",
        "request_headers": {**one.request_headers, **hidden},
        "request_data": json.loads(one.payload),
        "response_headers": one.response_headers,
        "response_body": one.response,
        "execution_duration": one.duration,
        "response_status": _status(one),
    }


def _status(one: Delivery) -> str:
    """Return the status of the answer; ``internal error`` when there was none."""
    return str(one.status_code) if one.response_headers else "internal error"


def _has_outcome(one: Delivery, status: str | None) -> bool:
    if status is None:
        return True
    code = _status(one)
    return code == status or (code.isdecimal() and int(code) in _OUTCOMES.get(status, ()))


@ROUTES.add("GET", f"{_ONE}/events", MAINTAINER)
def events(call: Call) -> Response:
    """List what a webhook was told, newest first; ``status`` is a code, or successful, client_ or server_failure."""
    hook, status = _hook(call), call.request.args.get("status")
    found = [one for one in webhooks.deliveries(call.hosting, call.project, hook.id) if one.status_code]
    return page_of(call, [one for one in found if _has_outcome(one, status)], _event)


@ROUTES.add("POST", f"{_ONE}/events/:event/resend", MAINTAINER)
def resend(call: Call) -> Response:
    """Send an event once more, and answer how that went."""
    hook = _hook(call)
    known = {str(one.id): one.id for one in webhooks.deliveries(call.hosting, call.project, hook.id)}
    if call.path["event"] not in known:
        raise not_found()
    again = webhooks.send_again(call.hosting, hook, known[call.path["event"]])
    if not again.response_headers:
        raise Refusal(422, {"message": again.response or again.status})
    return answer({"response_status": again.status_code}, 201)
