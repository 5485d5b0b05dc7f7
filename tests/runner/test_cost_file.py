"""What a step states as a plan's cost: it reaches the plan, and no file makes the plan fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter

from tests.runner.conftest import Bench
from tests.runner.scripted_steps import INIT, PLAN, Steps, env_step, run_step
from tests.runner.speculation import DEFAULT_PLAN, planned, resource
from tidegate.deploys.rules.workflow import RunSettings, StepKind, WorkflowStep
from tidegate.messages import CountedPlan
from tidegate.plans.rules.cost import PlanCost, ResourceCost
from tidegate.plans.rules.infracost import LARGEST
from tidegate.plans.rules.plan import Plan

OUTPUT = json.dumps(
    {
        "version": "0.2",
        "currency": "USD",
        "projects": [{"diff": {"resources": [{"name": 'terraform_data.network["hunter2"]', "monthlyCost": "12.3"}]}}],
        "totalMonthlyCost": "345.1",
        "diffTotalMonthlyCost": "12.3",
    }
)
#: Does what Infracost does: reads the plan's JSON and writes its own.
INFRACOST = "grep -q format_version $TIDEGATE_PLAN_JSON && cat > $TIDEGATE_COST_FILE <<'END'\n" + OUTPUT + "\nEND"


def cost_of(result: Mapping[str, Any]) -> PlanCost | None:
    """Return the cost as the state machine's task reads it from a runner's result."""
    plan: Plan = TypeAdapter(CountedPlan).validate_python(result)
    return plan.cost


def stated(steps: Steps) -> PlanCost | None:
    return cost_of(steps.succeeded())


def test_the_cost_that_a_step_states_is_part_of_the_plan_without_its_secrets(steps: Steps) -> None:
    steps.plan(env_step("KEY", "echo hunter2", sensitive=True), INIT, PLAN, run_step(INFRACOST))
    assert stated(steps) == PlanCost("USD", 34510, 1230, (ResourceCost('terraform_data.network["(masked)"]', 1230),))


def test_a_plan_without_such_a_step_has_no_cost(steps: Steps) -> None:
    steps.plan(INIT, PLAN, run_step("echo done"))
    assert stated(steps) is None


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("true $TIDEGATE_COST_FILE", "no step has written the file"),
        ("exit 1; cat $TIDEGATE_COST_FILE", "no step has written the file"),
        ("echo '<html>' > $TIDEGATE_COST_FILE", "the file is not JSON"),
        ("ln -s /proc/self/environ $TIDEGATE_COST_FILE", "the file cannot be read: Too many levels of symbolic links"),
        ("mkdir $TIDEGATE_COST_FILE", "the file is not a regular file"),
        ("mkfifo $TIDEGATE_COST_FILE", "the file is not a regular file"),
        (f"truncate -s {LARGEST + 1} $TIDEGATE_COST_FILE", "the file is larger than 16 MB"),
    ],
)
def test_a_file_that_states_no_cost_says_why_and_fails_nothing(steps: Steps, script: str, why: str) -> None:
    steps.plan(INIT, PLAN, run_step(script, ignore_errors=True))
    cost = stated(steps)
    assert cost is not None
    assert cost.problem == why


def test_nothing_can_state_a_cost_before_the_plan_is_made(steps: Steps) -> None:
    steps.plan(INIT, run_step("set -u; echo $TIDEGATE_COST_FILE"), PLAN)
    steps.failed("TerraformClientError", "failed with exit code")


def test_a_pull_requests_plan_has_a_cost_too(bench: Bench) -> None:
    head, base = bench.forge.pull_request(
        common={"network/main.tf": bench.backend() + resource("network")},
        head={"network/more.tf": resource("more")},
        base={},
    )
    tool = WorkflowStep(StepKind.RUN, command=("sh", "-c", INFRACOST.replace("$", "$$")))
    cost = cost_of(planned(bench, head, base_sha=base, run=RunSettings(plan=(*DEFAULT_PLAN, tool))))
    assert cost is not None
    assert cost.difference == 1230
