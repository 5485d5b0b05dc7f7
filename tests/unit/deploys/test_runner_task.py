from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.instants import utc
from tidegate.deploys.rules.runner_task import GRACE_SECONDS, LIFE_SECONDS, JobStatus, RunnerTask, reason_to_stop

NOW = utc("2026-03-02T09:00")
ARN = "arn:aws:ecs:eu-west-1:123456789012:task/tidegate/1"
AWAITED = JobStatus(ARN, is_dependency=True, changed_at=NOW)


def ago(seconds):
    return NOW - timedelta(seconds=seconds)


def reason(status, *, job="network-plan-1", seconds=600):
    return reason_to_stop(RunnerTask(ARN, job, ago(seconds)), status, NOW)


GIVEN_UP = replace(AWAITED, is_dependency=False, changed_at=ago(GRACE_SECONDS + 1))


@pytest.mark.parametrize("job", ["network-plan-1", "network-speculate-1"])
def test_a_plan_that_nobody_waits_for_is_stopped(job):
    assert job in reason(GIVEN_UP, job=job)


def test_a_plan_of_an_unknown_time_that_nobody_waits_for_is_stopped():
    assert reason(replace(GIVEN_UP, changed_at=None))


@pytest.mark.parametrize(
    "status",
    [AWAITED, replace(AWAITED, taken_by=None), replace(GIVEN_UP, changed_at=ago(GRACE_SECONDS - 1))],
    ids=["is waited for", "is not taken yet", "has just ended, and stores its log"],
)
def test_a_runner_at_work_goes_on(status):
    assert reason(status) == ""


def test_an_apply_goes_on_whoever_waits_for_it():
    assert reason(GIVEN_UP, job="network-apply-1") == ""


@pytest.mark.parametrize("status", [AWAITED, None])
def test_no_runner_goes_on_for_longer_than_any_job_may(status):
    assert "75 minutes" in reason(status, job="network-apply-1", seconds=LIFE_SECONDS + 1)


def test_the_runner_of_a_long_apply_may_go_on_as_long_as_that():
    long = replace(AWAITED, seconds=12 * 3600)
    assert reason(long, job="network-apply-1", seconds=12 * 3600 + 800) == ""
    assert "735 minutes" in reason(long, job="network-apply-1", seconds=12 * 3600 + 901)


def test_a_runner_without_a_job_is_stopped_once_it_can_be_known():
    assert "no longer exists" in reason(None)
    assert reason(None, seconds=GRACE_SECONDS - 1) == ""


def test_a_runner_whose_job_another_task_took_is_stopped():
    assert "Another runner" in reason(replace(AWAITED, taken_by=f"{ARN}2"))
    assert reason(replace(AWAITED, taken_by="a-host-without-a-name-in-ecs")) == ""
