"""What every store of change sets does."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from botocore.exceptions import ClientError

from tests.builders import NOW
from tests.instants import utc
from tidegate.aws.records import from_item
from tidegate.changes.adapters.change_sets import DynamoChangeSets
from tidegate.changes.rules.wave import Wave, WaveDecision, WaveFailure
from tidegate.ports import Enrolled
from tidegate.rules.errors import CloudUnavailable, Conflict

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


WAVE = Wave("change", "prod", ("a-1",), (WaveFailure("b", "b-1"),), ("b-1",), WaveDecision("operator", NOW, "known"))


def test_a_wave_that_nobody_wrote_is_new(stores):
    assert stores.change_sets.wave("change", "prod") == Wave("change", "prod")
    assert list(stores.change_sets.waves("change")) == []


def test_a_wave_is_read_as_it_was_saved(stores):
    saved = stores.change_sets.save_wave(WAVE)
    assert saved == replace(WAVE, version=1) == stores.change_sets.wave("change", "prod")
    again = stores.change_sets.save_wave(replace(saved, running=(), continued=None))
    assert stores.change_sets.wave("change", "prod") == again == replace(saved, running=(), continued=None, version=2)


def test_waves_of_a_change_are_told_by_stack(stores):
    for change, stack in (("change", "prod"), ("change", "dev"), ("other", "prod")):
        stores.change_sets.save_wave(Wave(change, stack))
    assert [wave.stack for wave in stores.change_sets.waves("change")] == ["dev", "prod"]
    assert list(stores.change_sets.deployments("change")) == []


def test_of_two_that_write_a_wave_one_reads_it_again(stores):
    stores.change_sets.save_wave(WAVE)
    with pytest.raises(Conflict):
        stores.change_sets.save_wave(WAVE)
    saved = stores.change_sets.save_wave(replace(WAVE, version=1))
    with pytest.raises(Conflict):
        stores.change_sets.save_wave(replace(WAVE, version=1))
    assert saved.version == 2


def test_waves_are_kept_as_long_as_the_members(client, table):
    DynamoChangeSets(client, table, now=lambda: 1_000_000.0).save_wave(WAVE)
    items = [from_item(item) for item in client.scan(TableName=table)["Items"]]
    assert [item["expires_at"] for item in items] == [1_000_000 + 90 * 24 * 3600]
