"""Common code of the table's adapters: calls, keys, and DynamoDB's errors as domain errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004  # botocore's word.

from tidegate.aws.records import from_item, to_item
from tidegate.rules.errors import CloudUnavailable, Conflict, NotFound, OversizedRecord

#: The index of open work, the attribute that adds an item, and the partition of queues in it.
OPEN_INDEX = "open"
OPEN_QUEUES = "queue"
OPEN_LOCKS = "lock"
OPEN_DEPLOYMENTS = "deployment"
OPEN_ATTENTION = "attention"
OPEN_UPDATES = "updates"

RECORD = "record"
#: Items of one batch read, and how often unprocessed ones are retried.
_BATCH = 100
_BATCH_TRIES = 5

_CONFLICTS = frozenset({"ConditionalCheckFailed", "ConditionalCheckFailedException", "TransactionConflict"})
_CONFLICTING_CALLS = frozenset({"TransactionConflictException", "TransactionInProgressException"})
_PASSING = frozenset(
    {
        "InternalServerError",
        "InternalServerErrorException",
        "LimitExceededException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "ThrottlingError",
        "ThrottlingException",
    }
)
_SERVER_ERROR = 500
#: DynamoDB's limit of keys in bytes: names also come from URLs and forms.
_LONGEST_PK, _LONGEST_SK = 2048, 1024
#: DynamoDB's message for an item over 400 KB, alone or in a transaction. The code alone is ambiguous.
_OVERSIZED = "Item size "


def reasons(error: Any) -> list[str]:
    """Return an error's codes: one for each action of a transaction (``None`` for a valid one)."""
    listed = error.response.get("CancellationReasons")
    return [reason.get("Code", "None") for reason in listed] if listed else [error.response["Error"]["Code"]]


def _messages(error: Any) -> list[str]:
    listed = error.response.get("CancellationReasons") or []
    return [str(each.get("Message", "")) for each in (error.response["Error"], *listed)]


def domain_error(error: Any, what: str) -> Any:
    """Return the domain error for a DynamoDB error, such as Conflict or CloudUnavailable; else the error itself."""
    codes = set(reasons(error))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if codes & (_CONFLICTS | _CONFLICTING_CALLS):
        return Conflict(what)
    if codes & _PASSING or status >= _SERVER_ERROR:
        return CloudUnavailable("DynamoDB", ", ".join(sorted(codes)))
    if "ResourceNotFoundException" in codes:
        return NotFound("table or index", what)
    if any(_OVERSIZED in message for message in _messages(error)):
        return OversizedRecord(what)
    return error


def at_version(version: int) -> dict[str, Any]:
    """Return the condition of a write that an item still has this version: 0 if it does not exist."""
    if not version:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "#version = :version",
        "ExpressionAttributeNames": {"#version": "version"},
        "ExpressionAttributeValues": to_item({":version": version}),
    }


@contextmanager
def refusals_of(what: str) -> Iterator[None]:
    """Raise DynamoDB's errors as domain errors; ``what`` names the item."""
    try:
        yield
    except ClientError as error:
        raise domain_error(error, what) from error
    except (HTTPClientError, ConnectionError) as error:
        raise CloudUnavailable("DynamoDB", type(error).__name__) from error


@dataclass(frozen=True, slots=True)
class Table:
    """The table, through a boto3 client. Items are plain data."""

    client: Any
    name: str

    def get(self, what: str, pk: str, sk: str) -> dict[str, Any] | None:
        """Return an item, read consistently. An invalid key has none."""
        if not (0 < len(pk.encode()) <= _LONGEST_PK and 0 < len(sk.encode()) <= _LONGEST_SK):
            return None
        with refusals_of(what):
            answer = self.client.get_item(TableName=self.name, Key=to_item({"pk": pk, "sk": sk}), ConsistentRead=True)
        return from_item(answer["Item"]) if "Item" in answer else None

    def put(self, what: str, item: Mapping[str, Any], condition: Mapping[str, Any] | None = None) -> None:
        """Write an item. Raise Conflict if the condition is false."""
        with refusals_of(what):
            self.client.put_item(TableName=self.name, Item=to_item(item), **(condition or {}))

    def update(self, what: str, pk: str, sk: str, change: Mapping[str, Any]) -> dict[str, Any]:
        """Change an item and return its previous content. Raise Conflict if the condition is false."""
        with refusals_of(what):
            answer = self.client.update_item(
                TableName=self.name, Key=to_item({"pk": pk, "sk": sk}), ReturnValues="ALL_OLD", **change
            )
        return from_item(answer.get("Attributes", {}))

    def get_many(self, what: str, keys: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        """Return the existing ones of the items, read consistently, unordered; one call for each hundred."""
        for start in range(0, len(keys), _BATCH):
            wanted = [to_item({"pk": pk, "sk": sk}) for pk, sk in keys[start : start + _BATCH]]
            yield from self._batch(what, wanted)

    def _batch(self, what: str, wanted: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for _ in range(_BATCH_TRIES):
            with refusals_of(what):
                answer = self.client.batch_get_item(RequestItems={self.name: {"Keys": wanted, "ConsistentRead": True}})
            yield from map(from_item, answer["Responses"].get(self.name, []))
            wanted = answer.get("UnprocessedKeys", {}).get(self.name, {}).get("Keys", [])
            if not wanted:
                return
        raise CloudUnavailable("DynamoDB", f"{len(wanted)} items were not read")

    def apply(self, what: str, update: Mapping[str, Any]) -> None:
        """Make a prepared update. Raise Conflict if its condition is false."""
        with refusals_of(what):
            self.client.update_item(TableName=self.name, **update)

    def open(self, kind: str, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Return the items of ``kind`` in the index of open work, oldest first; with a limit, those of one call."""
        return self.query(
            "The index of open items",
            limit=limit,
            IndexName=OPEN_INDEX,
            KeyConditionExpression="#open = :open",
            ExpressionAttributeNames={"#open": "open"},
            ExpressionAttributeValues=to_item({":open": kind}),
        )

    def query(self, what: str, *, limit: int | None = None, **query: Any) -> Iterator[dict[str, Any]]:
        """Return the items of a query: with a limit those of one call, otherwise all."""
        extra: dict[str, Any] = {} if limit is None else {"Limit": limit}
        while True:
            with refusals_of(what):
                answer = self.client.query(TableName=self.name, **query, **extra)
            yield from map(from_item, answer["Items"])
            if limit is not None or "LastEvaluatedKey" not in answer:
                return
            extra["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
