"""Deliveries, their queues and the webhook's secrets on an AWS of our own."""

from __future__ import annotations

import json
import uuid

import boto3
import pytest
from moto.server import ThreadedMotoServer

from tests.instants import utc
from tidegate.aws.client import Aws, AwsError
from tidegate.ports import Delivery
from tidegate.rules.errors import NotFound
from tidegate.vcs.adapters.deliveries import (
    REFRESH_SECONDS,
    SECRETS_SECONDS,
    DynamoDeliveries,
    SqsEventQueue,
    StoredWebhookSecrets,
    to_message,
)
from tidegate_cdk.indexes import INDEXES

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-west-1"}
FIELDS = {"repository": "acme/infra", "branch": "🚀 $(x)\udcff", "forced": True}


@pytest.fixture(scope="module")
def environ():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {**KEYS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}
    server.stop()


@pytest.fixture
def aws(environ):
    client = Aws(environ, attempts=1)
    yield client
    client.close()


def boto(environ, service):
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "eu-west-1"}
    return boto3.client(service, endpoint_url=environ["AWS_ENDPOINT_URL"], **keys)


@pytest.fixture
def deliveries(environ, aws):
    table = f"table-{uuid.uuid4().hex}"
    keys = dict.fromkeys(("pk", "sk", "open", "open_since"), "S")
    boto(environ, "dynamodb").create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in keys.items()],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "open",
                "KeySchema": [
                    {"AttributeName": "open", "KeyType": "HASH"},
                    {"AttributeName": "open_since", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(INDEXES["open"][1])},
            }
        ],
    )
    return DynamoDeliveries(aws, table)


def delivery(number: int = 1) -> Delivery:
    return Delivery(f"delivery-{number}", "push", FIELDS, utc(f"2026-03-02T08:00:0{number}"))


def test_a_delivery_is_stored_once_and_read_as_it_was(deliveries):
    assert deliveries.store(delivery())
    assert not deliveries.store(Delivery("delivery-1", "check_run", {}, utc("2026-03-02T09:00")))
    assert deliveries.get("delivery-1") == delivery()


def test_an_unknown_delivery_is_not_found(deliveries):
    for ask in (deliveries.get, deliveries.is_queued):
        with pytest.raises(NotFound):
            ask("delivery-1")


def test_a_delivery_is_unqueued_until_it_is_marked(deliveries):
    for number in (1, 2, 3):
        deliveries.store(delivery(number))
    deliveries.mark_queued("delivery-2")
    deliveries.mark_queued("delivery-2")
    assert [deliveries.is_queued(f"delivery-{number}") for number in (1, 2, 3)] == [False, True, False]
    assert list(deliveries.unqueued(delivery(3).received_at)) == [delivery(1)]
    assert list(deliveries.unqueued(utc("9999-12-31"))) == [delivery(1), delivery(3)]


def test_an_outcome_is_kept_with_the_delivery_and_never_without_one(deliveries):
    deliveries.store(delivery())
    deliveries.conclude("delivery-1", "This push changes no root.")
    assert deliveries.get("delivery-1") == delivery()
    for change in (lambda: deliveries.conclude("delivery-9", "x"), lambda: deliveries.mark_queued("delivery-9")):
        with pytest.raises(NotFound):
            change()


def test_a_message_carries_the_delivery_as_it_is_to_the_queue_of_its_kind(environ, aws):
    sqs = boto(environ, "sqs")
    urls = {
        kind: sqs.create_queue(QueueName=f"{kind}-{uuid.uuid4().hex}")["QueueUrl"] for kind in ("push", "check_run")
    }
    SqsEventQueue(aws, urls).send(delivery())
    (message,) = sqs.receive_message(QueueUrl=urls["push"])["Messages"]
    assert message["Body"] == to_message(delivery())
    assert "Messages" not in sqs.receive_message(QueueUrl=urls["check_run"])


class Store:
    """Secrets Manager with one secret, and a clock."""

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.broken: AwsError | None = None
        self.at = 1000.0
        self.reads = 0

    def call(self, service, operation, payload):
        assert (service, operation, payload) == ("secretsmanager", "GetSecretValue", {"SecretId": "name"})
        self.reads += 1
        if self.broken:
            raise self.broken
        if self.text is None:
            raise AwsError(service, operation, "ResourceNotFoundException", "no such secret", 400)
        return {"SecretString": self.text}

    def secrets(self) -> StoredWebhookSecrets:
        return StoredWebhookSecrets(self, "name", lambda: self.at)


def listed(*secrets: object) -> str:
    return json.dumps({"secrets": secrets})


@pytest.mark.parametrize(
    "text", [None, "", "{}", "[]", "null", "not JSON", '{"secrets": "abc"}', listed(), listed(""), listed(None, 7)]
)
def test_a_missing_or_odd_secret_counts_as_none(text):
    assert Store(text).secrets().current() == ()


def test_all_configured_secrets_are_returned_and_kept_for_some_minutes():
    store = Store(listed("current", "previous"))
    secrets = store.secrets()
    assert secrets.current() == secrets.current() == ("current", "previous")
    assert store.reads == 1
    store.at += SECRETS_SECONDS
    secrets.current()
    assert store.reads == 2


def test_a_refresh_reads_again_but_not_at_once():
    store = Store(listed("previous"))
    secrets = store.secrets()
    secrets.current()
    store.text = listed("current")
    assert secrets.refreshed() == ("previous",)
    store.at += REFRESH_SECONDS
    assert secrets.refreshed() == secrets.refreshed() == ("current",)
    assert store.reads == 2


def test_when_secrets_manager_does_not_answer_the_known_secrets_are_used_on():
    store = Store(listed("current"))
    secrets = store.secrets()
    secrets.current()
    store.broken = AwsError("secretsmanager", "GetSecretValue", "ThrottlingException", "slow down", 400)
    store.at += SECRETS_SECONDS
    assert secrets.current() == ("current",)
    with pytest.raises(AwsError):
        StoredWebhookSecrets(store, "name").current()
