"""Policies of the default branch hold a pull request up until an owner approves its head."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.policies import POLICY, SETS, standing

#: The value of the resource is that of a stack variable.
BY_FILE = """stacks: {names: {all: {tag_query: '', variables: {value: ONE}}}}
workflows:
  - tag_query: ''
    plan: [{type: init}, {type: plan, extra_args: ['-var=value=${STACK_VAR_VALUE}']}]
"""
VARIABLE = 'variable "value" {}\n\nresource "terraform_data" "thing" {\n  input = var.value\n}\n'


def change(project, value, **where):
    return project.push_files({"app/main.tf": project.backed("app", thing(value))}, "Change app", **where)


def test_a_refused_plan_blocks_until_an_owner_approves_the_head_or_the_code_changes(project):
    project.push({"app": thing()}, "Begin", **{"tidegate.yaml": SETS, "policies/main.rego": POLICY})
    head = change(project, "forbidden", branch="feature", base="main")
    number = project.tidegate.maintainer.open_pull_request(project.name, "feature", title="Change")
    refused = standing(project, head, "failure")
    assert refused["output"]["title"] == "Blocks 1 plan: 1 approval needed"
    assert "**Denied** `terraform_data.thing`" in refused["output"]["text"]
    standing(project, head, "failure", "tidegate/plan")
    project.person("reviewer").review(project.name, number, "APPROVE")
    assert standing(project, head, "success")["output"]["title"] == "Approved by reviewer"
    standing(project, head, "success", "tidegate/plan")
    more = {"app/more.tf": 'output "more" {\n  value = 1\n}\n'}
    again = project.push_files(more, "Say more", branch="feature")
    assert "is no longer the head" in standing(project, again, "failure")["output"]["summary"]
    eventually(lambda: verdicts(project, number) == ["DISMISSED"], what="the approval of the older head dismissed")
    corrected = change(project, "allowed", branch="feature")
    assert standing(project, corrected, "success")["output"]["title"] == "Passed"


@pytest.mark.nightly
def test_a_value_that_only_tidegate_yaml_changes_is_planned_and_refused(project):
    file = SETS + BY_FILE
    files = {"tidegate.yaml": file.replace("ONE", "allowed"), "policies/main.rego": POLICY}
    project.push({"app": VARIABLE}, "Begin", **files)
    wanted = {"tidegate.yaml": file.replace("ONE", "forbidden")}
    head = project.push_files(wanted, "Forbid", branch="feature", base="main")
    project.tidegate.maintainer.open_pull_request(project.name, "feature", title="Forbid")
    assert standing(project, head, "failure")["output"]["title"] == "Blocks 1 plan: 1 approval needed"


def verdicts(project, number):
    """Return the states of a pull request's reviews on the forge, oldest first."""
    found = project.tidegate.maintainer.call("GET", f"/repos/{project.name}/pulls/{number}/reviews")
    return [review["state"] for review in found]
