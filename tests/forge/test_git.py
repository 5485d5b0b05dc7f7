"""git over HTTP: push, clone, and the partial fetches that Tidegate makes."""

from __future__ import annotations

import json
import os

import pytest

from tests.forge.git import git
from tidegate_local.forge.client import ForgeAnswered, ForgeClient
from tidegate_local.forge.server import Forge


@pytest.fixture
def work(tmp_path):
    directory = tmp_path / "work"
    directory.mkdir()
    git(directory, "init", "--quiet")
    return directory


def test_the_first_push_makes_the_repository_and_it_can_be_cloned(forge, maintainer, tmp_path):
    sha = maintainer.push("acme/infra", {"a/main.tf": "# a\n", "b.txt": "b\n"}, "Begin")
    git(tmp_path, "clone", "--quiet", maintainer.clone_url("acme/infra"), "copy")
    assert git(tmp_path / "copy", "rev-parse", "HEAD") == sha
    assert (tmp_path / "copy/a/main.tf").read_text() == "# a\n"


def test_a_commit_that_no_branch_has_any_more_is_fetched_by_its_sha_without_its_files(maintainer, sha, work):
    maintainer.push("acme/infra", {"other.tf": "# other\n"}, "Go on")
    remote = maintainer.clone_url("acme/infra")
    git(work, "push", "--quiet", remote, f"+{_fetched(work, remote, sha)}:refs/heads/main")
    git(work, "fetch", "--quiet", "--depth=1", "--filter=blob:none", remote, sha)
    assert git(work, "rev-parse", "FETCH_HEAD") == sha
    missing = git(work, "rev-list", "--objects", "--missing=print", "FETCH_HEAD")
    assert "network" in missing


def _fetched(work, remote, sha):
    git(work, "fetch", "--quiet", remote, sha)
    return git(work, "rev-parse", "FETCH_HEAD")


def test_a_partial_clone_lacks_files_until_they_are_checked_out(maintainer, sha, tmp_path):
    remote = maintainer.clone_url("acme/infra")
    git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", remote, "partial")
    copy = tmp_path / "partial"
    assert "?" in git(copy, "rev-list", "--objects", "--missing=print", "HEAD")
    git(copy, "checkout", "--quiet", "HEAD")
    assert (copy / "network/main.tf").exists()


def test_a_push_larger_than_gits_buffer_arrives_whole(maintainer, work):
    (work / "large.bin").write_bytes(os.urandom(3_000_000))
    git(work, "add", ".")
    git(work, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "Large")
    remote = maintainer.clone_url("acme/large")
    git(work, "-c", "http.postBuffer=65536", "push", "--quiet", remote, "HEAD:main")
    assert git(work, "ls-remote", remote, "refs/heads/main").split()[0] == git(work, "rev-parse", "HEAD")


def test_a_visitor_can_read_but_not_push(forge, sha, work):
    visitor = ForgeClient(forge.url, "visitor")
    assert sha in git(work, "ls-remote", visitor.clone_url("acme/infra"))
    with pytest.raises(ForgeAnswered, match="403"):
        visitor.push("acme/infra", {"x": "x"}, "Try")


def test_nobody_reads_without_credentials(forge, sha, work):
    refused = git(work, "ls-remote", f"{forge.url}/acme/infra.git", check=False)
    assert refused.returncode
    wrong = git(work, "ls-remote", ForgeClient(forge.url, "maintainer", "guess").clone_url("acme/infra"), check=False)
    assert wrong.returncode


def test_an_installation_token_reads_the_repositories_it_was_made_for_and_no_other(forge, api, maintainer, sha, work):
    maintainer.push("acme/other", {"a": "a"}, "Begin")
    token = api.installation_token(repositories=["infra"], permissions={"contents": "read"})
    assert sha in git(work, "ls-remote", ForgeClient(forge.url, "x-access-token", token).clone_url("acme/infra"))
    other = ForgeClient(forge.url, "x-access-token", token).clone_url("acme/other")
    assert "not found" in git(work, "ls-remote", other, check=False).stderr
    with pytest.raises(ForgeAnswered, match="403"):
        ForgeClient(forge.url, "x-access-token", token).push("acme/infra", {"x": "x"}, "Try")


def test_a_token_without_contents_cannot_clone(forge, api, sha, work):
    token = api.installation_token(permissions={"checks": "write"})
    remote = ForgeClient(forge.url, "x-access-token", token).clone_url("acme/infra")
    assert "403" in git(work, "ls-remote", remote, check=False).stderr


@pytest.mark.parametrize("name", ["acme/..", "-acme/infra", "acme/a b", "acme/x.git", "api/v3", "acme/" + "x" * 101])
def test_a_repository_with_a_name_that_github_would_not_take_is_refused(maintainer, name):
    with pytest.raises(ForgeAnswered):
        maintainer.push(name, {"a": "a"}, "Begin")


def test_branches_and_files_with_strange_names_are_taken_as_they_are(forge, api, maintainer, sha):
    names = {"a&&id": "1", "$(x).tf": "2", "-chdir=x": "3", "ünï 🌊.txt": "4", "new\nline": "5", "tab\there": "6"}
    head = maintainer.push("acme/infra", names, "Strange\n\n$(id) `id`", branch="feature/$(x)&&-b", base="main")
    token = api.installation_token()
    answer = api.call("GET", f"/repos/acme/infra/compare/main...{head}", token=token)
    assert answer["status"] == "ahead"
    assert {
        file.name for file in forge.hosting.git(forge.hosting.repository("acme/infra")).changed_files("main", head)
    } == (names.keys())


def test_what_was_stored_survives_a_restart(tmp_path):
    with Forge(tmp_path / "forge") as before:
        maintainer, key = ForgeClient(before.url), before.app_private_key
        maintainer.push("acme/infra", {"a.tf": "# a\n"}, "Begin")
        head = maintainer.push("acme/infra", {"b.tf": "# b\n"}, "More", branch="more", base="main")
        number = maintainer.open_pull_request("acme/infra", "more", title="Change it")
    with Forge(tmp_path / "forge") as after:
        pull = ForgeClient(after.url).call("GET", f"/repos/acme/infra/pulls/{number}")
        assert (pull["title"], pull["head"]["sha"]) == ("Change it", head)
        assert after.app_private_key == key


def test_a_large_file_lies_beside_the_repository_for_who_may_read_it(forge, api, maintainer, sha):
    pointer = maintainer.store_large_file("acme/infra", b"large\n")
    oid = pointer.partition("sha256:")[2].partition("\n")[0]
    visitor, asked = ForgeClient(forge.url, "visitor"), [{"oid": oid, "size": 6}, {"oid": "0" * 64, "size": 1}]

    def batch(person, operation):
        wanted = {"operation": operation, "transfers": ["basic"], "objects": asked}
        sent = {"Authorization": f"Bearer {person.credential}"}
        answered = person.send("POST", "/acme/infra.git/info/lfs/objects/batch", sent, wanted)
        return json.loads(answered)["objects"]

    here, gone = batch(visitor, "download")
    download = here["actions"]["download"]
    assert visitor.send("GET", download["href"].removeprefix(forge.url), download["header"], None) == "large\n"
    assert gone["error"]["code"] == 404
    assert ["actions" in each for each in batch(maintainer, "upload")] == [False, True]
    with pytest.raises(ForgeAnswered, match="403"):
        batch(visitor, "upload")
    with pytest.raises(ForgeAnswered, match="403"):
        visitor.store_large_file("acme/infra", b"other\n")
