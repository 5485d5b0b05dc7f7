"""Layers of pull requests as a comment shows them, for tests and to be looked at."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from tests.builders import any_layer, any_plan
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.pull_requests.rules.blocks import LayerView
from tidegate.pull_requests.rules.comment import CommentView
from tidegate.pull_requests.rules.tally import stacks_of

PLAN = """Terraform will perform the following actions:

  # aws_sqs_queue.jobs will be updated in-place
  ~ resource "aws_sqs_queue" "jobs" {
      ~ delay_seconds = 0 -> 5
    }

Plan: 0 to add, 1 to change, 0 to destroy.
"""


def planned(root="network", plan=PLAN, changes=None, cost=None, **fields):
    """Return a layer with a plan that changes something, as it is shown."""
    found = any_plan(changes=changes or PlannedChanges(change=1), cost=cost)
    layer = any_layer(root, state=LayerState.PLANNED, plan=found, job=f"{root}-speculate-1", **fields)
    return LayerView(layer, plan, len(plan.encode()), f"https://tidegate.example/jobs/{quote(root, safe='')}")


def failed(root="network", reason="The configuration is wrong", last_lines="Error: no such resource\n", **fields):
    layer = any_layer(root, state=LayerState.FAILED, reason=reason, last_lines=last_lines, **fields)
    return LayerView(layer, log_url=f"https://tidegate.example/jobs/{quote(root, safe='')}")


def unchanged(root="network", **fields):
    layer = any_layer(root, state=LayerState.NO_CHANGES, plan=any_plan(changes=PlannedChanges()), **fields)
    return LayerView(layer)


def comment_of(*views, stack="default", **fields):
    """Return the view of the comment of one of the stacks that these layers are in."""
    stacks = stacks_of(each.layer for each in views)
    own = [each for each in views if each.layer.stack == stack]
    return replace(CommentView(stack, own, stacks, "main", "https://forge.example/pull/5/checks"), **fields)
