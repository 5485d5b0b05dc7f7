"""What people see in a pull request, on the local cloud: a comment that changes in place, and check runs."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.pulls import Pull, edit, open_pull


@pytest.fixture
def roots(project):
    project.push({name: thing() for name in ("app", "db")})
    return project


def test_a_pull_request_shows_its_plans_and_then_those_of_its_next_commit(roots):
    pull, head = open_pull(roots, {"app": thing("two"), "db": thing("${nothing.of_this_kind}")})
    (first,) = pull.shown(head)
    assert "**2 roots**: 1 failed, 1 with changes (1 to add)." in first["body"]
    assert "Reference to undeclared resource" in first["body"]
    assert '+   resource "terraform_data"' in first["body"]
    assert pull.ended(head)["conclusion"] == "failure"
    assert pull.ended(head, "tidegate/plan: app")["output"]["title"] == "1 to add"
    assert pull.ended(head, "tidegate/plan: db")["conclusion"] == "failure"
    corrected = edit(roots, {"db": thing("three")})
    (second,) = pull.shown(corrected)
    assert second["id"] == first["id"]
    assert "**2 roots**: 2 with changes" in second["body"]
    assert pull.ended(corrected)["conclusion"] == "success"
    # Nothing was applied, nor asked for.
    assert roots.state("app") is None
    assert "tidegate/deploy: app" not in roots.names(corrected)
    eventually(lambda: pull.ending(pull.at_rest(corrected)) == "SUCCEEDED", what="the end of its execution")


@pytest.mark.nightly
def test_a_pull_request_that_changes_no_root_has_a_green_check_and_no_comment(roots):
    head = roots.push_files({"README.md": "words\n"}, "Say more", branch="feature", base="main")
    pull = Pull(roots, roots.tidegate.maintainer.open_pull_request(roots.name, "feature", title="Words"))
    assert pull.ended(head)["conclusion"] == "success"
    assert pull.comments() == []
