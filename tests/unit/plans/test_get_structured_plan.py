from __future__ import annotations

from hashlib import sha256

from tests.builders import any_artifact, any_plan, stored_rows
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.plans.get_structured_plan import get_structured_plan

CHANGE = {"address": "aws_sqs_queue.a", "change": {"actions": ["create"], "before": None, "after": {"name": "a"}}}


def test_a_plan_is_read_as_rows() -> None:
    scenario = Scenario()
    plan = stored_rows(scenario.artifacts, any_plan(), {"format_version": "1.2", "resource_changes": [CHANGE]})
    found = get_structured_plan(scenario.ports, plan)
    assert found is not None
    assert [row.address for row in found.rows] == ["aws_sqs_queue.a"]


def test_rows_that_are_missing_altered_or_unreadable_are_not_shown() -> None:
    scenario = Scenario()
    assert get_structured_plan(scenario.ports, any_plan()) is None
    gone = any_artifact(key="plans/gone/plan.rows")
    assert get_structured_plan(scenario.ports, any_plan(structured=gone)) is None
    scenario.artifacts.put("plans/x/plan.rows", b"altered")
    altered = any_artifact(key="plans/x/plan.rows")
    assert get_structured_plan(scenario.ports, any_plan(structured=altered)) is None
    unreadable = any_artifact(key="plans/x/plan.rows", sha256=sha256(b"altered").hexdigest())
    assert get_structured_plan(scenario.ports, any_plan(structured=unreadable)) is None
