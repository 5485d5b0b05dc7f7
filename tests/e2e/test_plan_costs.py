"""What a step states as a plan's cost is in the comment, before policies and on the deployment of the merge."""

from __future__ import annotations

import json

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.policies import standing
from tests.e2e.project import title, words

POLICY = """package main

import rego.v1

deny contains msg if {
  input.cost.difference > 10
  msg := sprintf("%v %s a month is too much.", [input.cost.difference, input.cost.currency])
}
"""
#: Does what Infracost does, at a price of its own.
FILE = """plan_review: never
policy_sets:
  costs: {paths: [policies], owners: ['user:reviewer']}
workflows:
  - tag_query: ''
    plan:
      - type: init
      - type: plan
      - type: run
        cmd: [cp, ../infracost.json, '${TIDEGATE_COST_FILE}']
"""
OUTPUT = {
    "version": "0.2",
    "currency": "USD",
    "projects": [{"diff": {"resources": [{"name": "terraform_data.thing", "monthlyCost": "12.3"}]}}],
    "totalMonthlyCost": "345.1",
    "diffTotalMonthlyCost": "12.3",
}


def test_the_cost_of_a_plan_reaches_people_and_policies_before_and_after_the_merge(project):
    files = {"tidegate.yaml": FILE, "policies/main.rego": POLICY, "infracost.json": json.dumps(OUTPUT)}
    first = project.push({"app": thing()}, "Begin", **files)
    waiting = project.wait(first, "app", "Waiting for apply requirements")
    assert title(waiting).endswith("1 to add; +12.30 USD a month")
    project.click(waiting, "Approve", by="reviewer")
    ended = project.ended(first, "app")
    assert title(ended) == "Applied: 1 to add; +12.30 USD a month"
    assert "| Runners | plan " in words(ended)

    changed = {"app/main.tf": project.backed("app", thing("changed"))}
    head = project.push_files(changed, "Change app", branch="feature", base="main")
    number = project.tidegate.maintainer.open_pull_request(project.name, "feature", title="Change")
    refused = standing(project, head, "failure", "tidegate/policy: costs")
    assert "USD a month is too much" in words(refused)
    (comment,) = eventually(lambda: comments(project, number), what="the comment")
    assert "(1 to change; +12.30 USD a month)" in comment
    assert "| `terraform_data.thing` | +12.30 USD |" in comment


def comments(project, number):
    """Return the comments on a pull request once they have a plan."""
    found = project.tidegate.maintainer.call("GET", f"/repos/{project.name}/issues/{number}/comments")
    return [each["body"] for each in found if "### Plans" in each["body"]]
