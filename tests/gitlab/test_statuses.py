"""Statuses of commits: GitLab's states, transitions and refusals."""

from __future__ import annotations

import pytest

from tests.gitlab.conftest import IN, PROJECT

NAME = "tidegate/deploy: network"
TOO_LONG = "is too long (maximum is 255 characters)"
BLOCKED = "is blocked: Only allowed schemes are http, https"


@pytest.fixture
def status(api, sha):
    """Set the status of the commit, as the product."""
    return lambda state, **fields: api.call("POST", f"{IN}/statuses/{sha}", {"state": state, "name": NAME, **fields})


@pytest.fixture
def refused(api, sha):
    """Set the status of the commit in vain, and return what GitLab says."""

    def ask(state, commit=sha, **fields):
        body = {"state": state, "name": NAME, **fields}
        code, _, answer = api.ask("POST", f"{IN}/statuses/{commit}", body, token="maintainer")
        return code, answer

    return ask


def listed(api, sha, query=""):
    return [(one["name"], one["status"]) for one in api.call("GET", f"{IN}/repository/commits/{sha}/statuses{query}")]


def test_a_status_is_changed_until_it_ends(api, sha, status):
    first = status("pending", description="Waits", target_url="https://example.com/1")
    again = status("running")
    last = status("success", description="Applied")
    assert {one["id"] for one in (first, again, last)} == {first["id"]}
    assert (last["description"], last["target_url"]) == ("Applied", "https://example.com/1")
    assert last["started_at"]
    assert last["finished_at"]
    assert last["author"]["username"] == "tidegate-bot"
    assert listed(api, sha) == [(NAME, "success")]


def test_after_its_end_a_status_of_the_same_name_is_a_new_one(api, sha, status):
    first, second = status("failed"), status("running")
    assert first["id"] != second["id"]
    assert first["pipeline_id"] == second["pipeline_id"]
    assert listed(api, sha) == [(NAME, "running")]
    assert listed(api, sha, "?all=true") == [(NAME, "failed"), (NAME, "running")]


@pytest.mark.parametrize(
    ("before", "after", "event"),
    [("pending", "pending", "enqueue"), ("running", "pending", "enqueue"), ("running", "running", "run")],
)
def test_a_state_that_does_not_follow_is_refused_and_changes_nothing(api, sha, gitlab, *, before, after, event):
    def ask(state, **fields):
        body = {"state": state, "name": NAME, **fields}
        return api.ask("POST", f"{IN}/statuses/{sha}", body, token=gitlab.bot_token)

    assert ask(before, description="First")[0] == 201
    code, _, answer = ask(after, description="Second")
    said = f'Cannot transition status via :{event} from :{before} (Reason(s): Status cannot transition via "{event}")'
    assert (code, answer) == (400, {"message": said})
    (one,) = api.call("GET", f"{IN}/repository/commits/{sha}/statuses")
    assert (one["status"], one["description"]) == (before, "First")


def test_skipping_what_runs_is_refused(api, sha, status, gitlab):
    status("running")
    body = {"state": "skipped", "name": NAME}
    assert api.ask("POST", f"{IN}/statuses/{sha}", body, token=gitlab.bot_token)[0] == 400


def test_a_status_of_somebody_else_is_left_alone(api, sha, status):
    own = status("running")
    other = api.call("POST", f"{IN}/statuses/{sha}", {"state": "running", "name": NAME}, token="maintainer")
    assert other["id"] != own["id"]
    assert status("success")["id"] == own["id"]


@pytest.mark.parametrize(
    ("state", "fields", "code", "said"),
    [
        ("error", {}, 400, {"error": "state does not have a valid value"}),
        ("success", {"description": "x" * 256}, 400, {"message": {"description": [TOO_LONG]}}),
        ("success", {"target_url": "javascript:1"}, 400, {"message": {"target_url": [BLOCKED]}}),
        ("success", {"pipeline_id": 9}, 404, {"message": "404 Pipeline for pipeline_id, sha and ref Not Found"}),
    ],
    ids=["state", "description", "address", "pipeline"],
)
def test_fields_that_cannot_be_are_refused(refused, state, fields, code, said):
    assert refused(state, **fields) == (code, said)


def test_a_commit_that_is_not_there_or_on_no_branch_has_no_statuses(gitlab, refused, head):
    assert refused("success", commit="1" * 40) == (404, {"message": "404 Commit Not Found"})
    git = gitlab.hosting.git(gitlab.hosting.project(PROJECT))
    one = git.commit(head)
    aside = git.commit_tree(one.tree, (head,), "Aside", one.author, one.committer)
    assert refused("success", commit=aside) == (404, {"message": "404 References for commit Not Found"})


def test_lists_are_limited_by_name(api, sha, status):
    status("success")
    status("failed", name="other")
    assert listed(api, sha, "?name=other") == [("other", "failed")]


def test_a_newer_pipeline_takes_statuses_away_from_those_that_go_on(api, sha, status, maintainer):
    """As on GitLab: what runs in the older pipeline runs for ever, unless its pipeline is named."""
    first = status("running")
    other = maintainer.start_pipeline(PROJECT, "main")
    assert status("success")["pipeline_id"] == other
    assert listed(api, sha) == [(NAME, "running"), (NAME, "success")]
    ended = status("success", pipeline_id=first["pipeline_id"])
    assert (ended["id"], ended["status"]) == (first["id"], "success")


def test_a_project_can_ask_for_green_statuses(api, maintainer, head, iid):
    maintainer.call("PUT", IN, {"only_allow_merge_if_pipeline_succeeds": True})
    one = f"{IN}/merge_requests/{iid}"
    seen = []
    for state in (None, "running", "failed", "success"):
        if state:
            api.call("POST", f"{IN}/statuses/{head}", {"state": state, "name": NAME})
        seen.append(api.call("GET", one)["detailed_merge_status"])
    assert seen == ["ci_must_pass", "ci_still_running", "ci_must_pass", "mergeable"]
