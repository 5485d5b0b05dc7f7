"""``tidegate plan`` in a comment, and a base branch that moves on, on the local cloud with real git and Terraform."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.pulls import Pull, gated, open_pull, planning
from tidegate.deploys.rules.speculative_plan import LayerState

pytestmark = pytest.mark.nightly

ONLY_BY_HAND = """dirs:
  app: {}
  db: {when_modified: {file_patterns: ['**/*.tf'], autoplan: false}}
pull_requests: {allowed_plan_args: ['-target=*']}
plan_review: never
"""


@pytest.fixture
def roots(project):
    project.push({name: thing() for name in ("app", "db")}, **{"tidegate.yaml": ONLY_BY_HAND})
    return project


def comment_with(pull: Pull, words: str) -> str:
    """Return the one comment that Tidegate wrote, once it has these words."""

    def look() -> str | None:
        found = pull.comments()
        return next((one["body"] for one in found if words in one["body"]), None)

    try:
        return eventually(look, what=f"a comment with {words!r}")
    except AssertionError as late:
        late.add_note("\n".join(one["body"] for one in pull.comments()))
        late.add_note(pull.project.tidegate.story())
        raise


def test_a_comment_plans_what_is_not_planned_by_itself_and_with_options_and_all_again(roots):
    pull, head = open_pull(roots, {"app": thing("two"), "db": thing("three")})
    pull.shown(head)
    app = pull.layers()["app"]
    assert "autoplan: false" in pull.comments()[0]["body"]
    assert pull.ended(head)["conclusion"] == "success"

    maintainer = roots.tidegate.maintainer
    maintainer.comment(roots.name, pull.number, "tidegate plan -p db -- -target=terraform_data.thing")
    text = comment_with(pull, "`db` with `-target=terraform_data.thing`")
    assert "**2 roots**: 2 with changes" in text
    assert "The merge does not deploy it." in text
    assert pull.layers()["app"] == app
    assert len(pull.comments()) == 1
    eventually(lambda: pull.ended(head)["conclusion"] == "action_required", what="a check run that asks for all plans")

    maintainer.comment(roots.name, pull.number, "tidegate plan")
    eventually(lambda: pull.layers().get("app", app).id != app.id or None, what="another plan of app")
    pull.at_rest(head)
    assert pull.states() == {"app": LayerState.PLANNED, "db": LayerState.PLANNED}
    eventually(lambda: pull.ended(head)["conclusion"] == "success", what="a check run of all plans")


def test_a_merge_to_the_same_root_makes_the_plan_out_of_date_until_it_is_planned_again(roots):
    pull, head = open_pull(roots, {"app": thing("two")})
    pull.shown(head)
    moved = roots.push_files({"app/more.tf": 'output "more" {\n  value = 1\n}\n'}, "Move on")
    assert moved[:7] in comment_with(pull, "**Out of date:**")
    eventually(
        lambda: pull.ended(head)["output"]["title"].endswith("; older than main"),
        what="a check run that says that its plans are older than main",
    )


def test_running_a_check_again_or_all_of_a_commit_plans_a_pull_request_again(roots):
    pull, head = open_pull(roots, {"app": thing("two")})
    pull.shown(head)
    shown = {pull.layers()["app"].id}

    def planned_anew():
        pull.at_rest(head)
        eventually(lambda: not shown.issuperset({layer.id for layer in pull.layers().values()}), what="another plan")
        pull.at_rest(head)
        shown.add(pull.layers()["app"].id)

    check = pull.ended(head)
    roots.person("developer").rerun(roots.name, check["id"])
    planned_anew()
    eventually(lambda: pull.ended(head)["conclusion"] == "success", what="the check run of the second plan")
    roots.person("developer").rerun_all(roots.name, head)
    planned_anew()
    assert [name for name in roots.names(head) if name.startswith("tidegate/deploy")] == []


def test_a_base_branch_that_moves_while_it_is_planned_is_told_once_all_is_planned(project, gate):
    project.push({name: thing() for name in ("app", "db")}, **{"tidegate.yaml": gated(gate)})
    pull, head = open_pull(project, {"app": thing("two"), "db": thing("two")})
    planning(pull, "db")
    moved = project.push_files({"app/more.tf": 'output "more" {\n  value = 1\n}\n'}, "Move on")
    eventually(lambda: pull.record.base_now == moved, what="the record to know that main moved")
    gate.touch()
    pull.at_rest(head)
    assert moved[:7] in comment_with(pull, "**Out of date:**")
    eventually(lambda: pull.ended(head)["output"]["title"].endswith("; older than main"), what="an older check run")


def test_where_it_is_configured_a_moved_base_branch_has_it_planned_again_by_itself(project):
    file = "pull_requests: {replan_on_base_change: true}\nplan_review: never\n"
    project.push({"app": thing()}, **{"tidegate.yaml": file})
    pull, head = open_pull(project, {"app": thing("two")})
    pull.shown(head)
    moved = project.push_files({"app/more.tf": 'output "more" {\n  value = 1\n}\n'}, "Move on")
    eventually(lambda: project.tidegate.minutes_pass("base-"), what="the wish for another plan")
    project.tidegate.reconcile()
    eventually(lambda: pull.record.spec.base_sha == moved, what="another plan, on what the base branch is now")
    pull.at_rest(head)
    assert "Out of date" not in comment_with(pull, f"merged into `main` at `{moved[:7]}`")
