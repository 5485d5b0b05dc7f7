"""Webhooks whose redelivery was requested: items ``delivery#GUID`` / ``asked``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tidegate.aws.records import pack, unpack
from tidegate.aws.table import Table
from tidegate.ports import Asked
from tidegate.vcs.adapters.deliveries import KEEP_SECONDS

_ASKED = "asked"


class DynamoRedeliveries:
    """The port ``Redeliveries``."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        self._table = Table(client, table)
        self._now = now

    def asked(self, guid: str) -> Asked | None:
        item = self._table.get(f"The delivery {guid}", _key(guid), _ASKED)
        return None if item is None else unpack(Asked, item)

    def remember(self, guid: str, asked: Asked) -> None:
        expires_at = int(self._now()) + KEEP_SECONDS
        item = {**pack(asked), "pk": _key(guid), "sk": _ASKED, "expires_at": expires_at}
        self._table.put(f"The delivery {guid}", item)


def _key(guid: str) -> str:
    return f"delivery#{guid}"
