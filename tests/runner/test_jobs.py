"""Plan and apply jobs from the start token to the report, with the real engine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
from collections.abc import Callable

import pytest

from tests.runner.conftest import Bench
from tests.runner.engines import WAITING, fake_engine
from tests.runner.fake_aws import START_TOKEN
from tests.runner.git_forge import CLONE_TOKEN
from tidegate.deploys.rules.job import JobKind, log_key
from tidegate.deploys.rules.workflow import CloneSettings, RunSettings
from tidegate.messages import ApplyResult, RecordPlan
from tidegate.plans.rules.plan import Artifact, PlannedChanges
from tidegate_local import mirror

ONE_RESOURCE = """
resource "terraform_data" "network" { input = "10.0.0.0/16" }
output "network" { value = terraform_data.network.output }
"""


def test_a_reviewed_plan_is_applied(bench: Bench, commit: Callable[..., str]) -> None:
    sha = commit(ONE_RESOURCE)

    plan = bench.plan(sha)

    assert plan["changes"]["add"] == 1
    assert plan["changes"]["outputs"] == 1
    assert plan["job"] == f"network-{sha[:7]}-plan-1"
    for part in ("file", "json", "text"):
        stored = bench.aws.objects[plan[part]["key"]]
        assert hashlib.sha256(stored).hexdigest() == plan[part]["sha256"]
    text = bench.aws.objects[plan["text"]["key"]].decode()
    assert text.startswith("Terraform used the selected providers")
    assert "Plan: 1 to add, 0 to change, 0 to destroy." in text
    assert "Saved the plan" not in text
    assert not bench.state().exists()

    ended = bench.run(bench.job(JobKind.APPLY, sha, plan))

    assert ended.code == 0, ended.output
    assert bench.result()["job"] == f"network-{sha[:7]}-apply-1"
    assert "Apply complete! Resources: 1 added" in bench.result()["last_lines"]
    (provider,) = ApplyResult.model_validate(bench.result()).providers
    assert (provider.provider, provider.changes) == ("terraform.io/builtin/terraform", 1)
    assert json.loads(bench.state().read_text())["resources"][0]["name"] == "network"
    assert bench.left_behind() == []


def test_the_result_is_a_plan_as_the_state_machine_takes_it(bench: Bench, commit: Callable[..., str]) -> None:
    plan = bench.plan(commit(ONE_RESOURCE))
    message = RecordPlan.model_validate({"deployment": "network", "plan": plan})
    assert message.plan.changes == PlannedChanges(add=1, outputs=1)
    assert message.plan.lock_file is None


def test_a_plan_without_changes_says_so(bench: Bench, commit: Callable[..., str]) -> None:
    sha = commit(ONE_RESOURCE)
    first = bench.plan(sha)
    bench.run(bench.job(JobKind.APPLY, sha, first))
    plan = bench.plan(sha)
    assert (first["changes"]["resources"], plan["changes"]["resources"]) == (0, 1)
    assert not any(plan["changes"][name] for name in ("add", "change", "destroy", "replace", "outputs", "moved"))
    assert bench.aws.objects[plan["text"]["key"]].decode().startswith("No changes.")


@pytest.mark.parametrize(
    "backend",
    ["", 'terraform {\n  backend "local" {}\n}\n', 'terraform {\n  backend "local" { path = "x.tfstate" }\n}\n'],
)
def test_a_root_whose_state_would_be_lost_with_the_runner_is_not_planned_unless_that_is_allowed(
    bench: Bench, backend: str
) -> None:
    sha = bench.forge.commit({"network/main.tf": backend + ONE_RESOURCE})
    job = bench.job(JobKind.PLAN, sha)
    ended = bench.run(job)
    assert ended.code == 0, ended.output
    assert bench.result()["error"] == "TerraformClientError"
    assert "has no backend" in bench.result()["message"]
    assert "Configure a backend" in bench.result()["message"]
    assert "TerraformClientError" not in bench.result()["last_lines"]
    assert not any(key.endswith("plan.tfplan") for key in bench.aws.objects)
    bench.environ["TIDEGATE_ALLOW_LOCAL_STATE"] = "true"
    assert bench.plan(sha)["changes"]["add"] == 1


def test_a_root_may_use_modules_and_files_beside_it(bench: Bench) -> None:
    configuration = 'module "shared" { source = "../modules/shared" }\noutput "x" { value = file("../data/x.txt") }\n'
    sha = bench.forge.commit(
        {
            "network/main.tf": bench.backend() + configuration,
            "modules/shared/main.tf": ONE_RESOURCE,
            "data/x.txt": "x",
        }
    )
    plan = bench.plan(sha)
    bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert "Apply complete! Resources: 1 added" in bench.result()["last_lines"]


def test_a_workspace_is_created_by_the_plan_and_used_by_the_apply(bench: Bench, commit: Callable[..., str]) -> None:
    sha = commit('resource "terraform_data" "network" { input = terraform.workspace }\n')
    plan = bench.plan(sha, workspace="staging")
    bench.run(bench.job(JobKind.APPLY, sha, plan, workspace="staging"))
    assert "Apply complete!" in bench.result()["last_lines"]
    state = bench.state().parent / "workspaces" / "staging" / "terraform.tfstate"
    assert '"staging"' in state.read_text()


@pytest.mark.parametrize("directory", ["a&&id", "$(touch x)", "-chdir=x", "with space", "ünïcode 🚀", "line"])
def test_a_root_may_lie_in_a_directory_of_any_name(bench: Bench, directory: str) -> None:
    sha = bench.forge.commit({f"{directory}/main.tf": bench.backend() + ONE_RESOURCE})
    plan = bench.plan(sha, dir=directory)
    assert plan["changes"]["add"] == 1


def test_the_first_act_is_to_answer_the_start_token(bench: Bench, commit: Callable[..., str]) -> None:
    bench.run(bench.job(JobKind.PLAN, commit(ONE_RESOURCE)))
    assert bench.aws.calls[0] == ("states", "SendTaskSuccess")
    operation, token, output = bench.aws.answers[0]
    assert (operation, token) == ("success", START_TOKEN)
    assert bench.aws.record(f"network-{bench.result()['job'][8:15]}-plan-1")["taken_by"] == {"S": output["runner"]}


def test_only_the_jobs_own_items_and_prefixes_are_touched(bench: Bench, commit: Callable[..., str]) -> None:
    sha = commit(ONE_RESOURCE)
    bench.run(bench.job(JobKind.APPLY, sha, bench.plan(sha)))
    jobs = {f"job#network-{sha[:7]}-plan-1", f"job#network-{sha[:7]}-apply-1"}
    assert {pk for pk, _ in bench.aws.items} == jobs
    prefixes = (
        f"plans/network-{sha[:7]}-plan-1/",
        f"logs/network-{sha[:7]}-plan-1.",
        f"logs/network-{sha[:7]}-apply-1.",
    )
    assert all(key.startswith(prefixes) for key in bench.aws.objects)


def test_a_committed_lock_file_is_stored_and_put_back(bench: Bench, commit: Callable[..., str]) -> None:
    lock = "# The lock file of this commit.\n"
    sha = commit(ONE_RESOURCE, **{"network/.terraform.lock.hcl": lock})
    plan = bench.plan(sha)
    assert bench.aws.objects[plan["lock_file"]["key"]].decode() == lock
    bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert "Apply complete!" in bench.result()["last_lines"]


def test_an_altered_lock_file_is_not_used(bench: Bench, commit: Callable[..., str]) -> None:
    sha = commit(ONE_RESOURCE, **{"network/.terraform.lock.hcl": "# The lock file.\n"})
    plan = bench.plan(sha)
    bench.aws.objects[plan["lock_file"]["key"]] = b"# Another.\n"
    bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert bench.result()["error"] == "PlanAltered"
    assert not bench.state().exists()


def test_the_engine_does_not_initialize_twice_when_the_providers_are_there(
    bench: Bench, commit: Callable[..., str]
) -> None:
    sha = commit(ONE_RESOURCE)
    plan = bench.plan(sha)
    ended = bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert "Initializing" not in ended.output
    bench.state().unlink()
    del bench.aws.objects[plan["file"]["key"].replace("plan.tfplan", "providers.json")]
    ended = bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert "Initializing" in ended.output
    assert "Apply complete!" in ended.output


def test_a_state_that_the_backend_did_not_take_is_kept(bench: Bench, commit: Callable[..., str]) -> None:
    backend = f'terraform {{\n  backend "http" {{\n    address = "{bench.aws.url}/state"\n    retry_max = 0\n  }}\n}}\n'
    sha = bench.forge.commit({"network/main.tf": backend + ONE_RESOURCE})
    job = bench.job(JobKind.APPLY, sha, bench.plan(sha))
    bench.run(job)
    assert bench.result()["error"] == "TerraformClientError"
    state = json.loads(bench.aws.objects[f"errored/{job.id}.tfstate"])
    assert state["resources"][0]["name"] == "network"
    assert f"errored/{job.id}.tfstate" in bench.result()["last_lines"]


def test_private_modules_are_read_with_the_clone_token(bench: Bench) -> None:
    configuration = f'module "shared" {{ source = "git::{bench.forge.clone_url}//modules/shared" }}\n'
    sha = bench.forge.commit(
        {"network/main.tf": bench.backend() + configuration, "modules/shared/main.tf": ONE_RESOURCE}
    )
    plan = bench.plan(sha)
    assert plan["changes"]["add"] == 1
    ended = bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert "Initializing modules" in ended.output
    assert "Apply complete!" in ended.output


def test_modules_of_a_listed_repository_are_read_with_the_clone_token_and_of_no_other(bench: Bench) -> None:
    bench.forge.other("modules", {"queue/main.tf": ONE_RESOURCE})
    https, ssh = f"git::{bench.forge.url}/acme/modules.git//queue", "git::ssh://git@127.0.0.1/acme/modules//queue"
    call = 'module "queue" {{ source = "{}" }}\n'
    files = {"network/main.tf": bench.backend() + call.format(ssh), "other/main.tf": call.format(https)}
    sha = bench.forge.commit(files)
    plan = bench.plan(sha, run=RunSettings(clone=CloneSettings(("modules",))))
    assert plan["changes"]["add"] == 1
    bench.run(bench.job(JobKind.PLAN, sha, dir="other"))
    assert bench.result()["error"] == "TerraformClientError"
    assert set(bench.forge.tokens) == {f"x-access-token:{CLONE_TOKEN}", ""}


def test_a_plan_is_interrupted_by_sigterm_and_may_be_tried_again(bench: Bench, commit: Callable[..., str]) -> None:
    path = fake_engine(bench, "1.11.4", "plan", WAITING.format(directory=bench.directory))
    job = bench.job(JobKind.PLAN, commit(ONE_RESOURCE))
    process = bench.start(job, PATH=path)
    bench.aws.wait_for((bench.directory / "started").exists)
    process.send_signal(signal.SIGTERM)
    assert bench.finish(process).code == 0
    assert bench.result()["error"] == "Interrupted"


@pytest.mark.nightly
def test_an_apply_with_a_real_provider_needs_no_second_init(bench: Bench, commit: Callable[..., str]) -> None:
    if mirror.find(os.environ) is None:
        pytest.skip("no filesystem mirror of providers on this machine")
    bench.environ.update(mirror.environment(bench.directory, {}))
    configuration = """
