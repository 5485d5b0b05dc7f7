"""Deployments and the check runs that show them: items ``deployment#ID``."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from tidegate.aws.records import pack, to_item, unpack
from tidegate.aws.table import OPEN_DEPLOYMENTS, RECORD, Table
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.needs import Activity, activity
from tidegate.deploys.rules.state import State, is_final
from tidegate.ports import PublishedCheckRun
from tidegate.rules.errors import Conflict, NotFound
from tidegate.rules.timestamp import timestamp_text

#: A state of each activity.
_EXAMPLES = (State.QUEUED, State.AWAITING_REVIEW, State.PLANNING)


def deployment_key(deployment: str) -> str:
    """Return the partition key of a deployment's items."""
    return f"deployment#{deployment}"


def record_key(deployment: str) -> dict[str, Any]:
    """Return the key of a deployment's record."""
    return to_item({"pk": deployment_key(deployment), "sk": RECORD})


def put_new(deployment: Deployment) -> dict[str, Any]:
    """Return the arguments of a put that stores a new record, if there is none with this id."""
    key = {"pk": deployment_key(deployment.id), "sk": RECORD}
    requested_at = timestamp_text(deployment.request.at)
    open_ = {"open": _partition(deployment.state), "open_since": requested_at}
    # The sort key of the list indexes. Values of the record must not contain keys.
    sorted_by = {"queue": deployment.queue, "requested_at": requested_at}
    item = {**pack(deployment), **key, **open_, **sorted_by}
    return {"Item": to_item(item), "ConditionExpression": "attribute_not_exists(pk)"}


def _partition(state: State) -> str:
    """Return where an unpublished deployment stands in the index of open work: by what it does."""
    does = activity(state)
    return OPEN_DEPLOYMENTS if does is Activity.WAITING else f"{OPEN_DEPLOYMENTS} {does.value}"


def next_version(deployment: Deployment) -> Deployment:
    """Return the record as it is stored once it is saved."""
    return replace(deployment, version=deployment.version + 1)


def update_saved(deployment: Deployment) -> dict[str, Any]:
    """Return the arguments of the update for ``Deployments.save``.

    An update keeps attributes that only the table has: whether the end is published. What has not ended is not.
    """
    packed = pack(next_version(deployment))
    absent = [name for name in Deployment.__dataclass_fields__ if name not in packed]
    if not is_final(deployment.state):
        packed["open"] = _partition(deployment.state)
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in packed)
    if absent:
        expression += " REMOVE " + ", ".join(f"#{name}" for name in absent)
    return {
        "Key": record_key(deployment.id),
        "UpdateExpression": expression,
        "ConditionExpression": "#version = :before",
        "ExpressionAttributeNames": {f"#{name}": name for name in [*packed, *absent]},
        "ExpressionAttributeValues": to_item(
            {**{f":{name}": value for name, value in packed.items()}, ":before": deployment.version}
        ),
    }


class DynamoDeployments:
    """The port ``Deployments``."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = Table(client, table)

    def get(self, deployment: str) -> Deployment:
        item = self._table.get(f"The deployment {deployment}", deployment_key(deployment), RECORD)
        if item is None:
            raise NotFound("deployment", deployment)
        return unpack(Deployment, item)

    def save(self, deployment: Deployment) -> Deployment:
        self._table.apply(f"The deployment {deployment.id}", update_saved(deployment))
        return next_version(deployment)

    def many(self, deployments: Collection[str]) -> Mapping[str, Deployment]:
        keys = [(deployment_key(deployment), RECORD) for deployment in sorted(set(deployments))]
        found = [unpack(Deployment, item) for item in self._table.get_many("Deployments", keys)]
        return {deployment.id: deployment for deployment in found}

    def unshown(self) -> Iterable[str]:
        return chain.from_iterable(self._open(_partition(state)) for state in _EXAMPLES)

    def doing(self, does: Activity, limit: int) -> Sequence[str]:
        return list(self._open(next(_partition(state) for state in _EXAMPLES if activity(state) is does), limit))

    def _open(self, partition: str, limit: int | None = None) -> Iterator[str]:
        return (item["pk"].removeprefix(deployment_key("")) for item in self._table.open(partition, limit))

    def shown(self, deployment: str) -> None:
        done = {
            "Key": record_key(deployment),
            "UpdateExpression": "REMOVE #open, open_since",
            "ExpressionAttributeNames": {"#open": "open"},
            "ConditionExpression": "attribute_exists(pk)",
        }
        with suppress(Conflict):  # The deployment does not exist (any more), so there is nothing to publish.
            self._table.apply(f"The deployment {deployment}", done)

    def keep_review_token(self, deployment: str, review: str, token: str, attempt: str = "") -> bool:
        item = {"pk": deployment_key(deployment), "sk": "review", "review": review, "token": token, "attempt": attempt}
        return self._keep_token(f"The review of {deployment}", item)

    def _keep_token(self, what: str, item: dict[str, str]) -> bool:
        not_later = {
            "ConditionExpression": "attribute_not_exists(attempt) OR attempt <= :attempt",
            "ExpressionAttributeValues": to_item({":attempt": item["attempt"]}),
        }
        try:
            self._table.put(what, item, not_later)
        except Conflict:
            return False
        return True

    def review_token(self, deployment: str, review: str) -> str:
        item = self._table.get(f"The review of {deployment}", deployment_key(deployment), "review")
        if item is None or item["review"] != review:
            raise NotFound("review", review)
        return str(item["token"])

    def keep_gate_token(self, deployment: str, gate: str, token: str, attempt: str = "") -> bool:
        item = {"pk": deployment_key(deployment), "sk": "gate", "gate": gate, "token": token, "attempt": attempt}
        return self._keep_token(f"The gate of {deployment}", item)

    def gate_token(self, deployment: str, gate: str) -> str:
        item = self._table.get(f"The gate of {deployment}", deployment_key(deployment), "gate")
        if item is None or item["gate"] != gate:
            raise NotFound("gate", gate)
        return str(item["token"])


#: Check runs of pull requests are kept for as long as their layers are.
_KEPT_SECONDS = 90 * 24 * 3600


class DynamoCheckRuns:
    """The port ``CheckRuns``, in the items of deployments."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = Table(client, table)

    def published(self, deployment: str) -> PublishedCheckRun | None:
        item = self._table.get(f"The check run of {deployment}", self._key(deployment), "check_run")
        return None if item is None else unpack(PublishedCheckRun, item)

    def remember(self, published: PublishedCheckRun) -> None:
        item = {**pack(published), "pk": self._key(published.deployment), "sk": "check_run", **self._lasting()}
        self._table.put(f"The check run of {published.deployment}", item)

    def many(self, deployments: Collection[str]) -> Mapping[str, PublishedCheckRun]:
        keys = [(self._key(deployment), "check_run") for deployment in sorted(set(deployments))]
        found = (unpack(PublishedCheckRun, item) for item in self._table.get_many("Check runs", keys))
        return {published.deployment: published for published in found}

    def _key(self, deployment: str) -> str:
        return deployment_key(deployment)

    def _lasting(self) -> Mapping[str, Any]:
        return {}


class DynamoPullCheckRuns(DynamoCheckRuns):
    """The port ``CheckRuns`` for pull requests, in the items ``shown#KEY``, which expire."""

    def __init__(self, client: Any, table: str, now: Callable[[], float] = time.time) -> None:
        super().__init__(client, table)
        self._now = now

    def _key(self, deployment: str) -> str:
        return f"shown#{deployment}"

    def _lasting(self) -> Mapping[str, Any]:
        return {"expires_at": int(self._now()) + _KEPT_SECONDS}
