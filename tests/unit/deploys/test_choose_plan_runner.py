from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_job
from tests.fakes.ports import memory_ports
from tests.instants import utc
from tidegate.deploys.choose_plan_runner import choose_plan_runner
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.plan_runner import Limit, OnFargate, PlanRunner, form_of
from tidegate.deploys.rules.runner_size import RunnerOffer
from tidegate.jobs.start_on_lambda import start_on_lambda
from tidegate.messages import StartOnLambda
from tidegate.roots.rules.root import queue_id

FIRST = any_job()
SECOND = replace(FIRST, id=job_id(FIRST.deployment, JobKind.PLAN, 2))
QUEUE = queue_id(FIRST.repository, FIRST.root.name)


class Scenario:
    def __init__(self, **given):
        self.ports = memory_ports({"TIDEGATE_PLAN_FUNCTION": "3008 MB"}, **given)
        self.jobs, self.runners = self.ports.jobs, self.ports.plan_runners

    def begin(self, job):
        placed = choose_plan_runner(self.ports, job)
        self.jobs.create(placed)
        return placed


@pytest.fixture
def scenario():
    return Scenario()


def test_where_all_plans_run_on_fargate_nothing_is_asked():
    assert choose_plan_runner(memory_ports(), FIRST) is FIRST


def test_a_plan_begins_on_lambda_and_the_same_is_answered_again(scenario):
    placed = scenario.begin(FIRST)
    assert placed == replace(FIRST, runner=PlanRunner.LAMBDA)
    scenario.runners.keep(QUEUE, OnFargate(Limit.TIME, form_of(FIRST, "3008 MB"), NOW, utc("2999-01-01")))
    assert scenario.begin(FIRST) == placed


def test_what_looks_for_drift_runs_on_fargate(scenario):
    drift = replace(FIRST, drift=True)
    assert choose_plan_runner(scenario.ports, drift) is drift


@pytest.mark.parametrize("more", [{"cpu": 2048}, {"memory": 8192}, {"disk": 60}], ids=str)
def test_what_asks_for_a_larger_runner_runs_on_fargate(scenario, more):
    large = replace(FIRST, size=replace(FIRST.size, **more))
    assert choose_plan_runner(scenario.ports, large) is large


def test_a_runner_that_is_usual_in_the_installation_is_not_a_larger_one():
    large = replace(FIRST, size=replace(FIRST.size, cpu=2048, memory=8192))
    assert Scenario(runner_offer=RunnerOffer(large.size)).begin(large).runner is PlanRunner.LAMBDA


def test_a_plan_that_was_too_large_moves_and_the_next_one_of_its_root_begins_on_fargate(scenario):
    scenario.begin(FIRST)
    scenario.jobs.report_limit(FIRST.id, Limit.MEMORY)
    assert scenario.begin(SECOND).note == f"This plan moved from Lambda to Fargate: {Limit.MEMORY}."
    later = scenario.begin(any_job(id="later-plan-1"))
    assert later.runner is PlanRunner.FARGATE
    assert str(Limit.MEMORY) in later.note
    elsewhere = scenario.begin(any_job(id="elsewhere-plan-1", repository="acme/other"))
    assert elsewhere.runner is PlanRunner.LAMBDA


def test_a_plan_that_needs_more_memory_than_lambda_has_gets_more_on_fargate(scenario):
    scenario.begin(FIRST)
    scenario.jobs.report_limit(FIRST.id, Limit.MEMORY)
    assert scenario.begin(SECOND).size.memory == 3072
    assert scenario.begin(SECOND).size.memory == 3072
    assert scenario.begin(any_job(id="later-plan-1")).size.memory == 3072


def test_one_that_needs_more_time_gets_the_usual_runner(scenario):
    scenario.begin(FIRST)
    scenario.jobs.report_limit(FIRST.id, Limit.TIME)
    assert scenario.begin(SECOND).size == SECOND.size


def test_a_pull_request_with_another_engine_leaves_what_is_remembered_of_the_branch(scenario):
    scenario.begin(FIRST)
    scenario.jobs.report_limit(FIRST.id, Limit.MEMORY)
    scenario.begin(SECOND)
    other = replace(FIRST, id="other-plan-1", engine_version="1.0.0")
    scenario.begin(other)
    scenario.jobs.report_limit(other.id, Limit.TIME)
    scenario.begin(replace(other, id="other-plan-2"))
    assert str(Limit.MEMORY) in scenario.begin(any_job(id="later-plan-1")).note
    assert str(Limit.TIME) in scenario.begin(replace(other, id="third-plan-1")).note


def test_a_plan_whose_runner_was_lost_moves_and_nothing_is_remembered(scenario):
    scenario.begin(FIRST)
    assert scenario.begin(SECOND).note == f"This plan moved from Lambda to Fargate: {Limit.ENDED}."
    assert scenario.runners.kept(QUEUE, form_of(SECOND, "3008 MB")) is None


def test_a_plan_that_was_on_fargate_before_is_no_reason_to_stay_there(scenario):
    scenario.jobs.create(FIRST)
    assert scenario.begin(SECOND).runner is PlanRunner.LAMBDA


def test_an_attempt_that_left_no_job_is_none(scenario):
    assert scenario.begin(SECOND).runner is PlanRunner.LAMBDA


def test_a_runner_is_started_as_it_is_asked_for():
    ports = memory_ports()
    start_on_lambda(ports, StartOnLambda(function="arn", job="job", digest="digest", token="token"))
    assert ports.plan_functions.started == [("arn", "job", "digest", "token")]
