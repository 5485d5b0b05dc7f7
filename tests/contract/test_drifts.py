"""What every store of schedules that look for drift does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_drift, any_drift_finding
from tidegate.config.rules.drift import DriftReport, DriftState
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.rules.errors import Conflict, NotFound


@pytest.mark.parametrize("name", ["", "x" * 3000, "\N{GRINNING FACE}" * 300])
def test_no_schedule_has_a_name_that_no_key_can_be(stores, name):
    with pytest.raises(NotFound):
        stores.drifts.get("acme/infra", name)


def test_a_schedule_that_nobody_saved_is_not_found(stores):
    with pytest.raises(NotFound, match="nightly"):
        stores.drifts.get("acme/infra", "nightly")


def test_a_record_is_read_as_it_was_saved(stores):
    finding = any_drift_finding(changes=PlannedChanges(change=1), job="j", deployment="d", shared=True)
    failed = any_drift_finding("db", state=DriftState.FAILED, drifted_since=None, reason="It broke.")
    record = any_drift(
        "Ü & #1",
        entry=replace(any_drift("Ü & #1").entry, reconcile=True, report=DriftReport.CHECK),
        problem="No such zone.",
        execution="e",
        layers=("a", "b"),
        former=("c",),
        findings=(finding, failed),
        notice="Why.",
        issue=7,
        is_reported=True,
    )
    saved = stores.drifts.save(record)
    assert saved == replace(record, version=1)
    assert stores.drifts.get("acme/infra", "Ü & #1") == saved


def test_whoever_read_an_older_version_does_not_write_over_a_newer_one(stores):
    first = stores.drifts.save(any_drift())
    stores.drifts.save(replace(first, notice="newer"))
    for older in (first, any_drift(), replace(first, version=9)):
        with pytest.raises(Conflict):
            stores.drifts.save(older)
    assert stores.drifts.get("acme/infra", "nightly").notice == "newer"


def test_what_was_never_saved_has_no_version_to_be_saved_at(stores):
    with pytest.raises(Conflict):
        stores.drifts.save(any_drift(version=1))


def test_schedules_are_listed_by_repository_and_name(stores):
    nightly, hourly = stores.drifts.save(any_drift()), stores.drifts.save(any_drift("hourly"))
    other = stores.drifts.save(any_drift(repository="acme/infra-2"))
    assert list(stores.drifts.of("acme/infra")) == [hourly, nightly]
    assert list(stores.drifts.of("acme/nothing")) == []
    listed = sorted(stores.drifts.listed())
    assert listed == [("acme/infra", "hourly"), ("acme/infra", "nightly"), ("acme/infra-2", "nightly")]
    assert list(stores.drifts.many([*listed, ("acme/infra", "gone"), listed[0]])) == [hourly, nightly, other]


def test_what_is_removed_is_gone_and_may_be_made_anew(stores):
    stores.drifts.save(any_drift())
    stores.drifts.remove("acme/infra", "nightly")
    stores.drifts.remove("acme/infra", "nightly")
    assert list(stores.drifts.listed()) == []
    assert stores.drifts.save(any_drift()).version == 1
