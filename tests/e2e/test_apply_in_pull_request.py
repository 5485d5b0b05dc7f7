"""Pull requests that are applied before their merge: nothing is deployed twice, and merges of others wait meanwhile."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.policies import POLICY, SETS, standing
from tests.e2e.project import has_ended, title, words
from tests.e2e.pulls import Branch

IN_PULL_REQUEST = "version: 1\napply: in_pull_request\nmerge_after_apply: true\n"
BY_PEOPLE = """
version: 1
apply: in_pull_request
apply_requirements: {approved: {enabled: false}, undiverged: {enabled: false}}
"""


@pytest.fixture
def branch(project):
    """Return what opens a pull request that changes roots of a project with this file."""

    def opened(file: str, *roots: str, before: tuple[str, ...] = ("app", "db")) -> Branch:
        base = project.push(dict.fromkeys(before, thing("one")), **{"tidegate.yaml": file})
        project.deployed(base, *before)
        content = {f"{root}/main.tf": project.backed(root, thing("two")) for root in roots}
        head = project.push_files(content, branch="feature", base="main")
        number = project.tidegate.maintainer.open_pull_request(project.name, "feature", title="Say two")
        return Branch(project, number, head)

    return opened


def merged(pull):
    """Return the commit that a pull request was merged by, once it is."""

    def look():
        shown = pull.project.tidegate.maintainer.call("GET", f"/repos/{pull.project.name}/pulls/{pull.number}")
        return shown["merge_commit_sha"] if shown["merged"] else None

    try:
        return eventually(look, what=f"pull request {pull.number} merged")
    except AssertionError as late:
        late.add_note(f"{pull.project.tidegate.maintainer.comments(pull.project.name, pull.number)}"[-4000:])
        late.add_note(pull.project.tidegate.story())
        raise


def shown(pull, containing):
    """Wait until the comment that shows the pull request's plans says something."""
    return pull.reply(containing)


def test_an_approved_pull_request_is_applied_merged_and_not_deployed_again(project, branch):
    pull = branch(IN_PULL_REQUEST, "app", before=("app",))
    assert "What happens on apply and on merge" in shown(pull, "comment `tidegate apply`")
    pull.comment("tidegate apply")
    refusal = pull.reply("is not applied**")
    assert "1 approval of the current head" in refusal
    assert project.newest(pull.head, "app") is None

    project.person("reviewer").review(project.name, pull.number, "APPROVE")
    pull.comment("tidegate apply")
    assert "merged with" in words(project.reviewed(pull.head, "app"))
    project.deployed(pull.head, "app")
    assert project.value("app") == "two"

    commit = merged(pull)
    settled = project.wait(commit, "app", has_ended)
    assert (title(settled), settled["conclusion"]) == ("Applied before the merge", "success")
    assert "applied this before its merge" in words(settled)
    assert project.tidegate.executions("terraform", settled["external_id"]) == []
    # Nothing is locked any more.
    later = project.push({"app": thing("three")})
    project.deployed(later, "app")
    assert project.value("app") == "three"


@pytest.mark.nightly
def test_a_branch_that_lacks_commits_of_its_base_is_not_applied(project, branch):
    pull = branch(IN_PULL_REQUEST, "app")
    project.person("reviewer").review(project.name, pull.number, "APPROVE")
    project.push({"db": thing("two")})
    pull.comment("tidegate apply")
    refusal = pull.reply("is not applied**")
    assert "The branch is out of date" in refusal
    assert "approval" not in refusal
    assert project.newest(pull.head, "app") is None


@pytest.mark.nightly
def test_what_is_applied_on_the_merge_result_is_deployed_again_only_where_the_merge_made_something_else(
    project, branch
):
    pull = branch(BY_PEOPLE, "app")
    moved = project.push({"db": thing("two")})
    project.deployed(moved, "db")
    pull.comment("tidegate apply")
    project.approved(pull.head, "app")
    assert title(project.ended(pull.head, "app")).startswith("Applied")
    # Others' merges wait.
    other = project.push_files({"app/more.tf": 'output "more" {\n  value = 1\n}\n'}, "Say more")
    project.wait(other, "app", lambda run: "locked" in words(run))
    commit = project.tidegate.maintainer.merge_pull_request(project.name, pull.number, "squash")
    for sha in (other, commit):
        run = project.wait(sha, "app", lambda run: has_ended(run) or title(run).startswith("Review the plan"))
        if not has_ended(run):
            project.click(run, "Approve")
        project.wait(sha, "app", has_ended)
    assert project.value("app") == "two"
    assert "Applied before the merge" not in title(project.newest(commit, "app"))


