"""moto's server application, which finds out only once which backend serves a host, and answers most calls at once."""

from __future__ import annotations

import functools
import http
from collections.abc import Iterable
from typing import Any

from moto.core.request import Request
from moto.core.responses import BaseResponse
from moto.dynamodb.responses import DynamoHandler
from moto.events.responses import EventsHandler
from moto.logs.responses import LogsResponse
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.secretsmanager.responses import SecretsManagerResponse
from moto.sqs.responses import SQSResponse
from moto.stepfunctions.responses import StepFunctionResponse
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import HTTPException

_HANDLERS: dict[str, type[BaseResponse]] = {
    "AmazonSQS": SQSResponse,
    "AWSEvents": EventsHandler,
    "AWSStepFunctions": StepFunctionResponse,
    "DynamoDB_20120810": DynamoHandler,
    "Logs_20140328": LogsResponse,
    "secretsmanager": SecretsManagerResponse,
}
"""Who answers the calls whose ``X-Amz-Target`` begins so: what they ask is all in that header and in the body."""


class _JsonRequest(Request):
    """A request with a body of JSON, in which nobody need look for a form."""

    from_wsgi_server = True
    form = ImmutableMultiDict()
    files = ImmutableMultiDict()

    @property
    def data(self) -> bytes:
        body: bytes = self.environ["wsgi.input"].getvalue()
        return body


class MotoApplication(DomainDispatcherApplication):
    """A WSGI application; bodies must be in memory.

    moto's own lists the package's directory twice for each request, and Flask looks for the form and the view of a
    call that its target names already: both took more of a call's time than to answer it.
    """

    def __init__(self) -> None:
        super().__init__(create_backend_app)
        self._backends = functools.lru_cache(256)(super().get_backend_for_host)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request."""
        handler = _HANDLERS.get(environ.get("HTTP_X_AMZ_TARGET", "").partition(".")[0])
        if handler is None:
            every: Iterable[bytes] = super().__call__(environ, start_response)
            return every
        request = _JsonRequest(environ)
        try:
            status, headers, body = handler.dispatch(request, request.raw_url, dict(request.headers))
        except HTTPException as refusal:
            return refusal(environ, start_response)
        line = f"{int(status)} {http.HTTPStatus(int(status)).phrase}"
        start_response(line, [(name, str(value)) for name, value in headers.items()])
        return [body.encode() if isinstance(body, str) else body]

    def get_backend_for_host(self, host: str | None) -> Any:
        """Return the name of the backend that serves this host, or None."""
        return self._backends(host)
