"""Pull requests as their records hold them, read from GitHub one by one or all that are open."""

from __future__ import annotations

import pytest

from tests.adapters.github_stub import REPOSITORY, repo
from tests.instants import utc
from tidegate.rules.errors import ForgeUnavailable, NotFound
from tidegate.vcs.rules.pull_request import PullRequestSpec, SeenPullRequest

BASE, HEAD = "a" * 40, "b" * 40
PULL = {
    "number": 5,
    "state": "open",
    "title": "Grow <b>",
    "draft": True,
    "created_at": "2026-03-02T08:00:00Z",
    "merged_at": None,
    "user": {"login": "author"},
    "head": {"sha": HEAD, "ref": "feature/x", "repo": {"id": 1}},
    "base": {"sha": BASE, "ref": "main", "repo": {"id": 1}},
}
SPEC = PullRequestSpec(REPOSITORY, 5, "feature/x", "main", HEAD, BASE, "author", "Grow <b>", True, False)
OPEN = "state=open&sort=created&direction=asc&per_page=100&page={}"


def test_a_pull_request_is_one_call(forge, github):
    github.on("GET", repo("pulls/5"), (200, PULL))
    assert forge.seen_pull_request(REPOSITORY, 5) == SeenPullRequest(SPEC, True, False, utc("2026-03-02T08:00"))
    assert len(github.asked("GET", repo("pulls/5"))) == 1


@pytest.mark.parametrize("head", [{"id": 2}, None])
def test_a_head_in_another_repository_or_in_none_any_more_is_a_fork(forge, github, head):
    github.on("GET", repo("pulls/5"), (200, {**PULL, "head": {**PULL["head"], "repo": head}}))
    assert forge.seen_pull_request(REPOSITORY, 5).spec.from_fork


def test_a_merged_one_of_an_account_that_is_gone_is_read(forge, github):
    made = {"merged_at": "2026-03-02T09:00:00Z", "merge_commit_sha": "e" * 40}
    merged = {**PULL, "state": "closed", "user": None, **made}
    github.on("GET", repo("pulls/5"), (200, merged))
    found = forge.seen_pull_request(REPOSITORY, 5)
    assert (found.is_open, found.merged, found.spec.author) == (False, True, "ghost")
    assert found.merge_sha == "e" * 40


def test_the_commit_on_which_a_merge_was_tried_is_not_taken_for_one(forge, github):
    github.on("GET", repo("pulls/5"), (200, {**PULL, "merge_commit_sha": "e" * 40}))
    assert forge.seen_pull_request(REPOSITORY, 5).merge_sha == ""


def test_one_that_is_none_is_not_found_and_a_fault_is_none(forge, github):
    github.on("GET", repo("pulls/5"), (404, {"message": "Not Found"}))
    with pytest.raises(NotFound, match="pull request '5'"):
        forge.seen_pull_request(REPOSITORY, 5)
    github.on("GET", repo("pulls/5"), (502, {"message": "Bad Gateway"}))
    with pytest.raises(ForgeUnavailable):
        forge.seen_pull_request(REPOSITORY, 5)


def test_open_ones_are_read_page_by_page(forge, github):
    first = [{**PULL, "number": number} for number in range(1, 101)]
    github.on("GET", repo("pulls"), (200, first), (200, [{**PULL, "number": 101}]))
    assert [each.spec.number for each in forge.open_pull_requests(REPOSITORY)] == list(range(1, 102))
    assert len(github.asked("GET", repo("pulls"))) == 2
