"""Links of Slack's users: items ``slack#APP TEAM`` / the user's id."""

from __future__ import annotations

from typing import Any

from tidegate.aws.records import pack, to_item, unpack
from tidegate.aws.table import Table
from tidegate.notifications.rules.slack_account import SlackLink, SlackUser

_RECORD = "record"


class DynamoSlackAccounts:
    """The port ``SlackAccounts``."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = Table(client, table)

    def link(self, user: SlackUser) -> SlackLink | None:
        item = self._table.get("A link to Slack", _pk(user), user.id)
        return None if item is None else unpack(SlackLink, item[_RECORD])

    def keep(self, link: SlackLink) -> None:
        item = {"pk": _pk(link.user), "sk": link.user.id, _RECORD: pack(link), "ends": link.ends}
        condition = {
            "ConditionExpression": "attribute_not_exists(pk) OR ends < :ends",
            "ExpressionAttributeValues": to_item({":ends": link.ends}),
        }
        self._table.put("A link to Slack", item, condition)


def _pk(user: SlackUser) -> str:
    return f"slack#{user.app} {user.team}"
