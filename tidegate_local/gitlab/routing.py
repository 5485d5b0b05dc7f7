"""REST routes of GitLab's API: each names its method, path and the access level that it needs in the project."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from werkzeug.wrappers import Request, Response

from tidegate_local.forge.routing import answer
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.identity import Caller
from tidegate_local.gitlab.records import Project, User
from tidegate_local.gitlab.refusals import Refusal, missing, unauthorized

#: GitLab's list pages: how many entries unless asked, and at most.
PAGE_SIZE, LARGEST_PAGE = 20, 100
_TRUE = {"true", "1", "on", "yes", "t"}


@dataclass(frozen=True, slots=True)
class Call:
    """One REST call: what is behind it, who calls, the project that it names and the rest of the path."""

    hosting: Hosting
    request: Request
    caller: Caller | None
    path: dict[str, Any]
    found: Project | None = None

    @property
    def project(self) -> Project:
        """The project that the path names; routes below a project always have it."""
        if self.found is None:
            raise RuntimeError("this route has no project")
        return self.found

    @property
    def user(self) -> User:
        """Who calls. Raises Refusal (401) for nobody."""
        if self.caller is None:
            raise unauthorized()
        return self.caller.user

    @property
    def level(self) -> int:
        """The caller's access level in the project."""
        return self.hosting.identities.level(self.user.username, self.project.repository) if self.caller else 0

    def given(self) -> dict[str, Any]:
        """Return all parameters, from the address, a form or JSON. Raise Refusal (400)."""
        query = {name: values[-1] for name, values in self.request.args.lists()}
        if self.request.mimetype != "application/json":
            return query | self.request.form.to_dict()
        try:
            body = json.loads(self.request.get_data() or b"{}")
        except ValueError:
            raise Refusal(400, {"error": "The request body is not valid JSON"}) from None
        if not isinstance(body, dict):
            raise Refusal(400, {"error": "The request body is not a JSON object"})
        return query | body

    def needed(self, *names: str) -> dict[str, Any]:
        """Return all parameters; those named must be there. Raise Refusal (400)."""
        given = self.given()
        lacking = [name for name in names if given.get(name) is None]
        if lacking:
            raise missing(*lacking)
        return given

    def flag(self, name: str) -> bool:
        """Return a parameter of the address as a yes or no."""
        return self.request.args.get(name, "").lower() in _TRUE

    def page(self) -> tuple[int, int]:
        """Return the number and size of the page of a list that is asked for."""
        size = self.request.args.get("per_page", PAGE_SIZE, type=int)
        return max(1, self.request.args.get("page", 1, type=int)), min(max(1, size), LARGEST_PAGE)


Handler = Callable[[Call], Response]


@dataclass(frozen=True, slots=True)
class Route:
    """``level`` is the access level that a caller needs in the project; ``scopes`` are of the token, one is enough."""

    method: str
    path: str
    handler: Handler
    level: int
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes of one module, in the order of their definition."""

    routes: list[Route] = field(default_factory=list)

    def add(
        self, method: str, path: str, level: int = 0, scopes: tuple[str, ...] | None = None
    ) -> Callable[[Handler], Handler]:
        """Make the decorated function answer ``method path``; reading needs read_api or api, all else api."""
        wanted = scopes or (("api", "read_api") if method == "GET" else ("api",))

        def keep(handler: Handler) -> Handler:
            self.routes.append(Route(method, path, handler, level, wanted))
            return handler

        return keep


def page_of(call: Call, everything: list[Any], show: Callable[[Any], Any]) -> Response:
    """Return one page of a list."""
    number, size = call.page()
    return answer([show(one) for one in everything[(number - 1) * size : number * size]])