@pytest.mark.nightly
def test_closing_an_applied_pull_request_says_that_what_it_applied_stays(project, branch):
    pull = branch(BY_PEOPLE, "app")
    pull.comment("tidegate apply")
    project.approved(pull.head, "app")
    project.ended(pull.head, "app")
    project.tidegate.maintainer.edit_pull_request(project.name, pull.number, state="closed")
    told = pull.reply("Closed without a merge")
    assert "tidegate unlock -p app" in told
    assert f"`app`, from `{pull.head[:7]}`" in told
    undo = project.push_files({"app/more.tf": 'output "more" {\n  value = 1\n}\n'}, "Say more")
    project.wait(undo, "app", lambda run: "locked" in words(run))
    pull.comment("tidegate unlock -p app")
    project.deployed(undo, "app")
    assert project.value("app") == "one"


@pytest.mark.nightly
def test_closing_cancels_what_waits_for_its_review(project, branch):
    pull = branch(BY_PEOPLE, "app", "db")
    pull.comment("tidegate apply -p app")
    project.wait(pull.head, "app", lambda run: title(run).startswith("Review the plan"))
    project.tidegate.maintainer.edit_pull_request(project.name, pull.number, state="closed")
    cancelled = project.wait(pull.head, "app", has_ended)
    assert (title(cancelled), cancelled["conclusion"]) == ("Cancelled: closed without a merge", "cancelled")
    assert f"`app`, from `{pull.head[:7]}`" in pull.reply("so this is not applied any more")
    # Nothing was applied, so nothing is locked.
    later = project.push({"app": thing("three")})
    project.deployed(later, "app")
    assert project.value("app") == "three"


@pytest.mark.nightly
def test_the_plan_that_is_applied_is_held_against_policies_whatever_the_one_that_is_shown_passed(project):
    file = f"{BY_PEOPLE}{SETS}"
    base = project.push({"app": thing("one")}, **{"tidegate.yaml": file, "policies/main.rego": POLICY})
    project.deployed(base, "app")
    more = {"app/more.tf": 'output "more" {\n  value = 1\n}\n'}
    head = project.push_files(more, "Say more", branch="feature", base="main")
    number = project.tidegate.maintainer.open_pull_request(project.name, "feature", title="Say more")
    pull = Branch(project, number, head)
    standing(project, head, "success")
    moved = project.push({"app": thing("forbidden")})
    project.deployed(moved, "app")

    pull.comment("tidegate apply")
    refused = project.wait(head, "app", has_ended)
    assert (title(refused), refused["conclusion"]) == ("Blocked by policy: words", "failure")
    assert "ask its owners, `user:reviewer`, to approve" in words(refused)
    assert "**Denied** (`words`) `terraform_data.thing`" in words(refused)
    project.person("reviewer").review(project.name, number, "APPROVE")
    pull.comment("tidegate apply")
    project.approved(head, "app")
    assert title(project.ended(head, "app")).startswith("Applied")


@pytest.mark.nightly
def test_what_comes_between_an_apply_and_its_review_is_told_and_the_old_head_is_applied(project, branch):
    pull = branch(f"{BY_PEOPLE}merge_after_apply: true\n", "app")
    pull.comment("tidegate apply")
    project.reviewed(pull.head, "app")
    # Asked for twice, it is in line once; a plan of the pull request goes on beside it.
    pull.comment("tidegate apply", by="developer")
    assert f"`app` at `{pull.head[:7]}` is already queued" in pull.reply("is already queued (")
    pull.comment("tidegate plan")
    shown(pull, "`app`: being applied.")

    newer = project.push_files({"app/more.tf": 'output "more" {\n  value = 1\n}\n'}, "Say more", branch="feature")
    shown(pull, f"`{newer[:7]}`")
    project.approved(pull.head, "app")
    assert title(project.ended(pull.head, "app")).startswith("Applied")
    assert project.value("app") == "two"
    assert project.newest(newer, "app") is None
    assert "Comment `tidegate apply -p ROOT`" in shown(pull, "`app`: applied from an earlier commit.")
    pull.comment("tidegate apply")
    project.approved(newer, "app")
    assert merged(pull)
