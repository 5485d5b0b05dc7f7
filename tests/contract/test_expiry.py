"""What DynamoDB deletes by itself, and when: everything but queues and deployments."""

from __future__ import annotations

import pytest

from tests.builders import any_delivery, any_deployment, any_job
from tests.contract.stores import dynamodb_client, dynamodb_stores, new_table
from tidegate.ports import LogChunk

NOW, DAY = 1_000_000, 24 * 3600


@pytest.fixture
def kept():
    """Write one of everything, and return the days for which each item is kept, by its keys."""
    with dynamodb_client() as client:
        table = new_table(client)
        stores = dynamodb_stores(client, table)
        stores.queues.enqueue(any_deployment())
        stores.jobs.create(any_job())
        stores.jobs.close("never-created")
        stores.logs.append("job", LogChunk(0, ("a",)))
        stores.deliveries.store(any_delivery())
        items = client.scan(TableName=table)["Items"]
    return {
        (item["pk"]["S"].partition("#")[0], item["sk"]["S"].partition("#")[0]): (
            (int(item["expires_at"]["N"]) - NOW) / DAY if "expires_at" in item else None
        )
        for item in items
    }


def test_jobs_are_kept_for_90_days_and_lines_of_logs_for_one(kept):
    assert (kept["job", "record"], kept["job", "log"]) == (90, 1)


def test_deployments_and_queues_stay(kept):
    assert [days for (kind, _), days in kept.items() if kind in {"deployment", "queue"}] == [None] * 3


def test_deliveries_are_kept_until_the_forge_has_forgotten_them(kept):
    assert kept["delivery", "record"]
