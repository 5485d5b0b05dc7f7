"""Plans of pull requests: what is merged, what is planned, what is left alone."""

from __future__ import annotations

import json
import os

import pytest

from tests.runner.conftest import Bench
from tests.runner.engines import WAITING, fake_engine
from tests.runner.fake_aws import JOB_TOKEN
from tests.runner.speculation import Commit, planned, refused, resource, text
from tidegate.deploys.rules.job import JobKind
from tidegate.messages import RecordPlan
from tidegate_local import mirror


def test_the_merge_of_head_and_base_is_planned(bench: Bench) -> None:
    head, base = bench.forge.pull_request(
        common={"network/main.tf": bench.backend() + resource("common")},
        head={"network/head.tf": resource("head")},
        base={"network/base.tf": resource("base")},
    )
    plan = planned(bench, head, base_sha=base)
    assert plan["changes"]["add"] == 3
    assert plan["job"] == f"network-{head[:7]}-speculate-1"
    assert RecordPlan.model_validate({"deployment": "x", "plan": plan}).plan.changes.add == 3
    assert json.loads(bench.aws.objects[plan["json"]["key"]])["resource_changes"]
    assert text(bench, plan).startswith("Terraform used the selected providers")
    assert bench.left_behind() == []


@pytest.mark.parametrize("known", [True, False])
def test_the_head_alone_is_planned_where_nothing_is_merged(bench: Bench, *, known: bool) -> None:
    head, base = bench.forge.pull_request(
        common={"network/main.tf": bench.backend()},
        head={"network/head.tf": resource("head")},
        base={"network/base.tf": resource("base")},
    )
    plan = planned(bench, head, base_sha=base if known else "", merges=False)
    assert plan["changes"]["add"] == 1
    assert "terraform_data.head" in text(bench, plan)


@pytest.mark.parametrize("side", ["head", "base"])
def test_where_one_side_has_nothing_new_the_other_is_planned(bench: Bench, side: str) -> None:
    new = {"network/new.tf": resource("new")}
    head, base = bench.forge.pull_request(
        common={"network/main.tf": bench.backend()},
        head=new if side == "head" else {},
        base=new if side == "base" else {},
    )
    assert planned(bench, head, base_sha=base)["changes"]["add"] == 1


def test_a_base_that_went_far_ahead_is_merged(bench: Bench) -> None:
    head, base = bench.forge.pull_request(
        common={"network/main.tf": bench.backend() + resource("common")},
        head={"network/head.tf": resource("head")},
        base={"network/main.tf": bench.backend() + resource("renamed")},
        commits=1_500,
    )
    plan = planned(bench, head, base_sha=base)
    assert "terraform_data.renamed" in text(bench, plan)
    assert "terraform_data.common" not in text(bench, plan)


@pytest.mark.parametrize(("head", "base"), [("both", "both"), ("both", ""), ("", "both")])
def test_the_history_is_not_asked_for_what_is_known_to_be_common(bench: Bench, head: str, base: str) -> None:
    ours, theirs = bench.forge.pull_request(
        common={"network/main.tf": bench.backend() + resource("common"), "network/gone.tf": resource("gone")},
        head={"network/head.tf": resource("head"), "network/gone.tf": None} if head else {},
        base={"network/base.tf": resource("base"), "network/main.tf": bench.backend()} if base else {},
    )
    plan = planned(bench, ours, base_sha=theirs)
    asked = len(bench.forge.tokens)
    again = planned(bench, ours, base_sha=theirs, fork_sha=bench.forge.fork(ours, theirs))
    assert again["changes"] == plan["changes"]
    assert text(bench, again) == text(bench, plan)
    assert len(bench.forge.tokens) - asked <= asked // 2


def test_a_conflict_names_the_files_and_what_to_do(bench: Bench) -> None:
    name = "network/odd\nname.tf"
    head, base = bench.forge.pull_request(
        common={"network/main.tf": bench.backend(), name: resource("common"), "gone.txt": "1\n"},
        head={name: resource("head"), "gone.txt": "2\n"},
        base={name: resource("base"), "gone.txt": None},
    )
    message = refused(bench, head, base_sha=base)
    assert f"{head[:7]} cannot be merged with {base[:7]}" in message
    assert "'gone.txt', 'network/odd\\nname.tf'" in message
    assert "resolve the conflicts" in message
    assert "Nothing was planned" in message
    assert bench.result()["conflict"] is True


