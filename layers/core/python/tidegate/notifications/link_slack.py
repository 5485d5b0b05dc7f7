"""Link a user of Slack to an account of the VCS provider, or end that."""

from __future__ import annotations

from tidegate.notifications.rules.slack_account import InvalidSlackCode, SlackCode, SlackLink
from tidegate.ports import Ports
from tidegate.rules.errors import Conflict


def link_slack(ports: Ports, code: SlackCode, login: str) -> None:
    """Let the code's user act as ``login`` from now on, or as nobody if that is empty. Raise InvalidSlackCode."""
    try:
        ports.slack_accounts.keep(SlackLink(code.user, login, code.ends))
    except Conflict as error:
        raise InvalidSlackCode from error
