"""The one-time code: the item ``setup#code`` / ``code``, until it expires."""

from __future__ import annotations

from typing import Any

from tidegate.aws.records import to_item
from tidegate.aws.table import Table
from tidegate.setup.rules.setup_code import SetupCode

_KEY = ("setup#code", "code")
_WHAT = "The setup code"


class DynamoSetupCodes:
    """The port ``SetupCodes``."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = Table(client, table)

    def read(self) -> SetupCode | None:
        item = self._table.get(_WHAT, *_KEY)
        if item is None or "digest" not in item:
            return None
        state = item.get("state_digest", ""), int(item.get("state_ends", 0)), tuple(item.get("options", ()))
        return SetupCode(item["digest"], int(item["expires_at"]), *state)

    def put(self, code: SetupCode) -> None:
        self._table.put(_WHAT, {"pk": _KEY[0], "sk": _KEY[1], "digest": code.digest, "expires_at": code.ends})

    def begin(self, code: SetupCode) -> None:
        values = {
            ":digest": code.digest,
            ":state": code.state_digest,
            ":ends": code.state_ends,
            ":options": list(code.options),
        }
        self._change("SET state_digest = :state, state_ends = :ends, #options = :options", "digest = :digest", values)

    def claim(self, state_digest: str) -> None:
        self._change("REMOVE state_digest, state_ends", "state_digest = :state", {":state": state_digest})

    def remove(self) -> None:
        self._change("REMOVE digest, state_digest, state_ends", "attribute_exists(pk)", {})

    def _change(self, update: str, condition: str, values: dict[str, Any]) -> None:
        names = {"ExpressionAttributeNames": {"#options": "options"}} if "#options" in update else {}
        given = {"ExpressionAttributeValues": to_item(values)} if values else {}
        change = {"UpdateExpression": update, "ConditionExpression": condition, **given, **names}
        self._table.update(_WHAT, *_KEY, change)
