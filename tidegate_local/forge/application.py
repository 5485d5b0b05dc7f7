"""The WSGI application of the stand-in for GitHub: git, REST, GraphQL, tokens and pages, each under its own URLs."""

from __future__ import annotations

from werkzeug.wrappers import Request, Response

from tidegate_local.forge import git_http, graphql, oidc
from tidegate_local.forge.faults import Faults
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.pages import site
from tidegate_local.forge.refusals import Refusal
from tidegate_local.forge.rest import api
from tidegate_local.forge.stand_in import Answering


class Application(Answering):
    """Answers every request. Faults hit the APIs, git and tokens, never the pages."""

    def __init__(self, hosting: Hosting, faults: Faults, issuer: oidc.Issuer) -> None:
        super().__init__(hosting.webhooks, faults)
        self._hosting, self._issuer = hosting, issuer

    def is_program(self, request: Request) -> bool:
        return request.path.startswith(("/api/", f"{oidc.PATH}/")) or _git_path(request) is not None

    def path_of(self, request: Request) -> str:
        """Return the path, with the operation's name behind that of GraphQL."""
        if request.path == graphql.PATH:
            return f"{graphql.PATH}/{graphql.operation_of(request)}"
        return request.path

    def refused(self, request: Request, error: Exception) -> Response:
        refusal = error if isinstance(error, Refusal) else Refusal(500, "Server Error")
        by_program = self.is_program(request) or request.path.startswith("/_local/") or refusal is not error
        return api.refuse(refusal) if by_program else site.refuse(self._hosting, request, refusal)

    def answer(self, request: Request) -> Response:
        if request.path.startswith(f"{api.PREFIX}/"):
            return api.respond(self._hosting, request)
        if (request.method, request.path) == ("POST", graphql.PATH):
            return graphql.respond(self._hosting, request)
        if request.path.startswith(f"{oidc.PATH}/"):
            return self._issuer.respond(request)
        if git := _git_path(request):
            return git_http.answer(self._hosting, request, *git)
        return site.respond(self._hosting, request)


def _git_path(request: Request) -> tuple[str, str, str] | None:
    """Return owner, repository and the rest of a git client's address."""
    parts = request.path.split("/", 3)
    if len(parts) == 4 and parts[2].endswith(".git"):  # noqa: PLR2004 - "", owner, name.git, rest
        return parts[1], parts[2].removesuffix(".git"), parts[3]
    return None
