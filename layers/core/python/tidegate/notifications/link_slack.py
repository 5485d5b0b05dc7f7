"""Link a user of Slack to an account of the VCS provider, or end that."""

from __future__ import annotations

from dataclasses import replace

from tidegate.notifications.rules.slack_account import (
    MOST_ATTEMPTS,
    InvalidSlackLink,
    SlackLink,
    SlackLinkRequest,
    SlackUser,
    WrongSlackCode,
    is_code,
)
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import Conflict


def open_link(ports: Ports, token: str) -> SlackLinkRequest:
    """Return the request of a link that a user of Slack got. It may have been used. Raise InvalidSlackLink."""
    request = ports.sessions.read_slack_link(token)
    if request is None:
        raise InvalidSlackLink
    return request


def link_slack(ports: Ports, token: str, typed: str, login: str) -> SlackLink:
    """Let the link's user act as ``login`` from now on, if ``typed`` is the code that Slack shows to this user alone.

    Raise WrongSlackCode, or InvalidSlackLink, also after too many attempts.
    """
    request = open_link(ports, token)
    attempt = ports.slack_accounts.count_attempt(request)
    if attempt > MOST_ATTEMPTS:
        raise InvalidSlackLink
    if not is_code(ports.sessions.slack_code(token), typed):
        raise WrongSlackCode(MOST_ATTEMPTS - attempt)
    link = SlackLink(request.user, login, request.ends, request.name, request.workspace)
    try:
        ports.slack_accounts.keep(link)
    except Conflict as error:
        raise InvalidSlackLink from error
    return link


def unlink_slack(ports: Ports, user: SlackUser, login: str) -> bool:
    """Let a user of Slack not act as ``login`` any more. Return False if it did not.

    Links that were used before stay used. Raise Conflict if the user is linked anew again and again.
    """

    def unlink() -> bool:
        link = next((each for each in ports.slack_accounts.links_of(login) if each.user == user), None)
        if link is not None:
            ports.slack_accounts.keep(replace(link, login="", ends=link.ends + 1))
        return link is not None

    return deciding_again(unlink)
