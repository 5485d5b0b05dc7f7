"""OAuth codes: each can be exchanged once, soon, by its own redirect URL."""

from __future__ import annotations

import secrets
import threading
import time
from urllib.parse import urlencode, urlsplit

from tidegate_local.forge.refusals import Refusal

#: A code can be exchanged within this many seconds.
_LIFETIME = 600
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Codes:
    """The codes that wait to be exchanged. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._codes: dict[str, tuple[str, str, float]] = {}

    def make(self, login: str, callback: str) -> str:
        """Return a code that stands for a person, for an application at ``callback``."""
        code = secrets.token_hex(10)
        with self._lock:
            self._codes[code] = (login, callback, time.monotonic() + _LIFETIME)
        return code

    def take(self, code: str) -> tuple[str, str] | None:
        """Return the login and callback of a code, once; None for a code that does not hold."""
        with self._lock:
            login, callback, until = self._codes.pop(code, ("", "", 0.0))
        return None if time.monotonic() > until else (login, callback)


def local_address(given: str) -> str:
    """Return an address where codes may go: of this machine only. Raise Refusal (422)."""
    parts = urlsplit(given)
    if "\\" in given or not given.isprintable() or " " in given:
        raise Refusal(422, "The redirect_uri is not a URL.")  # browsers read it otherwise than we do
    if parts.scheme not in {"http", "https"} or parts.hostname not in _LOOPBACK:
        raise Refusal(422, "The redirect_uri must point to this machine.")
    return given


def back_to(callback: str, code: str, state: str) -> str:
    """Return the address that takes a code back to the application."""
    return f"{callback}{'&' if urlsplit(callback).query else '?'}{urlencode({'code': code, 'state': state})}"
