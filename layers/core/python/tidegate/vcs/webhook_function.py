"""The Lambda function that receives webhooks. It imports little, because its cold start counts."""

from __future__ import annotations

import base64
import binascii
import json
import sys
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tidegate.aws.client import Aws
from tidegate.aws.clock import SystemClock
from tidegate.vcs.adapters.deliveries import DynamoDeliveries, SqsEventQueue, StoredWebhookSecrets, queues_of_events
from tidegate.vcs.receive_webhook import GITHUB, Answer, Dialect, WebhookReceiver, WebhookRequest
from tidegate.vcs.rules.events import COMMENT_PREFIXES
from tidegate.vcs.rules.webhook import MAXIMUM_BODY

#: Seconds for one attempt of an AWS call, and the number of attempts: VCS providers wait 10 s in all.
_TIMEOUT, _ATTEMPTS = 2.0, 2
#: The headers of each VCS provider: the authentication, the event's kind, and its number (the first that exists: older
#: versions of GitLab have no key that stays the same when a webhook is sent again).
_HEADERS = {
    "github": ("x-hub-signature-256", "x-github-event", ("x-github-delivery",)),
    "gitlab": ("x-gitlab-token", "x-gitlab-event", ("idempotency-key", "x-gitlab-event-uuid")),
}


class WebhookFunction:
    """Answers requests of API Gateway. Dependencies are created at the first one and kept while it is warm."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def answer(self, event: Mapping[str, Any], _context: object) -> dict[str, Any]:
        """Answer a request of API Gateway's payload format 2.0."""
        started = time.perf_counter()
        headers = event.get("headers") or {}
        try:
            answer = self._receive(event, headers)
        except Exception as error:  # noqa: BLE001  # The edge: the forge must show a failed delivery.
            answer = Answer(500, "failed", "Tidegate could not store the event. Redeliver it.")
            self._log(headers, answer, started, error=f"{type(error).__name__}: {error}")
        else:
            self._log(headers, answer, started)
        return {
            "statusCode": answer.status,
            "headers": {"content-type": "application/json"},
            "body": json.dumps({"result": answer.result, "reason": answer.reason}),
        }

    def _receive(self, event: Mapping[str, Any], headers: Mapping[str, str]) -> Answer:
        try:
            body = _body(event)
        except binascii.Error:
            return Answer(400, "refused", "The body does not match its encoding.")
        signature, kind, _ = self._headers
        request = WebhookRequest(body, headers.get(signature), headers.get(kind), self._number(headers))
        return self._receiver.receive(request)

    def _number(self, headers: Mapping[str, str]) -> str | None:
        _, _, names = self._headers
        return next((headers[name] for name in names if headers.get(name)), None)

    @cached_property
    def _headers(self) -> tuple[str, str, tuple[str, ...]]:
        return _HEADERS[self._forge]

    @cached_property
    def _forge(self) -> str:
        return self._environ.get("TIDEGATE_FORGE") or "github"

    @cached_property
    def aws(self) -> Aws:
        return Aws(dict(self._environ), timeout=_TIMEOUT, attempts=_ATTEMPTS)

    @cached_property
    def _receiver(self) -> WebhookReceiver:
        environ = self._environ
        queues = queues_of_events(environ["TIDEGATE_DISCOVERY_QUEUE"], environ["TIDEGATE_ACTION_QUEUE"])
        return WebhookReceiver(
            StoredWebhookSecrets(self.aws, environ["TIDEGATE_WEBHOOK_SECRET_NAME"]),
            DynamoDeliveries(self.aws, environ["TIDEGATE_TABLE"]),
            SqsEventQueue(self.aws, queues),
            SystemClock(),
            tuple(environ.get("TIDEGATE_COMMENT_PREFIXES", "").split()) or COMMENT_PREFIXES,
            _dialect(self._forge),
        )

    def _log(self, headers: Mapping[str, str], answer: Answer, started: float, **more: str) -> None:
        """Write one line of JSON, without payload or secrets; names from outside are escaped and cut."""
        _, kind, _ = self._headers
        line = {
            "level": "ERROR" if answer.status >= 500 else "INFO",  # noqa: PLR2004  # HTTP's own.
            "function": "webhook",
            "delivery": str(self._number(headers))[:64],
            "event": str(headers.get(kind))[:40],
            "repository": answer.repository,
            "status": answer.status,
            "result": answer.result,
            "reason": answer.reason,
            "milliseconds": round((time.perf_counter() - started) * 1000, 1),
            **more,
        }
        sys.stdout.write(json.dumps(line) + "\n")


def _dialect(forge: str) -> Dialect:
    if forge == "github":
        return GITHUB
    from tidegate.vcs.gitlab_webhooks import GITLAB  # noqa: PLC0415  # Loaded where it is needed.

    return GITLAB


def _body(event: Mapping[str, Any]) -> bytes:
    """Return the raw bytes; of an oversized body, only enough to detect that."""
    text: str = event.get("body") or ""
    if event.get("isBase64Encoded"):
        return base64.b64decode(text[: (MAXIMUM_BODY // 3 + 2) * 4], validate=True)
    return text[: MAXIMUM_BODY + 1].encode("utf-8", "surrogatepass")
