"""Error answers in the protocol of the call."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate_local.aws.gateway import Response
    from tidegate_local.aws.requests import Call

_DENIED_NAMES = {"json": "AccessDeniedException", "rest": "AccessDeniedException", "ec2": "UnauthorizedOperation"}
_PLAIN_JSON = {"sqs", "sns"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error: AWS's code, a message, and the HTTP status."""

    code: str
    message: str
    status: int


def render(refusal: Refusal, call: Call) -> Response:
    """Return the refusal as the service of this call would send it."""
    from tidegate_local.aws.gateway import Response  # noqa: PLC0415 - the two need each other.

    code = refusal.code
    if code == "AccessDenied" and call.service not in _PLAIN_JSON:
        code = _DENIED_NAMES.get(call.protocol, code)
    kind, body = _body(code, refusal.message, call)
    # JSON services refuse with 400, also when access is denied.
    status = 400 if call.protocol == "json" and refusal.status == HTTPStatus.FORBIDDEN else refusal.status
    headers = [("Content-Type", kind), ("x-amzn-RequestId", str(uuid.uuid4())), ("x-amzn-ErrorType", code)]
    return Response(f"{status} Refused", [*headers, ("Content-Length", str(len(body)))], body)


def _body(code: str, message: str, call: Call) -> tuple[str, bytes]:
    if call.protocol in ("json", "rest"):
        value = {"__type": code, "message": message, "Message": message, "Code": code}
        return "application/x-amz-json-1.1", json.dumps(value).encode()
    error = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    if call.protocol == "s3":
        return "application/xml", f"<Error>{error}<RequestId>local</RequestId></Error>".encode()
    if call.protocol == "ec2":
        text = f"<Response><Errors><Error>{error}</Error></Errors><RequestID>local</RequestID></Response>"
        return "text/xml", text.encode()
    text = f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error><RequestId>local</RequestId></ErrorResponse>"
    return "text/xml", text.encode()
