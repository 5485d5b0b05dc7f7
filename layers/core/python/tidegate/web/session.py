"""Sessions of the web pages: who somebody is, in a signed cookie. Stored is only which were ended by signing out.

A session says a login and when it ends, no more: what its owner may do is asked of the forge. The key
is derived from the App's client secret: whoever changes that secret ends all sessions, within minutes.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: A working day: an account that lost its rights is noticed within a minute anyway, as rights are asked of the forge.
SESSION_SECONDS = 8 * 3600
#: Time to sign in at the forge, with a second factor to be looked for.
SIGN_IN_SECONDS = 600
_LONGEST = 3000


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who signed in. ``id`` tells sessions of one person apart, ``ends`` is in seconds since 1970."""

    login: str
    id: str
    ends: int


@dataclass(frozen=True, slots=True)
class SignIn:
    """A sign-in that has begun: the nonce that the forge must bring back, and where the person wanted to go."""

    nonce: str
    target: str


class Sessions:
    """Makes and reads the values of cookies. ``now`` gives the time in seconds since 1970."""

    def __init__(self, secret: str, now: Callable[[], float]) -> None:
        self._key = hmac.digest(secret.encode(), b"tidegate: sessions of the web pages, 1", "sha256")
        self._now = now

    def begin(self, login: str) -> str:
        """Return the cookie of a new session."""
        return self._signed("session", {"login": login, "id": secrets.token_urlsafe(12)}, SESSION_SECONDS)

    def read(self, cookie: str) -> Session | None:
        """Return the session of a cookie; None for one that is not ours, or has ended."""
        fields = self._opened("session", cookie)
        return None if fields is None else Session(fields["login"], fields["id"], fields["ends"])

    def begin_sign_in(self, target: str) -> tuple[str, str]:
        """Return the state to send to the forge, and the cookie that binds it to this browser."""
        nonce = secrets.token_urlsafe(24)
        return nonce, self._signed("sign-in", {"nonce": nonce, "target": target}, SIGN_IN_SECONDS)

    def read_sign_in(self, cookie: str, state: str) -> SignIn | None:
        """Return the sign-in that this browser began with this state, if it did."""
        fields = self._opened("sign-in", cookie)
        if fields is None or not hmac.compare_digest(fields["nonce"].encode(), state.encode(errors="replace")):
            return None
        return SignIn(fields["nonce"], fields["target"])

    def form_token(self, session: Session) -> str:
        """Return what forms of this session carry, so that no other site can send one."""
        return hmac.new(self._key, f"form\0{session.login}\0{session.id}".encode(), hashlib.sha256).hexdigest()

    def is_form_token(self, session: Session, token: str) -> bool:
        """Tell whether a form carried the session's token."""
        return hmac.compare_digest(self.form_token(session).encode(), token.encode(errors="replace"))

    def _signed(self, kind: str, fields: Mapping[str, str], seconds: int) -> str:
        body = _encoded(json.dumps({**fields, "kind": kind, "ends": int(self._now()) + seconds}).encode())
        return f"{body}.{self._signature(body)}"

    def _opened(self, kind: str, cookie: str) -> dict[str, Any] | None:
        body, _, signature = cookie.partition(".")
        signed = self._signature(body).encode()
        if len(cookie) > _LONGEST or not hmac.compare_digest(signed, signature.encode(errors="replace")):
            return None
        fields: dict[str, Any] = json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return fields if fields["kind"] == kind and fields["ends"] > self._now() else None

    def _signature(self, body: str) -> str:
        return _encoded(hmac.digest(self._key, body.encode(errors="replace"), "sha256"))


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")
