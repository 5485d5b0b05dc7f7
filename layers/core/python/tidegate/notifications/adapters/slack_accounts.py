"""Links of Slack's users: items ``slack#APP TEAM`` / the user's id.

Items ``slack#APP TEAM`` / ``ID ENDS`` count how often a code was typed for a request to link a user. Items
``slack#>LOGIN`` / ``APP TEAM ID`` name the users that were ever linked to an account, in lower case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidegate.aws.records import pack, to_item, unpack
from tidegate.aws.table import Table
from tidegate.notifications.rules.slack_account import SlackLink, SlackLinkRequest, SlackUser

_RECORD = "record"


class DynamoSlackAccounts:
    """The port ``SlackAccounts``."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = Table(client, table)

    def link(self, user: SlackUser) -> SlackLink | None:
        item = self._table.get("A link to Slack", _pk(user), user.id)
        return None if item is None else unpack(SlackLink, item[_RECORD])

    def links_of(self, login: str) -> Sequence[SlackLink]:
        items = self._table.query(
            "The links to Slack",
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=to_item({":pk": _account(login)}),
        )
        links = [self.link(unpack(SlackUser, item["user"])) for item in items]
        return [each for each in links if each and each.login.casefold() == login.casefold()]

    def count_attempt(self, request: SlackLinkRequest) -> int:
        change = {
            "UpdateExpression": "SET expires_at = :ends ADD attempts :one",
            "ExpressionAttributeValues": to_item({":ends": request.ends, ":one": 1}),
        }
        before = self._table.update("A link to Slack", _pk(request.user), f"{request.user.id} {request.ends}", change)
        return int(before.get("attempts", 0)) + 1

    def keep(self, link: SlackLink) -> None:
        user = link.user
        if link.login:  # First of all: no user acts for an account that does not know of it.
            named = {"pk": _account(link.login), "sk": f"{user.app} {user.team} {user.id}", "user": pack(user)}
            self._table.put("A link to Slack", named)
        item = {"pk": _pk(link.user), "sk": link.user.id, _RECORD: pack(link), "ends": link.ends}
        condition = {
            "ConditionExpression": "attribute_not_exists(pk) OR ends < :ends",
            "ExpressionAttributeValues": to_item({":ends": link.ends}),
        }
        self._table.put("A link to Slack", item, condition)


def _account(login: str) -> str:
    return f"slack#>{login.casefold()}"


def _pk(user: SlackUser) -> str:
    return f"slack#{user.app} {user.team}"
