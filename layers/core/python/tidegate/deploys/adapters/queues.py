"""The deploy queues: for each root one head, ``queue#ID`` / ``#head``, and the waiting items.

The head sorts before the waiting items, which sort in queue order, so one consistent query with a limit of two returns
the head and the first deployment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tidegate.aws.records import from_item, pack, to_item, unpack
from tidegate.aws.table import OPEN_ATTENTION, OPEN_LOCKS, OPEN_QUEUES, Table, reasons, refusals_of
from tidegate.deploys.adapters.deployments import put_new, record_key, update_saved
from tidegate.deploys.rules.attention import Attention, attention_of, attention_of_locks
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.freeze import FreezeWindows
from tidegate.deploys.rules.queue import QueueHead, Waiting, order, waiting_for
from tidegate.deploys.rules.repository_locks import RepositoryLocks, own, under
from tidegate.deploys.rules.request import Trigger
from tidegate.rules.errors import Conflict, NotFound
from tidegate.rules.timestamp import timestamp_text

HEAD = "#head"
_LINE = "waiting#"
#: The locks of a repository: ``queue#OWNER/REPO`` / ``#locks``.
_LOCKS = "#locks"
#: Its freeze windows.
_FREEZES = "#freezes"
#: A query may see half of a transaction, which completes within milliseconds.
_READS = 5
#: Why a root or a repository needs attention: an item of its own.
_ATTENTION = "#attention"
_CONDITION_FAILED = "ConditionalCheckFailed"


def queue_key(queue: str) -> str:
    """Return the partition key of a queue's items."""
    return f"queue#{queue}"


def _line_key(waiting: Waiting) -> str:
    rank, requested_at, deployment = order(waiting)
    return f"{_LINE}{rank}#{timestamp_text(requested_at)}#{deployment}"


def _key(queue: str, sk: str) -> dict[str, Any]:
    return to_item({"pk": queue_key(queue), "sk": sk})


