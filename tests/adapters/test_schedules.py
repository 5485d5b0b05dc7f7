"""Schedules as EventBridge Scheduler keeps them, and what the event bus hears of drift."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from moto import mock_aws

from tests.adapters.refusals import Refuses
from tests.builders import NOW, REPOSITORY, any_drift, any_drift_finding, sha
from tidegate.aws.boto import client
from tidegate.config.rules.drift import DriftState
from tidegate.config.rules.timetable import Interval, timetable
from tidegate.drift.adapters.drift_events import AwsDriftEvents
from tidegate.drift.adapters.scheduler import SchedulerSchedules
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.roots.rules.root import schedule_name
from tidegate.rules.errors import CloudUnavailable, ScheduleRefused
from tidegate.rules.timestamp import timestamp_text

ARNS = ("arn:aws:states:machine", "arn:aws:iam::123456789012:role/scheduler", "arn:aws:sqs:undelivered")
NAME = schedule_name(REPOSITORY, "nightly")


@pytest.fixture
def aws(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield


@pytest.fixture
def scheduler(aws):
    made = client("scheduler")
    made.create_schedule_group(Name="tidegate")
    return made


@pytest.fixture
def schedules(scheduler):
    return SchedulerSchedules(scheduler, "tidegate", *ARNS)


def test_a_schedule_starts_a_run_and_tells_what_it_is_about(scheduler, schedules):
    schedules.put(any_drift())
    made = scheduler.get_schedule(GroupName="tidegate", Name=NAME)
    target = made["Target"]
    assert (target["Arn"], target["RoleArn"], target["DeadLetterConfig"]["Arn"]) == ARNS
    assert json.loads(target["Input"]) == {"repository": REPOSITORY, "schedule": "nightly"}
    assert (made["ScheduleExpression"], made["ScheduleExpressionTimezone"], made["State"]) == (
        any_drift().entry.timetable.expression,
        "UTC",
        "ENABLED",
    )


def test_a_schedule_is_replaced_and_removed_as_often_as_one_likes(scheduler, schedules):
    schedules.put(any_drift())
    hourly = replace(any_drift().entry, timetable=timetable("x", Interval.HOURLY))
    schedules.put(any_drift(entry=hourly))
    made = scheduler.get_schedule(GroupName="tidegate", Name=NAME)
    assert made["ScheduleExpression"] == hourly.timetable.expression
    schedules.remove(REPOSITORY, "nightly")
    schedules.remove(REPOSITORY, "nightly")
    assert scheduler.list_schedules(GroupName="tidegate")["Schedules"] == []


def test_a_schedule_that_the_cloud_refuses_says_why():
    schedules = SchedulerSchedules(Refuses("ValidationException"), "tidegate", *ARNS)
    with pytest.raises(ScheduleRefused, match=r"The schedule was refused: no\. Correct it"):
        schedules.put(any_drift())


def test_what_is_throttled_is_tried_again_by_whoever_asked():
    schedules = SchedulerSchedules(Refuses("ThrottlingException"), "tidegate", *ARNS)
    for ask in (lambda: schedules.put(any_drift()), lambda: schedules.remove(REPOSITORY, "nightly")):
        with pytest.raises(CloudUnavailable):
            ask()


def test_names_of_schedules_are_legal_whatever_they_are_called():
    assert len(schedule_name("o/" + "r" * 100, "Ü " * 100)) <= 64
    assert schedule_name("a/b", "c") != schedule_name("a/b", "d")


class Bus:
    """A client that keeps what it is given, and answers with a number of entries that failed."""

    def __init__(self, failed=0):
        self.failed, self.entries = failed, []

    def put_events(self, Entries):  # boto3's word.
        self.entries += Entries
        return {"FailedEntryCount": self.failed, "Entries": [{"ErrorCode": "Full"}]}


def test_the_bus_hears_what_drifted():
    bus = Bus()
    quiet = any_drift_finding("db", state=DriftState.NONE, drifted_since=None)
    drifted = any_drift_finding(changes=PlannedChanges(change=1), deployment="d")
    AwsDriftEvents(bus, "tidegate").looked_for(any_drift(findings=(drifted, quiet), sha=sha(1), ended_at=NOW))
    (entry,) = bus.entries
    assert (entry["EventBusName"], entry["Source"], entry["DetailType"]) == ("tidegate", "tidegate", "Drift")
    detail = json.loads(entry["Detail"])
    assert (detail["repository"], detail["schedule"], detail["revision"]) == (REPOSITORY, "nightly", sha(1))
    assert (detail["drifted"], detail["failed"], detail["skipped"], detail["none"]) == (1, 0, 0, 1)
    (root,) = detail["roots"]
    assert (root["root"], root["state"], root["deployment"]) == ("network", "drifted", "d")
    assert root["drifted_since"] == timestamp_text(NOW)
    assert root["changes"]["change"] == 1


def test_an_event_of_very_many_roots_fits_on_the_bus():
    bus = Bus()
    findings = tuple(any_drift_finding(f"{'r' * 90}-{number}", reason="y" * 300) for number in range(400))
    AwsDriftEvents(bus, "tidegate").looked_for(any_drift(findings=findings))
    assert len(bus.entries[0]["Detail"]) < 256_000
    assert json.loads(bus.entries[0]["Detail"])["drifted"] == 400


@pytest.mark.parametrize("bus", [Bus(failed=1), Refuses("ThrottlingException"), Refuses("no connection")])
def test_a_bus_that_takes_nothing_holds_nothing_up(bus, caplog):
    AwsDriftEvents(bus, "tidegate").looked_for(any_drift())
