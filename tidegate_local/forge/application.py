"""The WSGI application of the stand-in for GitHub: git, REST and pages, each under its own URLs."""

from __future__ import annotations

from werkzeug.wrappers import Request, Response

from tidegate_local.forge import git_http
from tidegate_local.forge.faults import Faults
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.pages import site
from tidegate_local.forge.refusals import Refusal
from tidegate_local.forge.rest import api
from tidegate_local.forge.stand_in import Answering


class Application(Answering):
    """Answers every request. Faults hit REST and git, never the pages."""

    def __init__(self, hosting: Hosting, faults: Faults) -> None:
        super().__init__(hosting.webhooks, faults)
        self._hosting = hosting

    def is_program(self, request: Request) -> bool:
        return request.path.startswith("/api/") or _git_path(request) is not None

    def refused(self, request: Request, error: Exception) -> Response:
        refusal = error if isinstance(error, Refusal) else Refusal(500, "Server Error")
        by_program = self.is_program(request) or request.path.startswith("/_local/") or refusal is not error
        return api.refuse(refusal) if by_program else site.refuse(self._hosting, request, refusal)

    def answer(self, request: Request) -> Response:
        if request.path.startswith(f"{api.PREFIX}/"):
            return api.respond(self._hosting, request)
        if git := _git_path(request):
            return git_http.answer(self._hosting, request, *git)
        return site.respond(self._hosting, request)


def _git_path(request: Request) -> tuple[str, str, str] | None:
    """Return owner, repository and the rest of a git client's address."""
    parts = request.path.split("/", 3)
    if len(parts) == 4 and parts[2].endswith(".git"):  # noqa: PLR2004 - "", owner, name.git, rest
        return parts[1], parts[2].removesuffix(".git"), parts[3]
    return None
