"""git over HTTP: tokens as passwords, scopes, levels, protected branches."""

from __future__ import annotations

import pytest

from tests.gitlab.conftest import PROJECT
from tests.gitlab.git import address, clones, git
from tidegate_local.gitlab.client import ForgeAnswered


def test_the_clone_token_reads_and_nothing_else(gitlab, tmp_path, sha):
    assert clones(gitlab, gitlab.clone_token, tmp_path)
    assert (tmp_path / "clone/network/main.tf").is_file()
    pushed, said = git("push", address(gitlab, gitlab.clone_token), "HEAD:refs/heads/x", cwd=tmp_path / "clone")
    assert not pushed
    assert "403" in said


@pytest.mark.parametrize("user", ["oauth2", "anything", "gitlab-ci-token"])
def test_the_user_name_beside_a_token_does_not_matter(gitlab, tmp_path, sha, user):
    assert clones(gitlab, gitlab.bot_token, tmp_path, user=user)


def test_wrong_tokens_and_those_of_strangers_are_refused(gitlab, tmp_path, sha):
    ok, said = git("clone", address(gitlab, "guess"), "clone", cwd=tmp_path)
    assert (ok, "Authentication failed" in said) == (False, True)
    ok, said = git("clone", address(gitlab, "outsider"), "clone", cwd=tmp_path)
    assert (ok, "not found" in said) == (False, True)


def test_a_commit_is_fetched_by_its_sha_and_a_merge_request_by_its_ref(gitlab, tmp_path, head, iid):
    git("init", "-q", ".", cwd=tmp_path)
    for name in (head, f"refs/merge-requests/{iid}/head"):
        assert git("fetch", "-q", "--depth=1", address(gitlab, gitlab.clone_token), name, cwd=tmp_path)[0]


def test_nobody_pushes_to_the_refs_of_merge_requests(gitlab, tmp_path, iid):
    assert clones(gitlab, "maintainer", tmp_path)
    pushed, _ = git(
        "push", address(gitlab, "maintainer"), f"+HEAD:refs/merge-requests/{iid}/head", cwd=tmp_path / "clone"
    )
    assert not pushed


def test_a_reader_cannot_push_and_a_push_makes_projects_for_maintainers_only(person, sha):
    with pytest.raises(ForgeAnswered, match="403"):
        person("visitor").push(PROJECT, {"a": "a"}, "No", branch="x", base="main")
    with pytest.raises(ForgeAnswered, match="not found"):
        person("developer").push("acme/live/fresh", {"a": "a"}, "No")
    assert person("reviewer").push("acme/live/fresh", {"a": "a"}, "Yes")


def test_a_developer_cannot_push_to_the_protected_default_branch(developer, sha):
    with pytest.raises(ForgeAnswered, match="protected"):
        developer.push(PROJECT, {"a": "a"}, "No")


def test_nobody_moves_the_protected_branch_aside(maintainer, sha):
    second = maintainer.push(PROJECT, {"b": "b"}, "Second")
    with pytest.raises(ForgeAnswered, match="force push"):
        maintainer.force_push(PROJECT, "main", sha)
    assert maintainer.branches(PROJECT) == {"main": second}


def test_what_is_stored_survives_a_restart(tmp_path, sha, gitlab):
    from tidegate_local.gitlab.client import GitLabClient
    from tidegate_local.gitlab.server import GitLab

    gitlab.stop()
    with GitLab(tmp_path / "gitlab") as again:
        assert GitLabClient(again.url).branches(PROJECT) == {"main": sha}
    gitlab.stop = lambda: None
