from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_job, any_root
from tests.instants import utc
from tidegate.deploys.rules.plan_runner import (
    Limit,
    PlanRunner,
    form_of,
    has_tenant_isolation,
    kept,
    lambda_runner,
    where,
    word_of,
)
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.roots.rules.root import Engine

FORM, BEFORE, AFTER = "form", utc("2026-03-15T00:00"), utc("2026-03-17T00:00")
LEFT = [(limit, f"This plan moved from Lambda to Fargate: {limit}.") for limit in Limit]


def test_a_plan_begins_on_lambda():
    assert where(None, None, NOW).runner is PlanRunner.LAMBDA


@pytest.mark.parametrize(("limit", "note"), LEFT, ids=lambda each: each.name if isinstance(each, Limit) else "")
def test_a_plan_that_came_to_no_end_there_goes_on_on_fargate_and_says_why(limit, note):
    decided = where(limit, None, NOW)
    assert (decided.runner, decided.note) == (PlanRunner.FARGATE, note)


def test_the_next_plans_of_a_root_begin_on_fargate_for_two_weeks():
    remembered = kept(Limit.DISK, FORM, NOW)
    decided = where(None, remembered, BEFORE)
    assert decided.runner is PlanRunner.FARGATE
    assert "since 2026-03-02" in decided.note
    assert "it needs more disk than the Lambda function has" in decided.note
    assert "on Lambda again on 2026-03-16" in decided.note
    assert where(None, remembered, AFTER).runner is PlanRunner.LAMBDA


def test_only_what_the_root_needs_is_remembered():
    assert [limit for limit in Limit if not limit.is_of_the_root] == [Limit.ENDED]


def test_a_form_is_what_decides_how_much_a_plan_needs():
    job, function = any_job(), "3008 MB"
    for other in (
        replace(job, root=any_root(engine=Engine(version="1.2.3"))),
        replace(job, root=any_root(dir="elsewhere")),
        replace(job, engine_version="1.2.3"),
        replace(job, run=RunSettings("prod")),
    ):
        assert form_of(other, function) != form_of(job, function)
    assert form_of(job, "10240 MB") != form_of(job, function)
    assert form_of(replace(job, sha="0" * 40, id="another"), function) == form_of(job, function)


def test_a_runner_on_lambda_is_named_after_its_request():
    assert lambda_runner("request-1") == "lambda:request-1"


def test_regions_without_tenant_isolation_are_known():
    assert [has_tenant_isolation(each) for each in ("eu-west-1", "ap-southeast-6", "us-gov-west-1")] == [
        True,
        False,
        False,
    ]


def test_state_machines_know_runners_by_a_word():
    assert [word_of(each) for each in PlanRunner] == list(PlanRunner)
