"""The cloud's schedules are those that the default branch's file names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, any_drift_finding, sha
from tests.unit.usecases.drift_world import KNOWN, NIGHTLY, DriftWorld
from tidegate.ports import KnownRepository
from tidegate.rules.errors import CloudUnavailable, ForgeRefused, NotFound

ZONE = NIGHTLY.replace("daily", "daily, window: {start: '01:00', end: '02:00 Antarctica/Troll'}")
WEEKLY = NIGHTLY.replace("daily", "weekly")


@pytest.fixture
def world():
    return DriftWorld()


def test_a_schedule_is_made_once(world):
    assert world.align() == ()
    assert world.align() == ()
    (record,) = world.schedules.entries.values()
    assert world.schedules.writes == 1
    assert (record.repository, record.branch) == (REPOSITORY, "main")
    assert record.entry == world.record().entry
    assert record.entry.timetable.words.startswith("daily at ")


def test_a_repository_without_schedules_costs_one_read(world):
    assert world.align("{}\n") == ()
    assert world.schedules.writes == 0


def test_a_schedule_follows_the_file(world):
    world.align()
    world.align(WEEKLY)
    (record,) = world.schedules.entries.values()
    assert record.entry.timetable.words.startswith("weekly on ")
    assert world.record().entry == record.entry


def test_what_the_cloud_need_not_know_is_only_remembered(world):
    world.align()
    world.align(NIGHTLY.replace("''", "'prod'").replace("daily", "daily, reconcile: true, report: check"))
    entry = world.record().entry
    assert (entry.query, entry.reconcile, entry.report) == ("prod", True, "check")
    assert world.schedules.writes == 1


@pytest.mark.parametrize(
    "text", ["{}\n", NIGHTLY.replace("{schedules", "{enabled: false, schedules"), WEEKLY.replace("nightly", "b")]
)
def test_a_schedule_that_the_file_does_not_name_any_more_goes(world, text):
    world.align()
    world.align(text)
    assert (REPOSITORY, "nightly") not in world.schedules.entries
    with pytest.raises(NotFound):
        world.record()


@pytest.mark.parametrize("refusal", [None, ForgeRefused(403, "no")])
def test_its_issue_is_closed_if_the_forge_lets_us(world, refusal):
    world.align()
    number = world.issues.open_issue(REPOSITORY, "Drift", "text")
    world.put(issue=number, is_reported=True, findings=(any_drift_finding(),), ended_at=NOW)
    world.issues.failures = [refusal] if refusal else []
    world.align("{}\n")
    assert world.issues.opened == ({number} if refusal else set())
    with pytest.raises(NotFound):
        world.record()


def test_an_older_commit_does_not_say_what_a_newer_one_says_differently(world):
    world.align()
    assert world.align("{}\n", replace(KNOWN, seen=sha(1))) == ()
    assert world.record()


def test_a_refused_schedule_is_told_and_tried_again_with_each_push(world):
    (problem,) = world.align(ZONE)
    assert "drift.schedules.nightly: The schedule was refused: there is no such time zone" in problem
    assert world.record().problem
    assert world.align() == (problem,)
    assert world.align(NIGHTLY) == ()
    assert world.record().problem == ""


def test_what_the_cloud_did_not_take_is_done_by_whoever_tries_again(world):
    world.schedules.refusals = 1
    with pytest.raises(CloudUnavailable):
        world.align()
    world.align()
    assert world.record()
    world.schedules.refusals = 1
    with pytest.raises(CloudUnavailable):
        world.align("{}\n")
    world.align("{}\n")
    assert world.schedules.entries == {}


def test_a_schedule_follows_the_default_branch(world):
    world.align()
    moved = KnownRepository(REPOSITORY, "trunk", KNOWN.seen, KNOWN.seen_at)
    world.align(known=moved)
    assert world.record().branch == "trunk"
