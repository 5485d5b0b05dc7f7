"""What is cloned besides the repository, where the file asks for it: submodules, and files in Git LFS."""

from __future__ import annotations

import hashlib

import pytest

from tests.runner.conftest import Bench
from tests.runner.git_forge import CLONE_TOKEN
from tests.runner.speculation import DEFAULT_PLAN, refused
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.workflow import CloneSettings, RunSettings, StepKind, WorkflowStep

SUBMODULES = RunSettings(clone=CloneSettings(("modules",), submodules=True))
LFS = RunSettings(clone=CloneSettings(lfs=True))
CALL = 'module "queue" {\n  source = "../vendor/queue"\n}\n'
MODULE = 'resource "terraform_data" "queue" {}\n'


def submodule(bench: Bench, url: str) -> str:
    """Let commits have a submodule at ``vendor``; return their .gitmodules."""
    module = bench.forge.other("modules", {"queue/main.tf": MODULE, "queue/run.sh": "#!/bin/sh\n"})
    bench.forge.submodules = {"vendor": module}
    return f'[submodule "any.name"]\n\tpath = vendor\n\turl = {url}\n'


def with_submodule(bench: Bench, url: str) -> str:
    """Commit a root that uses a module of a submodule; return the commit."""
    return bench.forge.commit({"network/main.tf": bench.backend() + CALL, ".gitmodules": submodule(bench, url)})


@pytest.mark.parametrize("url", ["../modules.git", "{forge}/acme/modules", "git@127.0.0.1:acme/modules.git"])
def test_a_submodule_of_a_listed_repository_is_put_in_its_place(bench: Bench, url: str) -> None:
    sha = with_submodule(bench, url.format(forge=bench.forge.url))
    assert bench.plan(sha, run=SUBMODULES)["changes"]["add"] == 1


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("../other.git", "'../other.git'"),
        ("https://example.com/acme/modules", "clone.repositories"),
        ("../../../../etc", "clone.repositories"),
        ("../modules2.git", "Add the repository there, or remove"),
        ("git@127.0.0.1:acme/modules2.git", "Add the repository there, or remove"),
        ("ssh://git@127.0.0.1/acme/modules2", "Add the repository there, or remove"),
        ("git@127.0.0.1:foo/modules2.git", "only repositories of acme"),
        ("https://example.com/foo/bar", "only repositories of acme"),
    ],
)
def test_a_submodule_from_elsewhere_is_refused(bench: Bench, url: str, words: str) -> None:
    bench.run(bench.job(JobKind.PLAN, with_submodule(bench, url), run=SUBMODULES))
    assert bench.result()["error"] == "TerraformClientError"
    assert words in bench.result()["message"]


def test_where_submodules_are_not_cloned_a_module_in_one_is_answered_with_what_to_set(bench: Bench) -> None:
    bench.run(bench.job(JobKind.PLAN, with_submodule(bench, "../modules.git")))
    assert "The commit has submodules, which Tidegate" in bench.result()["message"]


def test_a_forge_without_git_lfs_is_told_with_what_to_do(bench: Bench) -> None:
    pointer = bench.forge.store(b"x")
    bench.forge.lfs_status = 404
    sha = bench.forge.commit({"network/main.tf": bench.backend(), "network/large.tf": pointer})
    bench.run(bench.job(JobKind.PLAN, sha, run=LFS))
    assert bench.result()["error"] == "TerraformClientError"
    assert "Git LFS" in bench.result()["message"]
    assert "clone.lfs" in bench.result()["message"]


def test_a_forge_that_refuses_git_lfs_is_not_told_to_have_none(bench: Bench) -> None:
    pointer = bench.forge.store(b"x")
    bench.forge.lfs_status = 403
    sha = bench.forge.commit({"network/main.tf": bench.backend(), "network/large.tf": pointer})
    bench.run(bench.job(JobKind.PLAN, sha, run=LFS))
    assert bench.result()["error"] == "TerraformClientError"
    assert "quota" in bench.result()["message"]
    assert "Git LFS is not enabled for" not in bench.result()["message"]


