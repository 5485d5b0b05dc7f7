"""Webhooks of projects, and what they were told."""

from __future__ import annotations

import json
from typing import Any

from werkzeug.wrappers import Response

from tidegate_local.forge.records import Delivery
from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import clock, disabling, webhooks
from tidegate_local.gitlab.records import Hook
from tidegate_local.gitlab.refusals import not_found
from tidegate_local.gitlab.routing import Call, Routes, page_of
from tidegate_local.gitlab.settings import MAINTAINER
from tidegate_local.gitlab.shapes import Json

ROUTES = Routes()
_ALL = "/projects/:id/hooks"
_EVENTS = ("push_events", "merge_requests_events", "note_events", "pipeline_events", "job_events")
_FIELDS = ("url", "token", *_EVENTS, "push_events_branch_filter")


def _show(call: Call, one: Hook) -> Json:
    status, until = disabling.status(call.hosting, one.id)
    known = {name: getattr(one, name) for name in ("id", *_FIELDS, "created_at") if name != "token"}
    return {**known, "project_id": call.project.id, "alert_status": status, "disabled_until": until}


@ROUTES.add("GET", _ALL, MAINTAINER)
def hooks(call: Call) -> Response:
    return page_of(call, webhooks.of(call.hosting, call.project), lambda one: _show(call, one))


@ROUTES.add("POST", _ALL, MAINTAINER)
def add(call: Call) -> Response:
    """Add a webhook; its token is never shown again."""
    given, path = call.needed("url"), call.project.repository
    wanted: dict[str, Any] = {"token": "", **{name: given[name] for name in _FIELDS if name in given}}
    made = call.hosting.store.add(lambda fresh: Hook(fresh, path, created_at=clock.now(), **wanted))
    return answer(_show(call, made), 201)


@ROUTES.add("GET", f"{_ALL}/:hook/events", MAINTAINER)
def events(call: Call) -> Response:
    """List what a webhook was told, newest first."""
    known = [one.id for one in webhooks.of(call.hosting, call.project) if str(one.id) == call.path["hook"]]
    if not known:
        raise not_found()
    found = call.hosting.store.find(Delivery, call.project.repository, installation=known[0])[::-1]
    return page_of(call, [one for one in found if one.status_code], _event)


def _event(one: Delivery) -> Json:
    hidden = {"X-Gitlab-Token": "[REDACTED]"} if "X-Gitlab-Token" in one.request_headers else {}
    # Without an answer there is no status.
    status = str(one.status_code) if one.response_headers else "internal error"
    request = {"request_headers": {**one.request_headers, **hidden}, "request_data": json.loads(one.payload)}
    return {"id": one.id, "url": one.url, **request, "response_body": one.response, "response_status": status}
