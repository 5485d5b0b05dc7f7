"""The forge's WSGI application: git, REST, pages and the local switches, each under its own addresses."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug.wrappers import Request, Response

from tidegate_local.forge import git_http, local_api
from tidegate_local.forge.calls import Calls
from tidegate_local.forge.faults import Faults
from tidegate_local.forge.hosting import Hosting
from tidegate_local.forge.http_server import Hangup
from tidegate_local.forge.pages import site
from tidegate_local.forge.refusals import Refusal
from tidegate_local.forge.rest import api
from tidegate_local.forge.routing import answer

log = logging.getLogger(__name__)


class Application:
    """Answers every request. Faults hit REST, git and OAuth, never the pages or the switches."""

    def __init__(self, hosting: Hosting, faults: Faults) -> None:
        self._hosting, self._faults, self._calls = hosting, faults, Calls()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        return self.respond(request)(environ, start_response)

    def respond(self, request: Request) -> Response:
        """Return the answer to one request. Raise Hangup when the connection is to be closed instead."""
        try:
            return self._dispatch(request)
        except Refusal as refusal:
            return api.refuse(refusal) if _is_program(request) else site.refuse(self._hosting, request, refusal)
        except Hangup:
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return api.refuse(Refusal(500, "Server Error"))

    def _dispatch(self, request: Request) -> Response:
        if (request.method, request.path) == ("GET", "/_local/calls"):
            return answer({"calls": self._calls.described()})
        if request.path.startswith("/_local/"):
            return local_api.respond(self._hosting.webhooks, self._faults, request)
        if _is_program(request):
            self._calls.add(request)
        fault = self._faults.take(request) if _is_program(request) else None
        if fault and not fault.after:
            self._faults.raise_it(fault)
        response = self._answer(request)
        if fault:
            self._faults.raise_it(fault)
        return response

    def _answer(self, request: Request) -> Response:
        if request.path.startswith(f"{api.PREFIX}/"):
            return api.respond(self._hosting, request)
        if git := _git_path(request):
            return git_http.answer(self._hosting, request, *git)
        return site.respond(self._hosting, request)


def _is_program(request: Request) -> bool:
    return request.path.startswith(("/api/", "/_local/")) or _git_path(request) is not None


def _git_path(request: Request) -> tuple[str, str, str] | None:
    """Return owner, repository and the rest of a git client's address."""
    parts = request.path.split("/", 3)
    if len(parts) == 4 and parts[2].endswith(".git"):  # noqa: PLR2004 - "", owner, name.git, rest
        return parts[1], parts[2].removesuffix(".git"), parts[3]
    return None
