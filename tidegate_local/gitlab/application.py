"""The WSGI application of a local GitLab: git, REST, OAuth and the local switches, each under its own addresses."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug.wrappers import Request, Response

from tidegate_local.forge import local_api
from tidegate_local.forge.calls import Calls
from tidegate_local.forge.faults import Faults
from tidegate_local.forge.http_server import Hangup
from tidegate_local.forge.refusals import Refusal as LocalRefusal
from tidegate_local.forge.routing import answer
from tidegate_local.gitlab import git_http, oauth
from tidegate_local.gitlab.hosting import Hosting
from tidegate_local.gitlab.refusals import Refusal, message
from tidegate_local.gitlab.rest import api

log = logging.getLogger(__name__)
_GIT = re.compile(r"/(?P<path>.+)\.git/(?P<rest>info/refs|git-upload-pack|git-receive-pack)")


class Application:
    """Answers every request. Faults hit REST, git and OAuth, never the switches."""

    def __init__(self, hosting: Hosting, faults: Faults) -> None:
        self._hosting, self._faults, self._calls = hosting, faults, Calls()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self.respond(Request(environ))(environ, start_response)

    def respond(self, request: Request) -> Response:
        """Return the answer to one request. Raise Hangup when the connection is to be closed instead."""
        try:
            return self._dispatch(request)
        except Refusal as refusal:
            return api.with_limits(refusal.response())
        except LocalRefusal as refusal:
            return answer({"error": refusal.message}, refusal.status)
        except Hangup:
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return message(500, "500 Internal Server Error").response()

    def _dispatch(self, request: Request) -> Response:
        if (request.method, request.path) == ("GET", "/_local/calls"):
            return answer({"calls": self._calls.described()})
        if request.path.startswith("/_local/"):
            return local_api.respond(self._hosting.webhooks, self._faults, request)
        self._calls.add(request)
        fault = self._faults.take(request)
        if fault and not fault.after:
            self._faults.raise_it(fault)
        response = self._answer(request)
        if fault:
            self._faults.raise_it(fault)
        return response

    def _answer(self, request: Request) -> Response:
        if request.path.startswith(f"{api.PREFIX}/"):
            return api.respond(self._hosting, request)
        if request.path.startswith("/oauth/"):
            return oauth.respond(self._hosting, request)
        if git := _GIT.fullmatch(request.path):
            return git_http.answer(self._hosting, request, git["path"], git["rest"])
        raise Refusal(404, {"error": "404 Not Found"})
