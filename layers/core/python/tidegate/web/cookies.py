"""Cookies of the pages."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.shared.cookies import Cookie, SameSite


class Cookies:
    """Makes and finds cookies of the pages at ``url``: no script reads them, and over TLS they need it."""

    def __init__(self, url: str) -> None:
        self._is_secure = url.startswith("https:")
        # With this prefix a browser accepts the cookie from this host only, and only over TLS.
        self._prefix = "__Host-" if self._is_secure else ""

    def of(self, event: Any, name: str) -> str:
        """Return the value that a request has, empty for none."""
        pairs = (cookie.partition("=") for cookie in event.raw_event.get("cookies") or [])
        values: dict[str, str] = {each.strip(): value.strip() for each, _, value in pairs}
        return values.get(f"{self._prefix}{name}", "")

    def new(self, name: str, value: str, seconds: int) -> Cookie:
        """Return a cookie that lasts so long; 0 seconds remove it."""
        return Cookie(
            name=f"{self._prefix}{name}",
            value=value,
            path="/",
            secure=self._is_secure,
            http_only=True,
            same_site=SameSite.LAX_MODE,
            max_age=seconds,
        )