def test_an_address_to_which_no_token_may_go_is_told_as_the_reason(bench: Bench) -> None:
    pointer = bench.forge.store(b"x")
    bench.forge.large_url = "ftp://127.0.0.1"
    sha = bench.forge.commit({"network/main.tf": bench.backend(), "network/large.tf": pointer})
    bench.run(bench.job(JobKind.PLAN, sha, run=LFS))
    assert bench.result()["error"] == "RunnerFault"
    assert "not over 'ftp'" in bench.result()["message"]


def test_a_forge_that_fails_is_no_mistake_of_the_author(bench: Bench) -> None:
    pointer = bench.forge.store(b"x")
    bench.forge.lfs_status = 503
    sha = bench.forge.commit({"network/main.tf": bench.backend(), "network/large.tf": pointer})
    bench.run(bench.job(JobKind.PLAN, sha, run=LFS))
    assert bench.result()["error"] == "RunnerFault"
    assert "HTTP 503" in bench.result()["message"]
    assert "Request the plan again. If that" in bench.result()["message"]


def test_a_submodule_that_gitmodules_does_not_name_is_refused(bench: Bench) -> None:
    submodule(bench, "../modules.git")
    sha = bench.forge.commit({"network/main.tf": bench.backend() + CALL, ".gitmodules": ""})
    bench.run(bench.job(JobKind.PLAN, sha, run=SUBMODULES))
    assert "no path and URL for the submodule 'vendor'" in bench.result()["message"]


def test_a_submodule_at_a_commit_that_there_is_not_is_the_authors_mistake(bench: Bench) -> None:
    declared = submodule(bench, "../modules.git")
    bench.forge.submodules = {"vendor": "1" * 40}
    sha = bench.forge.commit({"network/main.tf": bench.backend() + CALL, ".gitmodules": declared})
    bench.run(bench.job(JobKind.PLAN, sha, run=SUBMODULES))
    assert bench.result()["error"] == "TerraformClientError"
    assert "'vendor'" in bench.result()["message"]


def test_a_program_of_a_submodule_that_a_pull_request_moves_is_not_run(bench: Bench) -> None:
    declared = submodule(bench, "../modules.git")
    head, base = bench.forge.pull_request(
        {"network/main.tf": bench.backend() + CALL}, {".gitmodules": declared}, {"more.md": ""}
    )
    step = WorkflowStep(StepKind.RUN, ("../vendor/queue/run.sh",))
    run = RunSettings(clone=SUBMODULES.clone, plan=(step, *DEFAULT_PLAN))
    assert "'../vendor/queue/run.sh'" in refused(bench, head, base_sha=base, run=run)


def test_files_in_git_lfs_are_fetched_and_the_token_is_sent_to_the_forge_alone(bench: Bench) -> None:
    pointer = bench.forge.store(MODULE.encode())
    sha = bench.forge.commit({"network/main.tf": bench.backend(), "network/large.tf": pointer})
    assert bench.plan(sha, run=LFS)["changes"]["add"] == 1
    assert set(bench.forge.tokens) == {f"x-access-token:{CLONE_TOKEN}", ""}


def test_no_name_of_a_file_is_in_the_way_of_one_in_git_lfs(bench: Bench) -> None:
    pointer = bench.forge.store(MODULE.encode())
    taken = f"network/.{hashlib.sha256(MODULE.encode()).hexdigest()}.lfs"
    sha = bench.forge.commit({"network/main.tf": bench.backend(), "network/large.tf": pointer, taken: "x"})
    assert bench.plan(sha, run=LFS)["changes"]["add"] == 1


def test_a_file_that_is_not_in_git_lfs_is_the_authors_mistake(bench: Bench) -> None:
    pointer = bench.forge.store(b"x")
    bench.forge.large.clear()
    sha = bench.forge.commit({"network/main.tf": bench.backend(), "network/large.tf": pointer})
    bench.run(bench.job(JobKind.PLAN, sha, run=LFS))
    assert bench.result()["error"] == "TerraformClientError"
    assert "'network/large.tf'" in bench.result()["message"]


def test_a_file_with_another_content_than_named_is_not_used(bench: Bench) -> None:
    pointer = bench.forge.store(b"as named")
    bench.forge.large = dict.fromkeys(bench.forge.large, b"not that")
    sha = bench.forge.commit({"network/main.tf": bench.backend(), "network/large.tf": pointer})
    bench.run(bench.job(JobKind.PLAN, sha, run=LFS))
    assert "in Git LFS differs from what" in bench.result()["message"]
