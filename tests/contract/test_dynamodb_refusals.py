"""What DynamoDB's refusals mean to use cases, and what a query in the middle of a transaction sees."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from tests.builders import amended, any_deployment, any_queue
from tests.contract.stores import dynamodb_stores
from tidegate.aws.table import refusals_of
from tidegate.deploys.adapters.queues import DynamoDeployQueues
from tidegate.deploys.rules.queue import waiting_for
from tidegate.rules.errors import CloudUnavailable, Conflict, NotFound, OversizedRecord


def refusal(code: str, status: int = 400, reasons: list[str] | None = None) -> ClientError:
    listed = {"CancellationReasons": [{"Code": reason} for reason in reasons]} if reasons else {}
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}, **listed}
    return ClientError(response, "Operation")


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (refusal("ConditionalCheckFailedException"), Conflict),
        (refusal("TransactionConflictException"), Conflict),
        (refusal("TransactionCanceledException", reasons=["None", "TransactionConflict"]), Conflict),
        (refusal("TransactionCanceledException", reasons=["None", "ThrottlingError"]), CloudUnavailable),
        (refusal("ProvisionedThroughputExceededException"), CloudUnavailable),
        (refusal("Unheard-of", status=503), CloudUnavailable),
        (refusal("ResourceNotFoundException"), NotFound),
        (refusal("AccessDeniedException"), ClientError),
        (EndpointConnectionError(endpoint_url="https://dynamodb"), CloudUnavailable),
    ],
)
def test_a_refusal_is_told_in_the_words_of_the_domain(error, meaning):
    with pytest.raises(meaning), refusals_of("The queue"):
        raise error


def test_an_enqueue_that_meets_another_writer_is_a_conflict(client, table):
    class Busy:
        exceptions = client.exceptions

        def transact_write_items(self, **_):
            response: Any = {
                "Error": {"Code": "TransactionCanceledException"},
                "CancellationReasons": [{"Code": "None"}, {"Code": "None"}, {"Code": "TransactionConflict"}],
            }
            raise client.exceptions.TransactionCanceledException(response, "TransactWriteItems")

    with pytest.raises(Conflict):
        DynamoDeployQueues(Busy(), table).enqueue(any_deployment())


@pytest.mark.parametrize("attribute", ["why", "reason"])
def test_a_record_that_is_too_large_is_refused_in_words(client, table, attribute):
    oversized = amended(any_deployment(), **{attribute: "x" * 410_000})
    with pytest.raises(OversizedRecord, match="exceeds 400 KB"):
        DynamoDeployQueues(client, table).enqueue(oversized)


def test_an_oversized_item_in_a_transaction_is_told_from_others():
    error = refusal("TransactionCanceledException", reasons=["ValidationError"])
    error.response["CancellationReasons"][0]["Message"] = "Item size has exceeded the maximum allowed size"
    with pytest.raises(OversizedRecord), refusals_of("The queue"):
        raise error


class HalfDone:
    """A client whose first queries miss the line, as they may while a transaction is under way."""

    def __init__(self, client: Any, queries: int) -> None:
        self._client, self.queries = client, queries

    def query(self, **query: Any) -> Any:
        answer = self._client.query(**query)
        if self.queries:
            self.queries -= 1
            answer["Items"] = answer["Items"][:1]
        return answer


def test_a_head_without_its_line_is_read_again(client, table):
    dynamodb_stores(client, table).queues.enqueue(any_deployment())
    _, first = DynamoDeployQueues(HalfDone(client, 2), table).read(any_queue())
    assert first == waiting_for(any_deployment())


def test_a_head_that_stays_without_its_line_is_a_conflict(client, table):
    dynamodb_stores(client, table).queues.enqueue(any_deployment())
    with pytest.raises(Conflict):
        DynamoDeployQueues(HalfDone(client, 100), table).read(any_queue())
