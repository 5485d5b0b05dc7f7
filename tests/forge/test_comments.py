"""The product's adapter finds and changes its own comments on the local forge."""

from __future__ import annotations

import pytest

from tidegate.rules.errors import NotFound
from tidegate.vcs.github.forge import AppCredentials, GitHubForge
from tidegate_local.forge.client import ForgeClient

REPOSITORY, MARKER = "acme/infra", "<!-- ours"


@pytest.fixture
def adapter(forge):
    app = AppCredentials(str(forge.settings.app_id), forge.app_private_key)
    return GitHubForge(lambda: app, url=forge.url, api_url=forge.api_url)


@pytest.fixture
def developer(forge):
    return ForgeClient(forge.url, "developer")


@pytest.fixture
def number(developer, sha):
    developer.push(REPOSITORY, {"b.tf": "# b\n"}, "Second", branch="more", base="main")
    return developer.open_pull_request(REPOSITORY, "more", title="More")


def test_what_others_write_with_our_marker_is_not_ours(forge, adapter, developer, number):
    developer.comment(REPOSITORY, number, f"{MARKER} -->\nforged")
    adapter.comment(REPOSITORY, number, "a reply without it")
    made = adapter.comment(REPOSITORY, number, f"{MARKER} -->\nfirst")
    assert adapter.our_comments(REPOSITORY, number, MARKER) == {made: f"{MARKER} -->\nfirst"}
    adapter.update_comment(REPOSITORY, number, made, f"{MARKER} -->\nsecond")
    assert adapter.our_comments(REPOSITORY, number, MARKER) == {made: f"{MARKER} -->\nsecond"}


def test_ours_is_found_behind_a_hundred_others(forge, adapter, developer, number):
    for one in range(100):
        developer.comment(REPOSITORY, number, f"{one}")
    made = adapter.comment(REPOSITORY, number, MARKER)
    assert list(adapter.our_comments(REPOSITORY, number, MARKER)) == [made]


def test_what_is_gone_is_not_found(forge, adapter, number):
    with pytest.raises(NotFound):
        adapter.update_comment(REPOSITORY, number, 10**9, "text")
