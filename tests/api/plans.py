"""Plans with rows, of deployments and of pull requests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.builders import (
    PLAN_TEXT,
    amended,
    any_job,
    any_layer,
    any_plan,
    any_pull_request,
    any_pull_request_record,
    deployment_in,
    stored_rows,
)
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State

CHANGES = json.loads((Path(__file__).parents[1] / "data" / "plans" / "changes.json").read_text())
HOSTILE = '<script>alert(1)</script>"\x1b[31m'


def planned(wires, document=CHANGES, number=1, **fields):
    """Store a deployment that waits for review of this plan; return the deployment."""
    one = deployment_in(State.AWAITING_REVIEW, number, **fields)
    plan = stored_rows(wires.artifacts, replace(one.planned.plan, job=f"{one.id}-plan-1"), document)
    wires.artifacts.put(plan.text.key, PLAN_TEXT)
    wires.jobs.create(any_job(id=plan.job, deployment=one.id))
    return wires.deployed(amended(one, plan=plan, plan_job=plan.job))


def many(count, **values):
    """Return a plan that adds and destroys resources, in turn."""

    def change(number):
        side = {"after": {"name": number, **values}} if number % 2 else {"before": {"name": number, **values}}
        actions = ["create"] if number % 2 else ["delete"]
        address = f"module.m{number % 3}.aws_sqs_queue.q{number}"
        return {"address": address, "module_address": f"module.m{number % 3}", "change": {"actions": actions, **side}}

    return {"format_version": "1.2", "resource_changes": [change(number) for number in range(count)]}


def pull(wires, count):
    """Store a pull request with plans of so many roots; return them."""
    spec = any_pull_request()
    layers = [any_layer(f"root{number}", state=LayerState.PLANNED) for number in range(count)]
    layers = [
        replace(
            each, job=(job := f"{each.id}-speculate-1"), plan=stored_rows(wires.artifacts, any_plan(job=job), CHANGES)
        )
        for each in layers
    ]
    for each in layers:
        wires.jobs.create(any_job(JobKind.SPECULATE, id=each.job, deployment=each.id))
    wires.speculative_plans.create(layers)
    wires.pull_requests.save(any_pull_request_record(spec=spec, layers=tuple(each.id for each in layers)))
    return layers
