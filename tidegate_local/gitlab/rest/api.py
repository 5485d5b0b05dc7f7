"""All REST routes together: who calls, what they may, then the handler."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from werkzeug.wrappers import Request, Response

from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.identity import Caller
from tidegate_local.gitlab.records import Project
from tidegate_local.gitlab.refusals import Refusal, forbidden, insufficient_scope, not_found, unauthorized
from tidegate_local.gitlab.rest import hooks, issues, merge_requests, projects, repository
from tidegate_local.gitlab.routing import Call, Route

PREFIX = "/api/v4"

_MODULES = (hooks, issues, merge_requests, projects, repository)
ROUTES: tuple[Route, ...] = tuple(route for module in _MODULES for route in module.ROUTES.routes)


def _pattern(path: str) -> re.Pattern[str]:
    parts = (f"(?P<{part[1:]}>[^/]+)" if part.startswith(":") else re.escape(part) for part in path.split("/"))
    return re.compile("/".join(parts))


_PATTERNS = [(route, _pattern(route.path)) for route in ROUTES]


def respond(hosting: Hosting, request: Request) -> Response:
    """Answer a REST call. Raise Refusal."""
    route, path = _match(request)
    caller = hosting.identities.caller(request)
    if caller is not None and not {*caller.scopes} & {*route.scopes}:
        raise insufficient_scope(" ".join(route.scopes))
    if caller is None and request.method != "GET":
        raise unauthorized()
    project = _project(hosting, caller, path) if route.path.startswith("/projects/:id") else None
    call = Call(hosting, request, caller, path, project)
    if project is not None and call.level < route.level and not _is_public(call, route):
        raise forbidden() if caller else unauthorized()
    return route.handler(call)


def _match(request: Request) -> tuple[Route, dict[str, Any]]:
    """Return the route of a call; what is between two slashes may hold slashes itself, encoded."""
    raw = str(request.environ.get("RAW_URI") or request.path).partition("?")[0].removeprefix(PREFIX)
    for route, pattern in _PATTERNS:
        found = pattern.fullmatch(raw) if route.method == request.method else None
        if found:
            return route, {name: unquote(value) for name, value in found.groupdict().items()}
    raise Refusal(404, {"error": "404 Not Found"})


def _project(hosting: Hosting, caller: Caller | None, path: dict[str, Any]) -> Project:
    project = hosting.project(path["id"])
    if project is None or not hosting.sees(caller.user if caller else None, project):
        raise not_found("Project")
    return project


def _is_public(call: Call, route: Route) -> bool:
    return route.method == "GET" and call.project.visibility != "private"
