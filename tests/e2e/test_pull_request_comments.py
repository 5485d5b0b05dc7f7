"""What people see in a pull request, on the local cloud: a comment that changes in place, and check runs."""

from __future__ import annotations

import pytest

from tests.e2e.modules import thing
from tests.e2e.patience import eventually


@pytest.fixture
def roots(project):
    project.push({name: thing() for name in ("app", "db")})
    return project


def edit(project, roots, **where):
    files = {f"{root}/main.tf": project.backed(root, content) for root, content in roots.items()}
    return project.push_files(files, "Change roots", branch="feature", **where)


def comments(project, number):
    found = project.tidegate.maintainer.comments(project.name, number)
    return [one for one in found if one["user"]["type"] == "Bot"]


def shown(project, number, head):
    """Return the one comment once it shows a head."""

    def look():
        found = comments(project, number)
        return found if found and f"`{head[:7]}`" in found[0]["body"] else None

    try:
        (comment,) = eventually(look, what=f"a comment about {head[:7]}")
    except AssertionError as late:
        late.add_note(project.tidegate.story())
        raise
    return comment


def ended(project, head, name):
    def look():
        runs = project.check_runs(head, name)
        return runs[-1] if runs and runs[-1]["status"] == "completed" else None

    return eventually(look, what=f"the end of {name}")


def test_a_pull_request_shows_its_plans_and_then_those_of_its_next_commit(roots):
    head = edit(roots, {"app": thing("two"), "db": thing("${nothing.of_this_kind}")}, base="main")
    number = roots.tidegate.maintainer.open_pull_request(roots.name, "feature", title="Change")
    first = shown(roots, number, head)
    assert "**2 roots**: 1 failed, 1 with changes (+1 ~0 -0 ±0)." in first["body"]
    assert "Reference to undeclared resource" in first["body"]
    assert '+   resource "terraform_data"' in first["body"]
    assert ended(roots, head, "tidegate/plan")["conclusion"] == "failure"
    assert ended(roots, head, "tidegate/plan: app")["output"]["title"] == "+1 ~0 -0 ±0"
    assert ended(roots, head, "tidegate/plan: db")["conclusion"] == "failure"
    corrected = edit(roots, {"db": thing("three")})
    second = shown(roots, number, corrected)
    assert second["id"] == first["id"]
    assert "**2 roots**: 2 with changes" in second["body"]
    assert ended(roots, corrected, "tidegate/plan")["conclusion"] == "success"


def test_a_pull_request_that_changes_no_root_has_a_green_check_and_no_comment(roots):
    head = roots.push_files({"README.md": "words\n"}, "Say more", branch="feature", base="main")
    number = roots.tidegate.maintainer.open_pull_request(roots.name, "feature", title="Words")
    assert ended(roots, head, "tidegate/plan")["conclusion"] == "success"
    assert comments(roots, number) == []