class DynamoDeployQueues:
    """The port ``DeployQueues``."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = Table(client, table)

    def enqueue(self, deployment: Deployment, seen: QueueHead | None = None) -> bool:
        queue = deployment.queue
        actions = [
            {"Put": put_new(deployment)},
            {"Put": _append_waiting(queue, waiting_for(deployment))},
            {"Update": _lengthen(queue, deployment.request.at, seen)},
        ]
        with refusals_of(f"The queue {queue}"):
            try:
                self._transact(actions)
            except self._client.exceptions.TransactionCanceledException as error:
                if reasons(error)[0] == _CONDITION_FAILED:
                    return False
                raise
        return True

    def read(self, queue: str) -> tuple[QueueHead, Waiting | None]:
        for _ in range(_READS):
            items = self._items(queue, limit=2)
            head = unpack(QueueHead, {"queue": queue} | next((item for item in items if item["sk"] == HEAD), {}))
            first = next((unpack(Waiting, item) for item in items if item["sk"] != HEAD), None)
            if (head.length > 0) == (first is not None):
                return self._under(head, first), first
        raise Conflict(f"The queue {queue}")

    def read_with(self, queue: str, deployment: str) -> tuple[QueueHead, Deployment]:
        keys = [_key(queue, HEAD), record_key(deployment)]
        with refusals_of(f"The queue {queue}"):
            answer = self._client.transact_get_items(
                TransactItems=[{"Get": {"TableName": self._table.name, "Key": key}} for key in keys]
            )
        head, record = (from_item(found.get("Item", {})) for found in answer["Responses"])
        if not record:
            raise NotFound("deployment", deployment)
        return unpack(QueueHead, {"queue": queue} | head), unpack(Deployment, record)

    def line(self, queue: str) -> tuple[QueueHead, Sequence[Waiting]]:
        items = self._items(queue)
        head = unpack(QueueHead, {"queue": queue} | next((item for item in items if item["sk"] == HEAD), {}))
        line = [unpack(Waiting, item) for item in items if item["sk"] != HEAD]
        return self._under(head, next(iter(line), None)), line

    def _under(self, head: QueueHead, first: Waiting | None) -> QueueHead:
        """Return the head with the lock that blocks the first deployment. Most need no further read."""
        if head.lock is not None or first is None or first.trigger is Trigger.MANUAL:
            return head
        return under(head, first, self.locks(head.home))

    def locks(self, repository: str) -> RepositoryLocks:
        return next(
            (unpack(RepositoryLocks, each) for each in self._of(repository, _LOCKS)), RepositoryLocks(repository)
        )

    def freezes(self, repository: str) -> FreezeWindows:
        found = self._of(repository, _FREEZES)
        return next((unpack(FreezeWindows, each) for each in found), FreezeWindows(repository))

    def keep_freezes(self, freezes: FreezeWindows) -> None:
        item = {**pack(freezes), "pk": queue_key(freezes.repository), "sk": _FREEZES}
        self._table.put(f"The freeze windows of {freezes.repository}", item)

    def _of(self, repository: str, sk: str) -> Iterable[dict[str, Any]]:
        return self._table.query(
            f"The item {sk} of {repository}",
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk AND sk = :sk",
            ExpressionAttributeValues=to_item({":pk": queue_key(repository), ":sk": sk}),
        )

    def keep_locks(self, locks: RepositoryLocks) -> RepositoryLocks:
        kept = replace(locks, version=locks.version + 1)
        item = {**pack(kept), "pk": queue_key(locks.repository), "sk": _LOCKS}
        if kept.expires:
            item |= {"open": OPEN_LOCKS, "open_since": locks.repository}
        condition, of_before = _version_is(locks.version)
        names = {"ExpressionAttributeNames": {"#version": "version"}} if locks.version else {}
        values = {"ExpressionAttributeValues": to_item(of_before)} if of_before else {}
        put = {"Item": to_item(item), "ConditionExpression": condition, **names, **values}
        with refusals_of(f"The locks of {locks.repository}"):
            self._transact([{"Put": put}, _show_attention(locks.repository, attention_of_locks(kept))])
        return kept

    def expiring(self) -> Iterable[str]:
        return (item["pk"].removeprefix(queue_key("")) for item in self._table.open(OPEN_LOCKS))

    def many(self, queues: Collection[str]) -> Mapping[str, QueueHead]:
        keys = [(queue_key(queue), HEAD) for queue in sorted(set(queues))]
        found = {item["pk"].removeprefix(queue_key("")): item for item in self._table.get_many("Queues", keys)}
        return {queue: unpack(QueueHead, {"queue": queue} | item) for queue, item in found.items()}

    def waiting(self, queue: str) -> Sequence[Waiting]:
        return [unpack(Waiting, item) for item in self._items(queue) if item["sk"] != HEAD]

    def commit(
        self,
        before: QueueHead,
        after: QueueHead,
        *,
        take: Waiting | None = None,
        put_back: Waiting | None = None,
        deployment: Deployment | None = None,
    ) -> QueueHead:
        length = before.length - (take is not None) + (put_back is not None)
        committed = replace(own(after), version=before.version + 1, length=length)
        actions: list[dict[str, Any]] = [{"Update": _replace_head(before, committed, put_back)}]
        if take:
            actions.append({"Delete": _remove_waiting(before.queue, take)})
        if put_back:
            actions.append({"Put": {**_append_waiting(before.queue, put_back), **_ABSENT}})
        if deployment:
            actions.append({"Update": update_saved(deployment)})
        if attention_of(own(before)) != attention_of(committed):
            actions.append(_show_attention(before.queue, attention_of(committed)))
        with refusals_of(f"The queue {before.queue}"):
            self._transact(actions)
        return committed

    def unfinished(self) -> Iterable[str]:
        return (item["pk"].removeprefix(queue_key("")) for item in self._table.open(OPEN_QUEUES))

    def attention(self, limit: int) -> Sequence[Attention]:
        return [unpack(Attention, item["fields"]) for item in self._table.open(OPEN_ATTENTION, limit)]

    def _items(self, queue: str, limit: int | None = None) -> list[dict[str, Any]]:
        items = self._table.query(
            f"The queue {queue}",
            limit=limit,
            ConsistentRead=True,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=to_item({":pk": queue_key(queue)}),
        )
        return list(items)

    def _transact(self, actions: list[dict[str, Any]]) -> None:
        """Do all actions or none. A single action is written without a transaction, which would cost twice as much."""
        [(kind, first)] = actions[0].items()
        table = self._table.name
        if len(actions) == 1 and kind == "Update":
            self._client.update_item(TableName=table, **first)
            return
        named = [{kind: {"TableName": table, **body}} for action in actions for kind, body in action.items()]
        self._client.transact_write_items(TransactItems=named)


def _show_attention(queue: str, attention: Attention | None) -> dict[str, Any]:
    """Return the action that adds a queue to the index of what needs attention, or takes it out.

    The item is apart from the queue's others, which a reader of the queue reads in order.
    """
    key = {"pk": f"{queue_key(queue)}{_ATTENTION}", "sk": _ATTENTION}
    if attention is None:
        return {"Delete": {"Key": to_item(key)}}
    return {"Put": {"Item": to_item({**key, "open": OPEN_ATTENTION, "open_since": queue, "fields": pack(attention)})}}


_ABSENT = {"ConditionExpression": "attribute_not_exists(pk)"}


def _append_waiting(queue: str, waiting: Waiting) -> dict[str, Any]:
    return {"Item": _key(queue, _line_key(waiting)) | to_item(pack(waiting))}


def _remove_waiting(queue: str, waiting: Waiting) -> dict[str, Any]:
    return {"Key": _key(queue, _line_key(waiting)), "ConditionExpression": "attribute_exists(pk)"}


def _lengthen(queue: str, since: datetime, seen: QueueHead | None) -> dict[str, Any]:
    """Return the head's update for one more deployment. It also adds the head to the index of roots."""
    head = QueueHead(queue)
    condition, of_seen = _unchanged(seen) if seen else (None, {})
    return {
        "Key": _key(queue, HEAD),
        "UpdateExpression": "SET #open = :open, open_since = if_not_exists(open_since, :since), "
        "home = :home, root_name = :root_name ADD #version :one, #length :one",
        "ExpressionAttributeNames": {"#open": "open", "#version": "version", "#length": "length"},
        "ExpressionAttributeValues": to_item(
            {
                ":open": OPEN_QUEUES,
                ":since": timestamp_text(since),
                ":one": 1,
                ":home": head.home,
                ":root_name": head.root_name,
            }
            | of_seen
        ),
        **({"ConditionExpression": condition} if condition else {}),
    }


