"""Signed-out sessions: items ``session#ID`` / ``ended``, until they would have expired."""

from __future__ import annotations

from typing import Any

from tidegate.aws.table import Table

_ENDED = "ended"


class DynamoSignOuts:
    """The port ``SignOuts``."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = Table(client, table)

    def end(self, session: str, expires_at: int) -> None:
        self._table.put("A session", {"pk": _key(session), "sk": _ENDED, "expires_at": expires_at})

    def is_ended(self, session: str) -> bool:
        return self._table.get("A session", _key(session), _ENDED) is not None


def _key(session: str) -> str:
    return f"session#{session}"