def test_branches_without_a_common_commit_are_refused(bench: Bench) -> None:
    head, base = bench.forge.pull_request({"a": "a"}, {"b": "b"}, {"c": "c"})
    work = bench.forge.directory / "work"
    orphan = bench.forge._git(work, "commit-tree", "-m", "x", f"{base}^{{tree}}")
    bench.forge._git(work, "push", "--quiet", str(bench.forge.repository), f"{orphan}:refs/heads/orphan")
    assert "no common ancestor" in refused(bench, head, base_sha=orphan)
    assert "refused" not in bench.result()
    assert bench.result()["conflict"] is True


def test_no_program_of_the_repository_takes_part_in_the_merge(bench: Bench) -> None:
    run = f"touch {bench.directory}/ran"
    config = f'[merge "evil"]\n\tdriver = {run}\n[filter "evil"]\n\tsmudge = {run}\n\tclean = {run}\n'
    attributes = "* merge=evil filter=evil diff=evil\n"
    same = "".join(f"line {number}\n" for number in range(20))
    head, base = bench.forge.pull_request(
        common={
            "network/main.tf": bench.backend() + resource("network"),
            ".gitattributes": attributes,
            ".gitconfig": config,
            "hooks/post-checkout": f"#!/bin/sh\n{run}\n",
            ".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = {bench.forge.clone_url}\n\tupdate = checkout\n',
            "both.txt": same,
        },
        head={"both.txt": "head\n" + same},
        base={"both.txt": same + "base\n"},
    )
    assert planned(bench, head, base_sha=base)["changes"]["add"] == 1
    assert not (bench.directory / "ran").exists()


@pytest.mark.parametrize("link", ["network", "network/loop.tf"])
def test_links_that_lead_to_themselves_are_told(bench: Bench, link: str) -> None:
    files = {} if link == "network" else {"network/main.tf": bench.backend()}
    sha = bench.forge.commit({"a": "a", **files}, {link: link.rpartition("/")[2]})
    bench.run(bench.job(JobKind.SPECULATE, sha))
    assert "points outside of the repository" in bench.result()["message"]


@pytest.mark.parametrize("link", ["network/link.tf", "modules"])
def test_links_that_lead_out_of_the_repository_are_not_followed(bench: Bench, link: str) -> None:
    outside = bench.directory / "outside"
    outside.mkdir()
    (outside / "main.tf").write_text(resource("outside"))
    target = outside / "main.tf" if link.endswith(".tf") else outside
    sha = bench.forge.commit(
        {"network/main.tf": bench.backend() + 'module "m" { source = "../modules" }\n'}, {link: str(target)}
    )
    assert f"{link}: this points outside of the repository." in refused(bench, sha)


def test_a_root_that_is_a_link_out_of_the_repository_is_not_planned(bench: Bench) -> None:
    sha = bench.forge.commit({"a": "a"}, {"network": "/etc"})
    bench.run(bench.job(JobKind.SPECULATE, sha))
    assert "points outside of the repository" in bench.result()["message"]


def test_nothing_is_locked_and_nothing_is_written(bench: Bench, commit: Commit) -> None:
    sha = commit(resource("network"))
    bench.run(bench.job(JobKind.APPLY, sha, bench.plan(sha)))
    lock = bench.state().parent / ".terraform.tfstate.lock.info"
    lock.write_text(json.dumps({"ID": "somebody"}))
    before = bench.state().read_bytes()
    plan = planned(bench, sha)
    assert plan["changes"]["add"] == 0
    assert bench.state().read_bytes() == before
    assert "-lock=false" not in text(bench, plan)
    assert sorted(file.name for file in bench.state().parent.iterdir()) == [lock.name, "terraform.tfstate"]


