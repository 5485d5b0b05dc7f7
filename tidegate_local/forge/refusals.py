"""Refusals of the forge, in GitHub's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DOCUMENTATION = "https://docs.github.com/rest"


class Refusal(Exception):
    """An answer that refuses: HTTP status, message, and per-field errors as GitHub lists them."""

    def __init__(
        self, status: int, message: str, errors: list[Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.errors, self.headers = status, message, errors, dict(headers or {})

    def body(self) -> dict[str, Any]:
        """Return the JSON that GitHub would send."""
        body: dict[str, Any] = {"message": self.message}
        if self.errors is not None:
            body["errors"] = self.errors
        return {**body, "documentation_url": DOCUMENTATION, "status": str(self.status)}


def not_found() -> Refusal:
    """Return GitHub's answer for what does not exist, or not for this caller."""
    return Refusal(404, "Not Found")


def invalid(resource: str, field: str, code: str, message: str | None = None) -> Refusal:
    """Return GitHub's answer (422) for a field that cannot be used; ``code`` is in GitHub's words."""
    error = {"resource": resource, "field": field, "code": code}
    return Refusal(422, "Validation Failed", [error | ({"message": message} if message else {})])
