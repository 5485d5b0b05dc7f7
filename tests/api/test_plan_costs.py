"""A plan's cost on pages and in the API: beside the counts, by resource, and summed for a stack of a change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.api.plans import CHANGES, HOSTILE, pull
from tests.builders import REPOSITORY, amended, any_job, any_root, deployment_in, stored_rows
from tidegate.deploys.rules.state import State
from tidegate.plans.rules.cost import PlanCost, ResourceCost, unknown_cost

COST = PlanCost("USD", 34510, 1230, (ResourceCost(f"aws_instance.web[{HOSTILE!r}]", 1230),), more=7, unsupported=2)


def costing(wires, cost, number=1, **fields):
    """Store a deployment of the change c-1 that waits for review of a plan with this cost, and return it."""
    one = deployment_in(State.AWAITING_REVIEW, number, **fields)
    plan = stored_rows(wires.artifacts, replace(one.planned.plan, job=f"{one.id}-plan-1", cost=cost), CHANGES)
    wires.jobs.create(any_job(id=plan.job, deployment=one.id))
    return wires.changed(amended(one, plan=plan, plan_job=plan.job))[0]


def test_a_deployments_page_and_its_plans_page_show_the_cost_by_resource(browser, wires):
    one = costing(wires, COST)
    for url in (f"/deployments/{one.id}", f"/jobs/{one.planned.plan.job}/plan"):
        page = browser.get(url)
        for words in ("Cost: +12.30 USD a month, 345.10 USD in all", "And 7 more", "2 resources have no known price"):
            assert words in page.text
        assert "<script>alert" not in page.body


@pytest.mark.parametrize("cost", [unknown_cost(f"the file {HOSTILE} is not JSON")])
def test_a_cost_that_is_not_known_says_why(browser, wires, cost):
    page = browser.get(f"/deployments/{costing(wires, cost).id}")
    assert "Cost not known: the file" in page.text
    assert "<script>alert" not in page.body


def test_a_pull_requests_page_shows_the_cost_of_each_root_and_the_sum(browser, wires):
    for each in pull(wires, 2):
        wires.speculative_plans.save(replace(each, plan=replace(each.plan, cost=COST)))
    page = browser.get(f"/pulls/{REPOSITORY}/5")
    assert page.text.count("+12.30 USD a month") == 4
    assert "+24.60 USD a month" in page.text


def test_a_changes_page_sums_the_cost_of_a_stack(browser, wires):
    costing(wires, COST)
    costing(wires, replace(COST, difference=70), number=2, root=any_root(name="dns"))
    assert "2 waiting · +13.00 USD a month" in " ".join(browser.get("/changes/c-1").text.split())


def test_the_api_states_amounts_as_decimal_numbers(reviewer, wires):
    one = costing(wires, COST)
    cost = reviewer.get(f"/api/v1/deployments/{one.id}").json["cost"]
    assert (cost["currency"], cost["monthly"], cost["difference"]) == ("USD", "345.10", "12.30")
    assert cost["resources"][0]["difference"] == "12.30"
