"""Which roots' plans run on Fargate: the items ``runner#OWNER/REPO||ROOT`` / ``record``, which expire."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tidegate.aws.table import RECORD, Table
from tidegate.deploys.rules.plan_runner import Limit, OnFargate


class DynamoPlanRunners:
    """The port ``PlanRunners``."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = Table(client, table)

    def keep(self, queue: str, why: OnFargate) -> None:
        item = {
            "pk": _partition(queue),
            "sk": _sort_key(why.form),
            "limit": why.limit.name,
            "form": why.form,
            "since": why.since,
            "until": why.until,
            "expires_at": int(datetime.fromisoformat(why.until).timestamp()),
        }
        self._table.put(_name(queue), item)

    def kept(self, queue: str, form: str) -> OnFargate | None:
        item = self._table.get(_name(queue), _partition(queue), _sort_key(form))
        return OnFargate(Limit[item["limit"]], item["form"], item["since"], item["until"]) if item else None


def _partition(queue: str) -> str:
    return f"runner#{queue}"


def _sort_key(form: str) -> str:
    return f"{RECORD}#{form}"


def _name(queue: str) -> str:
    return f"Where the plans of {queue} run"