def _unchanged(before: QueueHead) -> tuple[str, dict[str, Any]]:
    """Return the condition that a head still has this version, and the values in it."""
    return _version_is(before.version)


def _version_is(version: int) -> tuple[str, dict[str, Any]]:
    return ("#version = :before", {":before": version}) if version else ("attribute_not_exists(pk)", {})


def _replace_head(before: QueueHead, after: QueueHead, put_back: Waiting | None) -> dict[str, Any]:
    """Return the update of a head that still has ``before``'s version.

    An update keeps ``open_since`` as enqueue wrote it. A deployment that is put back opens the queue again.
    """
    packed = {name: value for name, value in pack(after).items() if name != "queue"}
    absent = [name for name in QueueHead.__dataclass_fields__ if name not in packed and name != "queue"]
    expires = after.lock is not None and after.lock.expires_at is not None
    if not (after.length or after.in_flight or expires):
        absent += ["open", "open_since"]
    elif expires and after.lock is not None and not (before.length or before.in_flight):
        packed |= {"open": OPEN_QUEUES, "open_since": timestamp_text(after.lock.at)}
    elif put_back:
        packed |= {"open": OPEN_QUEUES, "open_since": timestamp_text(put_back.requested_at)}
    names = {f"#{name}": name for name in [*packed, *absent]}
    values = {f":{name}": value for name, value in packed.items()}
    expression = "SET " + ", ".join(f"#{name} = :{name}" for name in packed)
    if absent:
        expression += " REMOVE " + ", ".join(f"#{name}" for name in absent)
    unchanged, of_before = _unchanged(before)
    return {
        "Key": _key(before.queue, HEAD),
        "UpdateExpression": expression,
        "ConditionExpression": unchanged,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": to_item({**values, **of_before}),
    }
