"""Link a user of Slack to an account of the VCS provider, or end that."""

from __future__ import annotations

from dataclasses import replace

from tidegate.notifications.rules.slack_account import InvalidSlackCode, SlackCode, SlackLink, SlackUser
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import Conflict


def link_slack(ports: Ports, code: SlackCode, login: str) -> None:
    """Let the code's user act as ``login`` from now on. Raise InvalidSlackCode."""
    try:
        ports.slack_accounts.keep(SlackLink(code.user, login, code.ends))
    except Conflict as error:
        raise InvalidSlackCode from error


def unlink_slack(ports: Ports, user: SlackUser, login: str) -> bool:
    """Let a user of Slack not act as ``login`` any more. Return False if it did not.

    Codes that were used before stay used. Raise Conflict if the user is linked anew again and again.
    """

    def unlink() -> bool:
        link = next((each for each in ports.slack_accounts.links_of(login) if each.user == user), None)
        if link is not None:
            ports.slack_accounts.keep(replace(link, login="", ends=link.ends + 1))
        return link is not None

    return deciding_again(unlink)
