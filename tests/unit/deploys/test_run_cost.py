"""What the runners of a deployment cost, by its timeline."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import NOW, amended, any_deployment, any_job
from tests.fakes.ports import memory_ports
from tidegate.deploys.rules.plan_runner import PlanRunner
from tidegate.deploys.rules.run_cost import DISK_PRICE, FREE_DISK, PRICES, Prices, run_cost, spent
from tidegate.deploys.rules.runner_size import RunnerNeeds, RunnerOffer
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step
from tidegate.deploys.rules.workflow import RunSettings
from tidegate.insights.cost_of_runners import cost_of_runners
from tidegate_cdk.costs import runner_second

OFFER = RunnerOffer()
LAMBDA = {"TIDEGATE_PLAN_FUNCTION": "2048 MB"}


def went(*steps, **values):
    """Return a deployment that was in these states, each from a second on."""
    history = tuple(Step(state, NOW + timedelta(seconds=second)) for state, second in steps)
    return any_deployment(state=history[-1].state, history=history, plan_job="network-plan-1", **values)


HOURS = went((State.PLANNING, 0), (State.AWAITING_REVIEW, 3600), (State.APPLYING, 9000), (State.APPLIED, 12_600))


@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
def test_an_hour_of_a_default_runner_costs_what_the_page_of_costs_and_the_dashboard_say(architecture):
    found = run_cost(HOURS, RunnerOffer(architecture=architecture))
    assert (found.plan, found.apply) == (3600, 3600)
    assert found.cost == pytest.approx(2 * 3600 * runner_second(architecture) * 1_000_000, abs=1)


def test_a_larger_runner_costs_more():
    large = amended(HOURS, run=RunSettings(runner=RunnerNeeds(cpu=2048, memory=8192, disk=120)))
    assert run_cost(large, OFFER).cost == round(2_000_000 * (2 * 0.03238 + 8 * 0.00356 + 100 * 0.000111))


def test_fargate_charges_a_minute_for_each_runner_at_least():
    quick = went((State.PLANNING, 0), (State.APPROVED, 10), (State.APPLYING, 11), (State.APPLIED, 13))
    assert run_cost(quick, OFFER).cost == pytest.approx(120 * runner_second("arm64") * 1_000_000, abs=1)


def test_what_never_ran_costs_nothing():
    found = run_cost(went((State.QUEUED, 0), (State.SUPERSEDED, 9)), OFFER)
    assert (found.plan, found.apply, found.cost) == (None, None, 0)


def test_a_plan_on_lambda_costs_its_seconds_and_the_apply_those_of_fargate():
    apply = 3600 * runner_second("arm64") * 1_000_000
    assert run_cost(HOURS, OFFER, 2048).cost == pytest.approx(apply + 3600 * 2 * 13.3334, abs=1)
    assert run_cost(went((State.QUEUED, 0), (State.REFUSED, 1)), OFFER, 2048).cost == 0


@pytest.mark.parametrize("runner", list(PlanRunner))
def test_the_plans_job_tells_where_it_ran(runner):
    ports = memory_ports(LAMBDA)
    ports.jobs.create(any_job(id="network-plan-1", runner=runner))
    assert cost_of_runners(ports, HOURS) == run_cost(HOURS, OFFER, 2048 if runner is PlanRunner.LAMBDA else 0)


@pytest.mark.parametrize(("environ", "job"), [(LAMBDA, "gone-plan-1"), (LAMBDA, None), ({}, "network-plan-1")])
def test_without_the_plans_job_or_a_function_for_plans_it_ran_on_fargate(environ, job):
    assert cost_of_runners(memory_ports(environ), amended(HOURS, plan_job=job)) == run_cost(HOURS, OFFER)


def test_prices_are_those_of_the_table():
    table = tomllib.loads(Path("tidegate_cdk/prices.toml").read_text(encoding="utf-8"))
    fargate, on_lambda = table["fargate"], table["plans_on_lambda"]
    assert {
        name: Prices(fargate[name]["vcpu_hour"], fargate[name]["gb_hour"], on_lambda[name]) for name in PRICES
    } == PRICES
    assert (DISK_PRICE, OFFER.usual.disk - FREE_DISK) == (fargate["storage_hour"], fargate["storage_gb"])


def test_times_in_a_state_add_up():
    twice = went((State.PLANNING, 0), (State.GATED, 5), (State.PLANNING, 10), (State.APPROVED, 12))
    assert spent(twice.history, State.PLANNING) == 7
    assert spent(twice.history, State.APPLYING) is None
