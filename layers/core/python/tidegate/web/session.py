"""Sessions of the web pages: the person's identity in a signed cookie. Only signed-out sessions are stored.

A session has only a login and an expiry: permissions are read from the VCS provider. The key derives from the App's
client secret: changing that secret ends all sessions, within minutes.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from itsdangerous import BadData, Signer, URLSafeSerializer
from itsdangerous.encoding import base64_decode

from tidegate.notifications.rules.slack_account import SlackLinkRequest, SlackUser, code_from

#: A working day: lost permissions are noticed within a minute anyway, as they are read from the VCS provider.
SESSION_SECONDS = 8 * 3600
#: Time to sign in at the VCS provider, including a second factor.
SIGN_IN_SECONDS = 600
#: Time to follow the link from Slack, and to sign in.
SLACK_SECONDS = 600


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
        signing: dict[str, Any] = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        self._cookies = URLSafeSerializer(secret, signer_kwargs=signing)
        self._forms = Signer(secret, "tidegate: form", **signing)
        self._codes = Signer(secret, "tidegate: slack code", **signing)
        self._now = now

    def begin(self, login: str) -> str:
        """Return the cookie of a new session."""
        return self._cookie("session", login, secrets.token_urlsafe(12), seconds=SESSION_SECONDS)

    def read(self, cookie: str) -> Session | None:
        """Return the session of a cookie; None for one that is not ours, or has ended."""
        fields = self._fields("session", cookie)
        return None if fields is None else Session(*fields)

    def begin_sign_in(self, target: str) -> tuple[str, str]:
        """Return the state to send to the VCS provider, and the cookie that binds it to this browser."""
        nonce = secrets.token_urlsafe(24)
        return nonce, self._cookie("sign-in", nonce, target, seconds=SIGN_IN_SECONDS)

    def read_sign_in(self, cookie: str, state: str) -> SignIn | None:
        """Return the sign-in that this browser began with this state, if it did."""
        nonce, target, _ = self._fields("sign-in", cookie) or ("", "", 0)
        is_same = hmac.compare_digest(nonce.encode(), state.encode(errors="replace"))
        return SignIn(nonce, target) if nonce and is_same else None

    def form_token(self, session: Session) -> str:
        """Return what forms of this session carry, so that no other site can send one."""
        return self._forms.get_signature(_named(session)).decode()

    def is_form_token(self, session: Session, token: str) -> bool:
        """Tell whether a form carried the session's token."""
        return self._forms.verify_signature(_named(session), token)

    def slack_link(self, user: SlackUser, name: str, workspace: str) -> str:
        """Return the token of a link by which a signed-in person who knows its code links a user of Slack."""
        return self._cookie("slack link", user.app, user.team, user.id, name, workspace, seconds=SLACK_SECONDS)

    def read_slack_link(self, token: str) -> SlackLinkRequest | None:
        """Return what a token says; None for one that is not ours, or has expired. It may have been used."""
        app, team, user, name, workspace, ends = self._fields("slack link", token) or ("", "", "", "", "", 0)
        return SlackLinkRequest(SlackUser(app, team, user), name, workspace, ends) if ends else None

    def slack_code(self, token: str) -> str:
        """Return the code that goes with a token. The token does not tell it."""
        return code_from(base64_decode(self._codes.get_signature(token)))

    def _cookie(self, kind: str, *fields: str, seconds: int) -> str:
        return str(self._cookies.dumps([*fields, int(self._now()) + seconds], f"tidegate: {kind}"))

    def _fields(self, kind: str, cookie: str) -> list[Any] | None:
        """Return the fields of a cookie of ours that has not ended, and when it ends."""
        try:
            fields: list[Any] = self._cookies.loads(cookie, f"tidegate: {kind}")
        except (BadData, UnicodeError):
            return None
        return fields if fields[-1] > self._now() else None


def _named(session: Session) -> str:
    return f"{session.login}\0{session.id}"
