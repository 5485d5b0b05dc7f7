"""A forge's people read its own words, and what is quoted stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.texts.markdown import code, fenced
from tidegate.vcs.rules.forge_terms import GITHUB_WORDS, GITLAB_WORDS, words_of


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The pull request is closed.", "The merge request is closed."),
        ("Pull requests are planned.", "Merge requests are planned."),
        ("of the pull request #12: ask", "of the merge request !12: ask"),
        ("pull request 12 is applied", "merge request !12 is applied"),
        ("The pull request acme/net-works/x#12 changed", "The merge request acme/net-works/x!12 changed"),
        ("Go on with [its check run](https://x.example/check run).", None),
        ("A newer check run; Check runs.", "A newer commit status; Commit statuses."),
        ("Pull requests 1st", "Merge requests 1st"),
    ],
)
def test_texts_are_said_in_gitlabs_words(text, said):
    expected = said or "Go on with [its commit status](https://x.example/check run)."
    assert GITLAB_WORDS.said(text) == expected
    assert GITHUB_WORDS.said(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "`pull request 7`",
        "`` a ` pull request ``",
        "```diff\n+ pull request #7\n```",
        "```\npull request",
        "<code>pull request</code>",
        "<!-- tidegate: pull request -->",
        "[x](https://x.example/pull-requests/7)",
        "https://x.example/pull-request",
        "pull_requests",
    ],
)
def test_what_is_quoted_stays_as_it_is(text):
    assert GITLAB_WORDS.said(text) == text
    assert GITLAB_WORDS.said(f"pull request\n{text}") == f"merge request\n{text}"


@given(st.text(st.sampled_from("pull request#1 `~\n"), max_size=60))
def test_whatever_stands_in_code_stays_as_it_is(text):
    for quoted in (code(f"pull request {text}"), fenced(f"pull request {text}")):
        assert GITLAB_WORDS.said(f"This:\n\n{quoted}\n\npull request 1") == f"This:\n\n{quoted}\n\nmerge request !1"


def test_a_request_is_referred_to_as_its_forges_people_do():
    assert [words.reference(12) for words in (GITHUB_WORDS, GITLAB_WORDS)] == ["#12", "!12"]
    assert [words_of(reference) for reference in ("#12", "!12")] == [GITHUB_WORDS, GITLAB_WORDS]
    assert GITLAB_WORDS.pull_requests == "merge requests"
