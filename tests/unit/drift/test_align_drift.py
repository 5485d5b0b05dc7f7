"""The cloud's schedules are those that the default branch's file names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, any_drift_finding, sha
from tests.unit.drift.drift_scenario import KNOWN, NIGHTLY, DriftScenario
from tidegate.ports import KnownRepository
from tidegate.rules.errors import CloudUnavailable, ForgeRefused, NotFound

ZONE = NIGHTLY.replace("daily", "daily, window: {start: '01:00', end: '02:00 Antarctica/Troll'}")
WEEKLY = NIGHTLY.replace("daily", "weekly")


@pytest.fixture
def scenario():
    return DriftScenario()


def test_a_schedule_is_made_once(scenario):
    assert scenario.align() == ()
    assert scenario.align() == ()
    (record,) = scenario.schedules.entries.values()
    assert scenario.schedules.writes == 1
    assert (record.repository, record.branch) == (REPOSITORY, "main")
    assert record.entry == scenario.record().entry
    assert record.entry.timetable.words.startswith("daily at ")


def test_a_repository_without_schedules_costs_one_read(scenario):
    assert scenario.align("{}\n") == ()
    assert scenario.schedules.writes == 0


def test_a_schedule_follows_the_file(scenario):
    scenario.align()
    scenario.align(WEEKLY)
    (record,) = scenario.schedules.entries.values()
    assert record.entry.timetable.words.startswith("weekly on ")
    assert scenario.record().entry == record.entry


def test_what_the_cloud_need_not_know_is_only_remembered(scenario):
    scenario.align()
    scenario.align(NIGHTLY.replace("''", "'prod'").replace("daily", "daily, reconcile: true, report: check"))
    entry = scenario.record().entry
    assert (entry.query, entry.reconcile, entry.report) == ("prod", True, "check")
    assert scenario.schedules.writes == 1


@pytest.mark.parametrize(
    "text", ["{}\n", NIGHTLY.replace("{schedules", "{enabled: false, schedules"), WEEKLY.replace("nightly", "b")]
)
def test_a_schedule_that_the_file_does_not_name_any_more_goes(scenario, text):
    scenario.align()
    scenario.align(text)
    assert (REPOSITORY, "nightly") not in scenario.schedules.entries
    with pytest.raises(NotFound):
        scenario.record()


@pytest.mark.parametrize("refusal", [None, ForgeRefused(403, "no")])
def test_its_issue_is_closed_if_the_forge_lets_us(scenario, refusal):
    scenario.align()
    number = scenario.issues.open_issue(REPOSITORY, "Drift", "text")
    scenario.put(issue=number, is_reported=True, findings=(any_drift_finding(),), ended_at=NOW)
    scenario.issues.failures = [refusal] if refusal else []
    scenario.align("{}\n")
    assert scenario.issues.opened == ({number} if refusal else set())
    with pytest.raises(NotFound):
        scenario.record()


def test_an_older_commit_does_not_say_what_a_newer_one_says_differently(scenario):
    scenario.align()
    assert scenario.align("{}\n", replace(KNOWN, seen=sha(1))) == ()
    assert scenario.record()


def test_a_refused_schedule_is_told_and_tried_again_with_each_push(scenario):
    (problem,) = scenario.align(ZONE)
    assert "drift.schedules.nightly: The schedule was refused: there is no such time zone" in problem
    assert scenario.record().problem
    assert scenario.align() == (problem,)
    assert scenario.align(NIGHTLY) == ()
    assert scenario.record().problem == ""


def test_what_the_cloud_did_not_take_is_done_by_whoever_tries_again(scenario):
    scenario.schedules.refusals = 1
    with pytest.raises(CloudUnavailable):
        scenario.align()
    scenario.align()
    assert scenario.record()
    scenario.schedules.refusals = 1
    with pytest.raises(CloudUnavailable):
        scenario.align("{}\n")
    scenario.align("{}\n")
    assert scenario.schedules.entries == {}


def test_a_schedule_follows_the_default_branch(scenario):
    scenario.align()
    moved = KnownRepository(REPOSITORY, "trunk", KNOWN.seen, KNOWN.seen_at)
    scenario.align(known=moved)
    assert scenario.record().branch == "trunk"
