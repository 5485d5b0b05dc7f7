"""What a merge would apply waits for what its root requires, and is held against policies once more."""

from __future__ import annotations

import pytest

from tests.e2e.modules import thing
from tests.e2e.pages import post
from tests.e2e.policies import POLICY, SETS, standing
from tests.e2e.project import title, words
from tests.e2e.pulls import Branch, open_pull

pytestmark = pytest.mark.nightly

REQUIRED = "plan_review: never\napply_requirements: {approved: {any_of_count: 1}}\n"
#: The value is that of a file beside the root: no change of it deploys anything by itself.
FROM_FILE = 'resource "terraform_data" "thing" {\n  input = trimspace(file("${path.module}/../shared/value.txt"))\n}\n'


def test_the_plan_of_a_merge_that_policies_refuse_is_not_applied_until_an_owner_approves_it(project):
    files = {
        "tidegate.yaml": "plan_review: never\n" + SETS,
        "policies/main.rego": POLICY,
        "shared/value.txt": "allowed",
    }
    first = project.push({"app": FROM_FILE}, "Begin", **files)
    assert title(project.ended(first, "app")).startswith("Applied")
    more = {"app/more.tf": 'output "more" {\n  value = 1\n}\n'}
    head = project.push_files(more, "Say more", branch="feature", base="main")
    number = project.tidegate.maintainer.open_pull_request(project.name, "feature", title="Change")
    assert title(standing(project, head, "success")) == "Passed"
    project.person("reviewer").review(project.name, number, "APPROVE")

    # The base moves on, and nobody has seen what the merge of both comes to.
    project.push_files({"shared/value.txt": "forbidden"}, "Share another value")
    merged = project.tidegate.maintainer.merge_pull_request(project.name, number)
    waiting = project.wait(merged, "app", "Waiting for apply requirements")
    assert "Policy set `words` refuses this plan by main" in words(waiting)
    assert project.value("app") == "allowed"
    project.click(waiting, "Approve", by="reviewer")
    assert title(project.ended(merged, "app")).startswith("Applied")
    assert project.value("app") == "forbidden"


def test_a_merge_without_its_approval_waits_until_somebody_approves_and_a_push_until_an_operator_overrides(project):
    tidegate, cloud = project.tidegate, project.tidegate.cloud
    first = project.push({"app": thing("one")}, **{"tidegate.yaml": REQUIRED})
    deployment = project.wait(first, "app", "Waiting for apply requirements")["external_id"]
    wish = {"decision": "override", "reason": "There is nobody else yet."}
    gate = f"/api/v1/deployments/{deployment}/gate"
    assert [post(cloud, gate, wish, by=person)[0] for person in ("developer", "reviewer")] == [403, 200]
    assert title(project.ended(first, "app")).startswith("Applied")
    assert tidegate.audited(deployment) == ["OVERRIDDEN", "RUNNING", "SUCCESS"]

    pull, head = open_pull(project, {"app": thing("two")})
    pull.shown(head)
    merged = tidegate.maintainer.merge_pull_request(project.name, pull.number)
    waiting = project.wait(merged, "app", "Waiting for apply requirements")
    assert f"#{pull.number}: 1 approval" in words(waiting)
    talk = Branch(project, pull.number, head)
    assert "0 of 1 root deployed" in talk.reply("waiting for its requirements")
    assert project.value("app") == "one"
    project.click(waiting, "Approve")
    assert title(project.ended(merged, "app")).startswith("Applied")
    assert project.value("app") == "two"
    begun = next(each for each in cloud.audit() if each["deployment"] == waiting["external_id"])
    assert (begun["state"], [each["by"] for each in begun["approved_here"]]) == ("RUNNING", ["reviewer"])
    talk.reply("Everything is deployed")
