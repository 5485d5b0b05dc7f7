"""A pull request that is pointed at another base branch: planned anew, and approved anew."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.policies import POLICY, SETS, standing
from tests.e2e.pulls import Pull, open_pull
from tidegate.deploys.rules.speculative_plan import LayerState

pytestmark = pytest.mark.nightly

FILE = f"{SETS}destination_branches: [main, release]\n"
ONLY_ON_RELEASE = 'output "of_the_release" {\n  value = 1\n}\n'


def reviews(pull: Pull):
    """Return the reviews of a pull request at the forge, oldest first."""
    project = pull.project
    return project.tidegate.maintainer.call("GET", f"/repos/{project.name}/pulls/{pull.number}/reviews")


def point_at(pull: Pull, base: str) -> None:
    """Point a pull request at another base branch, in a second after that of its newest review.

    Forges tell the seconds of reviews only.
    """
    newest = max(datetime.fromisoformat(each["submitted_at"]).timestamp() for each in reviews(pull))
    eventually(lambda: time.time() >= newest + 1, what="the next second")
    pull.project.tidegate.maintainer.edit_pull_request(pull.project.name, pull.number, base=base)


def shown(pull: Pull, base: str) -> str:
    """Return the one comment once it shows what the merge into a branch would do."""

    def look() -> str | None:
        (comment,) = pull.comments()
        return comment["body"] if f"merged into `{base}` at" in comment["body"] else None

    return eventually(look, what=f"a comment about {base}")


def test_a_pull_request_is_planned_and_approved_anew_for_each_base_branch_that_it_is_pointed_at(project):
    project.push({"app": thing()}, "Begin", **{"tidegate.yaml": FILE, "policies/main.rego": POLICY})
    released = project.push_files({"app/release.tf": ONLY_ON_RELEASE}, "Release", branch="release", base="main")
    reviewer = project.person("reviewer")
    pull, head = open_pull(project, {"app": thing("forbidden")})
    standing(project, head, "failure")
    assert "of_the_release" not in pull.shown(head)[0]["body"]
    reviewer.review(project.name, pull.number, "APPROVE")
    assert standing(project, head, "success")["output"]["title"] == "Approved by reviewer"
    approved = standing(project, head, "success", "tidegate/plan")

    point_at(pull, "release")
    refused = standing(project, head, "failure")
    assert "`reviewer` approved it before its base branch became release" in refused["output"]["summary"]
    assert standing(project, head, "failure", "tidegate/plan")["id"] > approved["id"]
    comment = shown(pull, "release")
    assert f"`{released[:7]}`" in comment
    assert "of_the_release" in comment
    record = pull.at_rest(head)
    assert (record.spec.base, record.spec.base_sha) == ("release", released)
    assert pull.states() == {"app": LayerState.PLANNED}
    eventually(lambda: [each["state"] for each in reviews(pull)] == ["DISMISSED"], what="the approval dismissed")
    reviewer.review(project.name, pull.number, "APPROVE")
    assert standing(project, head, "success")["output"]["title"] == "Approved by reviewer"
    standing(project, head, "success", "tidegate/plan")

    point_at(pull, "main")
    refused = standing(project, head, "failure")
    assert "`reviewer` approved it before its base branch became main" in refused["output"]["summary"]
    standing(project, head, "failure", "tidegate/plan")
    assert "of_the_release" not in shown(pull, "main")
    reviewer.review(project.name, pull.number, "APPROVE")
    standing(project, head, "success")
    standing(project, head, "success", "tidegate/plan")
