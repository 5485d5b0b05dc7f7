"""Roots whose plans run on Fargate: items ``runner#OWNER/REPO||ROOT`` / ``record``, which expire."""

from __future__ import annotations

from typing import Any

from tidegate.aws.table import RECORD, Table
from tidegate.deploys.rules.plan_runner import Limit, OnFargate
from tidegate.rules.timestamp import timestamp_from, timestamp_text


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
            "since": timestamp_text(why.since),
            "until": timestamp_text(why.until),
            "expires_at": int(why.until.timestamp()),
        }
        self._table.put(_name(queue), item)

    def kept(self, queue: str, form: str) -> OnFargate | None:
        item = self._table.get(_name(queue), _partition(queue), _sort_key(form))
        if item is None:
            return None
        since, until = timestamp_from(item["since"]), timestamp_from(item["until"])
        return OnFargate(Limit[item["limit"]], item["form"], since, until)


def _partition(queue: str) -> str:
    return f"runner#{queue}"


def _sort_key(form: str) -> str:
    return f"{RECORD}#{form}"


def _name(queue: str) -> str:
    return f"The plan runner of {queue}"
