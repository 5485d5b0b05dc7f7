"""The WSGI application of the stand-in for GitLab: git, REST, OAuth and jobs' tokens, each under its own addresses."""

from __future__ import annotations

import re

from werkzeug.wrappers import Request, Response

from tidegate_local.forge.faults import Faults
from tidegate_local.forge.refusals import Refusal as LocalRefusal
from tidegate_local.forge.routing import answer
from tidegate_local.forge.stand_in import Answering
from tidegate_local.gitlab import git_http, oauth, oidc
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.refusals import Refusal, message
from tidegate_local.gitlab.rest import api

_GIT = re.compile(r"/(?P<path>.+)\.git/(?P<rest>info/refs|git-upload-pack|git-receive-pack)")


class Application(Answering):
    """Answers every request. Faults hit REST, git and OAuth."""

    def __init__(self, hosting: Hosting, faults: Faults, issuer: oidc.Issuer) -> None:
        super().__init__(hosting.webhooks, faults)
        self._hosting, self._issuer = hosting, issuer

    def is_program(self, _request: Request) -> bool:
        return True

    def refused(self, _request: Request, error: Exception) -> Response:
        if isinstance(error, LocalRefusal):
            return answer({"error": error.message}, error.status)
        if isinstance(error, Refusal):
            return error.response()
        return message(500, "500 Internal Server Error").response()

    def answer(self, request: Request) -> Response:
        if request.path.startswith(f"{api.PREFIX}/"):
            return api.respond(self._hosting, request)
        if request.path in oidc.PATHS:
            return self._issuer.respond(request)
        if request.path.startswith("/oauth/"):
            return oauth.respond(self._hosting, request)
        if git := _GIT.fullmatch(request.path):
            return git_http.answer(self._hosting, request, git["path"], git["rest"])
        raise Refusal(404, {"error": "404 Not Found"})