terraform {
  required_providers { aws = { source = "hashicorp/aws" } }
}
provider "aws" {
  skip_credentials_validation = true
  skip_requesting_account_id  = true
  skip_metadata_api_check     = true
}
data "aws_iam_policy_document" "open" {
  statement {
    actions   = ["s3:GetObject"]
    resources = ["*"]
  }
}
resource "terraform_data" "network" { input = data.aws_iam_policy_document.open.json }
"""
    sha = commit(configuration)
    plan = bench.plan(sha)
    assert plan["changes"]["add"] == 1
    assert b"hashicorp/aws" in bench.aws.objects[plan["lock_file"]["key"]]
    ended = bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert "Apply complete!" in ended.output
    assert "Initializing" not in ended.output

    # The engine itself holds the providers against the lock file of the plan.
    bench.state().unlink()
    lock = plan["lock_file"]["key"]
    other = re.sub(rb'"h1:[^"]+"', b'"h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="', bench.aws.objects[lock])
    bench.aws.objects[lock] = other
    forged = {**plan, "lock_file": {"key": lock, "sha256": hashlib.sha256(other).hexdigest()}}
    bench.run(bench.job(JobKind.APPLY, sha, forged))
    assert bench.result()["error"] == "TerraformClientError"
    assert not bench.state().exists()


def test_what_is_deployed_is_destroyed_with_its_own_engine_and_lock_file(
    bench: Bench, commit: Callable[..., str]
) -> None:
    sha = commit(ONE_RESOURCE)
    applied = bench.plan(sha)
    bench.run(bench.job(JobKind.APPLY, sha, applied))
    lock = b"# This file is maintained automatically.\n"
    bench.aws.objects["plans/old/lock.hcl"] = lock
    stored = Artifact("plans/old/lock.hcl", hashlib.sha256(lock).hexdigest())

    plan = bench.plan(sha, destroy=True, engine_version=applied["engine_version"], lock_file=stored)

    assert (plan["changes"]["destroy"], plan["changes"]["add"]) == (1, 0)
    assert bench.aws.objects[plan["lock_file"]["key"]] == lock
    bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert "0 added, 0 changed, 1 destroyed" in bench.result()["last_lines"]
    assert json.loads(bench.state().read_text())["resources"] == []


@pytest.mark.parametrize(
    ("digest", "told"), [("", "has expired"), ("00" * 32, "differs from what the deployment's plan")]
)
def test_a_lock_file_that_expired_is_the_commits_and_another_one_is_refused(
    bench: Bench, commit: Callable[..., str], digest: str, told: str
) -> None:
    if digest:
        bench.aws.objects["plans/old/lock.hcl"] = b"provider {}"
    job = bench.job(JobKind.PLAN, commit(ONE_RESOURCE), destroy=True, lock_file=Artifact("plans/old/lock.hcl", digest))
    bench.run(job)
    said = bench.result()["message"] if digest else bench.aws.objects[log_key(job.id)].decode()
    assert told in said
