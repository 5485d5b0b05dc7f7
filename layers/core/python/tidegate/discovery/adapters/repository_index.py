"""The repository index: ``repositories`` / NAME, and the indexes of queue heads and deployments.

``roots`` holds the heads of a repository's queues, ``history`` the deployments of a queue and ``recent`` those of a
repository, by the time of the request. The indexes hold only what lists show; none holds task tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tidegate.aws.cursor import cursor, place
from tidegate.aws.records import from_item, pack, to_item, unpack
from tidegate.aws.table import RECORD, Table, refusals_of
from tidegate.deploys.adapters.deployments import deployment_key
from tidegate.deploys.adapters.queues import queue_key
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.summary import DeploymentSummary
from tidegate.ports import HeadsPage, HistoryPage, KnownRepository, RepositoryNames
from tidegate.roots.rules.root import queue_id
from tidegate.rules.errors import Conflict, NotFound
from tidegate.rules.timestamp import timestamp_text

_REPOSITORIES = "repositories"
#: Names sort before repositories, whose names begin with a letter, a digit or an underscore.
_NAMES, _FIRST = "#names#", "0"


class DynamoRepositoryIndex:
    """The port ``Catalog``."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = Table(client, table)

    def remember(self, repository: KnownRepository) -> None:
        item = {**pack(repository), "pk": _REPOSITORIES, "sk": repository.name}
        newest = {
            "ConditionExpression": "attribute_not_exists(pk) OR seen_at <= :seen_at",
            "ExpressionAttributeValues": to_item({":seen_at": timestamp_text(repository.seen_at)}),
        }
        with suppress(Conflict):
            self._table.put(f"The repository {repository.name}", item, newest)

    def repositories(self) -> Sequence[KnownRepository]:
        items = self._table.query(
            "The repositories",
            KeyConditionExpression="pk = :pk AND sk >= :first",
            ExpressionAttributeValues=to_item({":pk": _REPOSITORIES, ":first": _FIRST}),
        )
        return [unpack(KnownRepository, item) for item in items]

    def repository(self, name: str) -> KnownRepository:
        item = self._table.get(f"The repository {name}", _REPOSITORIES, name)
        if item is None:
            raise NotFound("repository", name)
        return unpack(KnownRepository, item)

    def keep_names(self, names: RepositoryNames) -> None:
        item = {**pack(names), "pk": _REPOSITORIES, "sk": f"{_NAMES}{names.repository}"}
        self._table.put(f"The names of {names.repository}", item)

    def names(self) -> Sequence[RepositoryNames]:
        items = self._table.query(
            "The names of repositories",
            KeyConditionExpression="pk = :pk AND begins_with(sk, :names)",
            ExpressionAttributeValues=to_item({":pk": _REPOSITORIES, ":names": _NAMES}),
        )
        return [unpack(RepositoryNames, item) for item in items]

    def roots(self, repository: str) -> Sequence[QueueHead]:
        items = self._table.query(
            f"The roots of {repository}",
            IndexName="roots",
            KeyConditionExpression="home = :home",
            ExpressionAttributeValues=to_item({":home": repository}),
        )
        return [_head(item) for item in items]

    def some_roots(self, repository: str, limit: int, after: str = "") -> HeadsPage:
        # A condition must not compare with an empty text, and the shortest name follows on this one.
        given = {":home": repository, ":after": after or " "}
        with refusals_of(f"The roots of {repository}"):
            answer = self._client.query(
                TableName=self._table.name,
                IndexName="roots",
                KeyConditionExpression="home = :home AND root_name > :after",
                ExpressionAttributeValues=to_item(given),
                Limit=limit,
            )
        heads = tuple(_head(from_item(item)) for item in answer["Items"])
        return HeadsPage(heads, heads[-1].root_name if heads and "LastEvaluatedKey" in answer else None)

    def of_queue(self, queue: str, limit: int, after: str | None = None) -> HistoryPage:
        return self._page("history", "queue", queue, limit, after)

    def of_repository(self, repository: str, limit: int, after: str | None = None) -> HistoryPage:
        return self._page("recent", "repository", repository, limit, after)

    def after(self, history: str, deployment: DeploymentSummary) -> str:
        return cursor(history, deployment.request.at, deployment.id)

    def newer(self, deployment: DeploymentSummary) -> DeploymentSummary | None:
        queue = queue_id(deployment.repository, deployment.root.name)
        start = _start("queue", queue, self.after(queue, deployment))
        answer = self._query("history", "queue", queue, 1, ScanIndexForward=True, ExclusiveStartKey=to_item(start))
        return next((unpack(DeploymentSummary, from_item(item)) for item in answer["Items"]), None)

    def _page(self, index: str, attribute: str, value: str, limit: int, after: str | None) -> HistoryPage:
        """Request one more than the page has, to know whether there is another page."""
        begin = {"ExclusiveStartKey": to_item(_start(attribute, value, after))} if after is not None else {}
        answer = self._query(index, attribute, value, limit + 1, ScanIndexForward=False, **begin)
        shown = [unpack(DeploymentSummary, from_item(item)) for item in answer["Items"][:limit]]
        has_more = len(answer["Items"]) > limit or "LastEvaluatedKey" in answer
        following = self.after(value, shown[-1]) if shown and has_more else None
        return HistoryPage(tuple(shown), following)

    def _query(self, index: str, attribute: str, value: str, limit: int, **how: Any) -> Any:
        with refusals_of(f"The deployments of {value}"):
            return self._client.query(
                TableName=self._table.name,
                IndexName=index,
                KeyConditionExpression="#of = :of",
                ExpressionAttributeNames={"#of": attribute},
                ExpressionAttributeValues=to_item({":of": value}),
                Limit=limit,
                **how,
            )


def _head(item: Mapping[str, Any]) -> QueueHead:
    return unpack(QueueHead, {**item, "queue": item["pk"].removeprefix(queue_key(""))})


def _start(attribute: str, value: str, after: str) -> dict[str, str]:
    requested_at, deployment = place(value, after)
    return {
        attribute: value,
        "requested_at": timestamp_text(requested_at),
        "pk": deployment_key(deployment),
        "sk": RECORD,
    }
