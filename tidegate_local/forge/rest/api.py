"""All REST routes together: who calls, what they may, then the handler."""

from __future__ import annotations

from typing import Any

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.identity import Caller
from tidegate_local.forge.records import Repository
from tidegate_local.forge.refusals import Refusal, not_found
from tidegate_local.forge.rest import apps, pulls, repositories, users
from tidegate_local.forge.routing import Call, Route, answer

PREFIX = "/api/v3"

ROUTES: tuple[Route, ...] = tuple(
    route for module in (apps, pulls, repositories, users) for route in module.ROUTES.routes
)
_MAP = Map([Rule(f"{PREFIX}{route.path}", methods=[route.method], endpoint=route) for route in ROUTES])


def respond(hosting: Hosting, request: Request) -> Response:
    """Answer a REST call. Raise Refusal."""
    route, path = _match(request)
    caller = _caller(hosting, request, route)
    repository = _repository(hosting, path)
    if repository is not None and caller.kind != "app":
        caller = _at(hosting, caller, repository)
    if not route.allows(caller):
        raise _not_permitted(caller)
    response: Response = route.handler(Call(hosting, request, caller, path, repository))
    return response


def _match(request: Request) -> tuple[Route, dict[str, Any]]:
    adapter = _MAP.bind_to_environ(request.environ)
    try:
        route, path = adapter.match()
    except HTTPException:
        raise not_found() from None
    return route, dict(path)


def _caller(hosting: Hosting, request: Request, route: Route) -> Caller:
    if not route.who:
        return Caller("nobody", "")
    caller = hosting.identities.caller(request)
    if caller is None:
        raise Refusal(401, "Requires authentication")
    if caller.kind in route.who:
        return caller
    if route.who == ("app",):
        raise Refusal(401, "A JSON web token could not be decoded")
    if caller.kind == "app":
        raise Refusal(401, "Bad credentials")
    raise Refusal(403, "You must authenticate via a GitHub App.")


def _at(hosting: Hosting, caller: Caller, repository: Repository) -> Caller:
    there = hosting.identities.at(caller, repository)
    if there is None:
        raise not_found()
    return there


def _repository(hosting: Hosting, path: dict[str, Any]) -> Repository | None:
    if "owner" not in path or "name" not in path:
        return None
    repository = hosting.repository(f"{path['owner']}/{path['name']}")
    if repository is None:
        raise not_found()
    return repository


def _not_permitted(caller: Caller) -> Refusal:
    by_app = caller.kind == "installation"
    return Refusal(403, f"Resource not accessible by {'integration' if by_app else 'personal access token'}")


def refuse(refusal: Refusal) -> Response:
    """Return a refusal as GitHub's JSON."""
    return answer(refusal.body(), refusal.status, refusal.headers)
