"""Refusals in GitLab's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from werkzeug.wrappers import Response

from tidegate_local.forge.faults import Refusals
from tidegate_local.forge.routing import answer


class Refusal(Exception):
    """An answer that refuses: HTTP status and body, JSON unless it is text."""

    def __init__(self, status: int, body: dict[str, Any] | str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(str(body))
        self.status, self.body, self.headers = status, body, dict(headers or {})

    def response(self) -> Response:
        """Return the HTTP answer."""
        if isinstance(self.body, str):
            return Response(self.body, self.status, self.headers, content_type="text/plain")
        return answer(self.body, self.status, self.headers)


def message(status: int, text: str) -> Refusal:
    """Return a refusal with a message as it is."""
    return Refusal(status, {"message": text})


def not_found(what: str = "") -> Refusal:
    """Return GitLab's answer for what does not exist, or not for this caller."""
    return message(404, f"404 {what} Not Found" if what else "404 Not found")


def forbidden() -> Refusal:
    """Return GitLab's answer to somebody whose access level does not suffice."""
    return message(403, "403 Forbidden")


def unauthorized() -> Refusal:
    """Return GitLab's answer to credentials that do not hold, or that are missing."""
    return message(401, "401 Unauthorized")


def insufficient_scope(scopes: str) -> Refusal:
    """Return GitLab's answer to a token without one of the scopes."""
    description = "The request requires higher privileges than provided by the access token."
    return Refusal(403, {"error": "insufficient_scope", "error_description": description, "scope": scopes})


def missing(*fields: str) -> Refusal:
    """Return GitLab's answer (400) to a call without fields that it needs."""
    return Refusal(400, {"error": ", ".join(f"{field} is missing" for field in fields)})


def improper(field: str, why: str = "does not have a valid value") -> Refusal:
    """Return GitLab's answer (400) to a field with a value that it does not take."""
    return Refusal(400, {"error": f"{field} {why}"})


def invalid(field: str, why: str) -> Refusal:
    """Return GitLab's answer (400) to a record that cannot be saved."""
    return Refusal(400, {"message": {field: [why]}})


def _too_many(seconds: str) -> Refusal:
    headers = {"Retry-After": seconds, "RateLimit-Limit": "2000", "RateLimit-Observed": "2001"}
    more = {"RateLimit-Remaining": "0", "RateLimit-Name": "throttle_authenticated_api", "RateLimit-Reset": "0"}
    return Refusal(429, "Retry later\n", {**headers, **more})


#: How calls fail on demand (see tidegate_local/forge/faults.py).
FAULTS: Refusals = {
    "rate_limit": _too_many,
    "server_error": lambda _: message(500, "500 Internal Server Error"),
    "bad_gateway": lambda _: Refusal(502, "<html>GitLab is not responding</html>"),
    "bad_credentials": lambda _: unauthorized(),
}
