"""What a merge would apply is held against policies once more, as it may not be what its pull request showed."""

from __future__ import annotations

import pytest

from tests.e2e.policies import POLICY, SETS, standing
from tests.e2e.project import title, words

pytestmark = pytest.mark.nightly

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
    waiting = project.wait(merged, "app", "Waiting for its requirements")
    assert "Policy set `words` refuses this plan by main" in words(waiting)
    assert project.value("app") == "allowed"
    project.press(waiting, "Approve", by="reviewer")
    assert title(project.ended(merged, "app")).startswith("Applied")
    assert project.value("app") == "forbidden"
