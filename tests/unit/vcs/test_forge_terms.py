"""Each VCS provider has its own words, and its own way to write a request's number."""

from __future__ import annotations

from tidegate.vcs.rules.forge_terms import GITHUB_TERMS, GITLAB_TERMS, terms_of


def test_a_request_is_referred_to_as_its_providers_people_do():
    assert [terms.reference(12) for terms in (GITHUB_TERMS, GITLAB_TERMS)] == ["#12", "!12"]
    assert [terms_of(reference) for reference in ("#12", "!12")] == [GITHUB_TERMS, GITLAB_TERMS]
    assert GITLAB_TERMS.pull_requests == "merge requests"
