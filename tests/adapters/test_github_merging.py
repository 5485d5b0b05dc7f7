"""Merging a pull request on GitHub: only the head that is meant, with a token that may, and GitHub's own refusals."""

from __future__ import annotations

import pytest

from tests.adapters.github_stub import REPOSITORY, TOKENS, repo
from tidegate.rules.errors import AppLacksPermission, ForgeRefused, ForgeUnavailable
from tidegate.vcs.rules.pull_request import MergeMethod

HEAD = "b" * 40


@pytest.mark.parametrize("method", MergeMethod)
def test_exactly_this_head_is_merged_as_configured(forge, github, method):
    github.on("PUT", repo("pulls/5/merge"), (200, {"sha": "c" * 40, "merged": True, "message": "merged"}))
    forge.merge_pull_request(REPOSITORY, 5, HEAD, method)
    (asked,) = github.asked("PUT", repo("pulls/5/merge"))
    assert asked.body == {"sha": HEAD, "merge_method": method.value}
    (token,) = github.asked("POST", TOKENS)
    assert token.body["permissions"] == {"contents": "write", "metadata": "read"}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (405, "At least 1 approving review is required by reviewers with write access."),
        (409, "Head branch was modified. Review and try the merge again."),
        (422, "Merge commits are not allowed on this repository."),
    ],
)
def test_what_github_refuses_is_told_in_its_words(forge, github, status, words):
    github.on("PUT", repo("pulls/5/merge"), (status, {"message": words}))
    with pytest.raises(ForgeRefused) as refused:
        forge.merge_pull_request(REPOSITORY, 5, HEAD, MergeMethod.MERGE)
    assert (refused.value.status, refused.value.problem) == (status, words)


def test_a_failure_of_github_is_none_of_the_pull_request(forge, github):
    github.on("PUT", repo("pulls/5/merge"), (502, {"message": "Bad Gateway"}))
    with pytest.raises(ForgeUnavailable):
        forge.merge_pull_request(REPOSITORY, 5, HEAD, MergeMethod.MERGE)


def test_an_app_that_may_not_write_contents_is_told_so(forge, github):
    github.on("POST", TOKENS, (422, {"message": "The permissions requested are not granted to this installation."}))
    github.on("GET", TOKENS.rpartition("/")[0], (200, {"permissions": {"metadata": "read", "contents": "read"}}))
    with pytest.raises(AppLacksPermission) as lacking:
        forge.merge_pull_request(REPOSITORY, 5, HEAD, MergeMethod.MERGE)
    assert lacking.value.permissions == ("contents: write",)
