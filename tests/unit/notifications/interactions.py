"""Requests of Slack, as it signs and sends them."""

from __future__ import annotations

from tidegate.notifications.rules.slack_account import SlackUser
from tidegate.notifications.rules.slack_interaction import SlackRequest, signature_of

#: The signing secrets of two apps, by the names of their secrets.
SECRETS = {"other": "signing secret of the other app", "slack": "signing secret"}
USER = SlackUser("slack", "T0TEAM", "U0USER")


def payload(action, value="d-1 abc123", **other):
    """Return the payload of a click on a button."""
    return {
        "type": "block_actions",
        "team": {"id": USER.team, "domain": "acme"},
        "user": {"id": USER.id, "username": "reviewer.at.work", "team_id": USER.team},
        "actions": [{"type": "button", "action_id": action, "value": value}],
        "response_url": "https://hooks.slack.com/actions/1",
        "message": {"blocks": []},
        **other,
    }


def request(body, at, app="slack"):
    """Return a request that an app has signed at a time, in seconds since 1970."""
    return SlackRequest(body, str(int(at)), signature_of(SECRETS[app], str(int(at)), body))