def test_a_workspace_that_is_missing_is_not_made(bench: Bench, commit: Commit) -> None:
    sha = commit(resource("network"))
    message = refused(bench, sha, workspace="staging")
    assert "The workspace 'staging' does not exist yet" in message
    assert "The first deploy" in message
    assert not (bench.state().parent / "workspaces").exists()


def test_a_workspace_that_exists_is_planned_in(bench: Bench, commit: Commit) -> None:
    sha = commit('resource "terraform_data" "network" { input = terraform.workspace }\n')
    bench.plan(sha, workspace="staging")
    assert '"staging"' in text(bench, planned(bench, sha, workspace="staging"))


def test_the_engine_sees_no_credentials_but_those_of_its_role(bench: Bench, commit: Commit) -> None:
    script = f"env > {bench.directory}/seen; exit 1"
    path = fake_engine(bench, "1.11.4", "plan", script)
    job = bench.job(JobKind.SPECULATE, commit(resource("network")))
    bench.run(
        job,
        PATH=path,
        TF_VAR_secret="deploys-only",
        AWS_SESSION_TOKEN="runner-session-token",
        GITHUB_TOKEN="another-token",
    )
    seen = (bench.directory / "seen").read_text()
    assert "AWS_CONTAINER_CREDENTIALS_FULL_URI=" in seen
    for secret in ("AKIARUNNER", "runner-secret-key", "runner-session", "deploys-only", "another-token", "clone-token"):
        assert secret not in seen
    assert "clone_token" not in bench.aws.record(job.id)


def test_a_plan_that_nobody_waits_for_any_more_ends_soon(bench: Bench, commit: Commit) -> None:
    path = fake_engine(bench, "1.11.4", "plan", WAITING.format(directory=bench.directory))
    job = bench.job(JobKind.SPECULATE, commit(resource("network")))
    process = bench.start(job, PATH=path, TIDEGATE_HEARTBEAT_SECONDS="0.1")
    bench.aws.wait_for((bench.directory / "started").exists)
    bench.aws.gone.add(JOB_TOKEN)
    ended = bench.finish(process, 30)
    assert ended.code == 5, ended.output
    assert "This plan was cancelled or has expired." in bench.stored_log(job.id)


def test_a_plan_of_megabytes_is_stored_whole_and_masked(bench: Bench, commit: Commit) -> None:
    many = 'resource "terraform_data" "many" {\n  count = 60\n  input = "${count.index}${local.long}"\n}\n'
    secret = 'variable "secret" {\n  default   = "very-secret-value"\n  sensitive = true\n}\n'
    shown = 'output "shown" {\n  value = nonsensitive(var.secret)\n}\n'
    sha = commit(many + secret + shown + f'locals {{ long = "{"x" * 100_000}" }}\n')
    plan = planned(bench, sha)
    assert plan["changes"]["add"] == 60
    shown_text = text(bench, plan)
    assert len(shown_text) > 5_000_000
    assert "very-secret-value" not in shown_text
    assert "Plan: 60 to add" in shown_text


@pytest.mark.nightly
def test_a_pull_request_is_planned_with_a_real_provider(bench: Bench) -> None:
    if mirror.find(os.environ) is None:
        pytest.skip("no filesystem mirror of providers on this machine")
    bench.environ.update(mirror.environment(bench.directory, {}))
    provider = """
terraform {
  required_providers { aws = { source = "hashicorp/aws" } }
}
provider "aws" {
  skip_credentials_validation = true
  skip_requesting_account_id  = true
  skip_metadata_api_check     = true
}
"""
    document = """
data "aws_iam_policy_document" "open" {
  statement {
    actions   = ["s3:GetObject"]
    resources = ["*"]
  }
}
resource "terraform_data" "network" { input = data.aws_iam_policy_document.open.json }
"""
    head, base = bench.forge.pull_request(
        common={"network/main.tf": bench.backend() + provider},
        head={"network/document.tf": document},
        base={"network/base.tf": resource("base")},
    )
    assert planned(bench, head, base_sha=base)["changes"]["add"] == 2
