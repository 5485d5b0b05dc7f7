"""Accounts of Slack, and whom of the VCS provider's accounts they act for."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.rules.errors import TidegateError

#: How long a link holds: who was talked into one, or forgot it, is not acted for forever.
LINK_SECONDS = 90 * 24 * 3600


@dataclass(frozen=True, slots=True)
class SlackUser:
    """A user of a workspace (``team``), as an app of the installation knows them: ``app`` is the name of its secret.

    Who controls one app cannot speak for users of another one.
    """

    app: str
    team: str
    id: str


@dataclass(frozen=True, slots=True)
class SlackCode:
    """A code that a user got for a press, with their name, until ``ends`` in seconds since 1970."""

    user: SlackUser
    name: str
    ends: int


@dataclass(frozen=True, slots=True)
class SlackLink:
    """Lets a user of Slack act as ``login``, or as nobody if that is empty. ``ends`` is that of the code it came by."""

    user: SlackUser
    login: str
    ends: int


def acts_as(link: SlackLink | None, now: float) -> str:
    """Return the account that a user of Slack acts as at ``now`` (seconds since 1970); empty for nobody."""
    return link.login if link is not None and now < link.ends + LINK_SECONDS else ""


class InvalidSlackCode(TidegateError):
    """A code that is not ours, has expired or was used."""

    def __init__(self) -> None:
        super().__init__(
            "This link to your Slack account is not valid: it was used, or it is older than ten minutes. Press the "
            "button in Slack again to get a new one."
        )
