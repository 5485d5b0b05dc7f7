"""Accounts of Slack, and whom of the VCS provider's accounts they act for."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from tidegate.rules.errors import TidegateError

#: How long a link holds: who was talked into one, or forgot it, is not acted for forever.
LINK_SECONDS = 90 * 24 * 3600
#: How often a code may be typed for one link of Slack. Codes have 34 bits.
MOST_ATTEMPTS = 5
#: Letters and length of codes that people type, as RFC 8628 (section 6.1) recommends: no vowels, so no words.
_LETTERS, _LENGTH = "BCDFGHJKLMNPQRSTVWXZ", 8


@dataclass(frozen=True, slots=True)
class SlackUser:
    """A user of a workspace (``team``), as an app of the installation knows them: ``app`` is the name of its secret.

    Who controls one app cannot speak for users of another one.
    """

    app: str
    team: str
    id: str


@dataclass(frozen=True, slots=True)
class SlackLinkRequest:
    """A request to link a user, with their name and that of their workspace, until ``ends`` in seconds since 1970."""

    user: SlackUser
    name: str
    workspace: str
    ends: int


@dataclass(frozen=True, slots=True)
class SlackLink:
    """Lets a user of Slack act as ``login``, or as nobody if that is empty. ``ends`` is that of the request.

    ``name`` and ``workspace`` are those of the request.
    """

    user: SlackUser
    login: str
    ends: int
    name: str = ""
    workspace: str = ""


def acts_as(link: SlackLink | None, now: float) -> str:
    """Return the account that a user of Slack acts as at ``now`` (seconds since 1970); empty for nobody."""
    return link.login if link is not None and now < link.ends + LINK_SECONDS else ""


def code_from(digest: bytes) -> str:
    """Return the code of a digest, as people type it."""
    number, letters = int.from_bytes(digest, "big"), ""
    for _ in range(_LENGTH):
        number, at = divmod(number, len(_LETTERS))
        letters += _LETTERS[at]
    return f"{letters[:4]}-{letters[4:]}"


def is_code(code: str, typed: str) -> bool:
    """Tell whether somebody typed a code. Case and punctuation do not count."""
    return hmac.compare_digest(_letters(code), _letters(typed))


def _letters(text: str) -> str:
    return "".join(each for each in text.upper() if each in _LETTERS)


class InvalidSlackLink(TidegateError):
    """A request to link a user of Slack that is not ours, has expired, was used, or had too many wrong codes."""

    def __init__(self) -> None:
        super().__init__(
            "This link to your Slack account is not valid: it was used, it is older than ten minutes, or the code was "
            f"wrong {MOST_ATTEMPTS} times. Click the button in Slack again to get a new one."
        )


class WrongSlackCode(TidegateError):
    """A typed code that is not the one of the request. ``left`` is how often it may still be typed."""

    def __init__(self, left: int) -> None:
        super().__init__(
            f"This is not the code that Slack shows. Type the newest one ({left} more attempts)."
            if left
            else "This is not the code that Slack shows. Click the button in Slack again to get a new one."
        )
