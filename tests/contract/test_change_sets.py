"""What every store of change sets does."""

from __future__ import annotations

from datetime import datetime

import pytest
from botocore.exceptions import ClientError

from tests.builders import NOW
from tests.instants import utc
from tidegate.aws.records import from_item
from tidegate.changes.adapters.change_sets import DynamoChangeSets
from tidegate.ports import Enrolled
from tidegate.rules.errors import CloudUnavailable

LATER = utc("2026-03-02T08:15")


def member(root: str = "app", stack: str = "dev", deployment: str = "app-1", requested_at: datetime = NOW) -> Enrolled:
    return Enrolled(root, stack, deployment, requested_at)


def test_a_change_that_nobody_enrolled_in_has_no_deployments(stores):
    assert list(stores.change_sets.deployments("change")) == []


def test_deployments_are_told_by_stack_and_root(stores):
    every = [member("b", "prod"), member("c/d", "dev"), member("b", "dev"), member("a", "prod")]
    stores.change_sets.enroll("change", every)
    assert list(stores.change_sets.deployments("change")) == [every[2], every[1], every[3], every[0]]


def test_changes_do_not_share_deployments(stores):
    stores.change_sets.enroll("change", [member()])
    assert list(stores.change_sets.deployments("other")) == []


def test_a_newer_deployment_takes_the_place_of_an_older_one_and_never_the_other_way(stores):
    stores.change_sets.enroll("change", [member()])
    stores.change_sets.enroll("change", [member(deployment="app-2", requested_at=LATER)])
    stores.change_sets.enroll("change", [member(), member("db")])
    assert [one.deployment for one in stores.change_sets.deployments("change")] == ["app-2", "app-1"]
    assert [one.root for one in stores.change_sets.deployments("change")] == ["app", "db"]


def test_the_newest_of_one_call_counts(stores):
    again = member(deployment="app-2", requested_at=LATER)
    stores.change_sets.enroll("change", [again, member()])
    assert list(stores.change_sets.deployments("change")) == [again]


def test_the_same_again_changes_nothing_and_what_is_missing_is_added(stores):
    every = [member(f"root-{number:03}") for number in range(120)]
    stores.change_sets.enroll("change", every[::3])
    stores.change_sets.enroll("change", every)
    stores.change_sets.enroll("change", every)
    assert list(stores.change_sets.deployments("change")) == every


def test_enrolling_nobody_is_nothing(stores):
    stores.change_sets.enroll("change", [])
    assert list(stores.change_sets.deployments("change")) == []


def test_members_are_kept_as_long_as_the_jobs_of_their_deployments(client, table):
    DynamoChangeSets(client, table, now=lambda: 1_000_000.0).enroll("change", [member()])
    items = [from_item(item) for item in client.scan(TableName=table)["Items"]]
    assert [item["expires_at"] for item in items] == [1_000_000 + 90 * 24 * 3600]


class Crossed:
    """A client whose transactions another one crosses for some times."""

    def __init__(self, client, times):
        self.client, self.times = client, times

    def __getattr__(self, name):
        return getattr(self.client, name)

    def transact_write_items(self, **call):
        self.times -= 1
        if self.times >= 0:
            answer = {
                "Error": {"Code": "TransactionCanceledException", "Message": ""},
                "CancellationReasons": [{"Code": "TransactionConflict"} for _ in call["TransactItems"]],
            }
            raise ClientError(answer, "TransactWriteItems")
        return self.client.transact_write_items(**call)


def test_what_another_write_crosses_is_written_again_and_not_for_ever(client, table):
    DynamoChangeSets(Crossed(client, 2), table).enroll("change", [member()])
    assert list(DynamoChangeSets(client, table).deployments("change")) == [member()]
    with pytest.raises(CloudUnavailable, match="The change change could not be stored: too many concurrent writers"):
        DynamoChangeSets(Crossed(client, 9), table).enroll("change", [member("db")])
