"""Serve the engine's role credentials over HTTP, as the container endpoints of ECS and EKS do.

Every SDK of AWS reads ``AWS_CONTAINER_CREDENTIALS_FULL_URI``, allows a loopback address over HTTP, sends
``AWS_CONTAINER_AUTHORIZATION_TOKEN`` as it stands, and asks again before the credentials end
(https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html). Terraform's and OpenTofu's AWS
provider and S3 backend take credentials by the SDK for Go v2, which comes here after keys in variables, web identities
and profiles (aws-sdk-go-v2, config/resolve_credentials.go).
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from runner.faults import JobFault
from runner.role_session import RoleSession, is_final

_PATH = "/credentials"
#: Seconds after which an incomplete request is dropped.
_SECONDS = 10.0
_POLL_SECONDS = 0.02


class CredentialsEndpoint:
    """One job's endpoint on the loopback interface, for one role, with its own token, until it is closed.

    ``environment`` are the variables that point SDKs to it.
    """

    def __init__(self, session: RoleSession) -> None:
        self._token = secrets.token_urlsafe(32)
        self._server = _Server(("127.0.0.1", 0), _handler(session, self._token))
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(_POLL_SECONDS,), name="engine credentials", daemon=True).start()

    @property
    def token(self) -> str:
        return self._token

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{self._server.server_address[1]}{_PATH}",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": self._token,
        }

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Ignore closed connections: they are not the job's fault, and its log is the engine's."""


def _handler(session: RoleSession, token: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _SECONDS

        def do_GET(self) -> None:
            given = self.headers.get("authorization", "")
            if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode()):
                self._answer(HTTPStatus.UNAUTHORIZED, _error("Unauthorized", "Invalid token."))
            elif self.path != _PATH:
                self._answer(HTTPStatus.NOT_FOUND, _error("NotFound", f"Not found. Credentials are at {_PATH}."))
            else:
                self._answer(*_credentials(session))

        def _answer(self, status: HTTPStatus, fields: Mapping[str, str]) -> None:
            body = json.dumps(fields).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing: the job's log is the engine's."""

    return Handler


def _credentials(session: RoleSession) -> tuple[HTTPStatus, Mapping[str, str]]:
    """Return the answer of a container credentials endpoint: SDKs retry after a 503, and show the error of a 403."""
    try:
        current, ends = session.get()
    except JobFault as fault:
        status = HTTPStatus.FORBIDDEN if is_final(fault) else HTTPStatus.SERVICE_UNAVAILABLE
        return status, _error(type(fault).__name__, str(fault))
    return HTTPStatus.OK, {
        "AccessKeyId": current.access_key,
        "SecretAccessKey": current.secret_key,
        "Token": current.session_token or "",
        "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ends)),
    }


def _error(code: str, message: str) -> Mapping[str, str]:
    return {"code": code, "message": message}
