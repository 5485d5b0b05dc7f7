"""What the files of a root must not say when a pull request is planned, as it would run with credentials."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tests.runner.conftest import Bench
from tests.runner.engines import fake_engine
from tests.runner.git_forge import CLONE_TOKEN
from tests.runner.speculation import DEFAULT_PLAN, Commit, planned, refused, resource
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.workflow import CloneSettings, RunSettings, StepKind, WorkflowStep
from tidegate.roots.rules.root import Engine, EngineName
from tidegate.vcs.git.environment import authorization


def refuse_to_run(bench: Bench) -> str:
    """Return a PATH with an engine that tells, by a file, that it was started for more than its version."""
    return fake_engine(bench, "1.11.4", "get|init|plan", f"touch {bench.directory}/started")


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (
            'data "external" "x" {\n  program = ["sh", "-c", "id"]\n}\n',
            ("network/evil.tf:1:", "'external' runs a program", "pull_requests.allowed_providers"),
        ),
        (
            '\ndata "http" "x" { url = "https://evil.example" }\n',
            ("network/evil.tf:2:", "'http' calls a URL", "pull_requests.allowed_providers"),
        ),
        (
            'terraform {\n  required_providers {\n    aws = {\n      source = "evil/aws"\n    }\n  }\n}\n',
            ("network/evil.tf:4:", "the provider 'evil/aws' may not run", "pull_requests.allowed_providers"),
        ),
        (
            'module "x" {\n  source = "git::https://evil.example/x.git"\n}\n',
            (
                "network/evil.tf:2:",
                "the module source 'git::https://evil.example/x.git' is not allowed",
                "pull_requests.allowed_modules",
            ),
        ),
        (
            'module "x" { source = "/etc" }\n',
            ("network/evil.tf:1:", "the module source '/etc'", "pull_requests.allowed_modules"),
        ),
        (
            'terraform {\n  backend "kubernetes" {\n    exec { command = "sh" }\n  }\n}\n',
            ("network/evil.tf:2:", "the backend 'kubernetes' runs a program", "No setting can allow it"),
        ),
        (
            'provider "aws" {\n  shared_config_files = ["./aws"]\n}\n',
            ("network/evil.tf:2:", "shared_config_files may name a file of the branch", "No setting can allow it"),
        ),
    ],
)
def test_what_could_run_code_is_refused_before_the_engine_starts(
    bench: Bench, commit: Commit, configuration: str, words: tuple[str, ...]
) -> None:
    sha = commit(resource("network"), **{"network/evil.tf": configuration})
    message = refused_at_once(bench, sha)
    assert all(each in message for each in words), message


def refused_at_once(bench: Bench, sha: str) -> str:
    bench.environ["PATH"] = refuse_to_run(bench)
    message = refused(bench, sha)
    assert bench.result()["refused"] is True
    assert not (bench.directory / "started").exists()
    return message


def test_local_modules_are_looked_through_too_in_both_forms_of_the_language(bench: Bench, commit: Commit) -> None:
    sha = commit(
        'module "a" { source = "../modules/a" }\n',
        **{
            "modules/a/main.tf": 'module "b" { source = "./b" }\n',
            "modules/a/b/main.tf.json": json.dumps({"data": {"external": {"x": {"program": ["id"]}}}}),
        },
    )
    message = refused_at_once(bench, sha)
    assert "modules/a/b/main.tf.json: the data source 'external' runs a program" in message


def test_what_is_refused_is_told_in_bounds_and_without_control_characters(bench: Bench, commit: Commit) -> None:
    files = {f"network/x{number}\n\x1b[31m.tf": 'data "external" "x" {}\n' for number in range(30)}
    message = refused_at_once(bench, commit(resource("network"), **files))
    assert "\x1b" not in message
    assert "And 20 more." in message
    assert len(message.splitlines()) == 12


@pytest.mark.parametrize("name", [".terraform/providers/x", "terraform.d/plugins/x"])
def test_a_repository_brings_no_providers_of_its_own(bench: Bench, commit: Commit, name: str) -> None:
    message = refused_at_once(bench, commit(resource("network"), **{f"network/{name}": "program"}))
    assert f"network/{name.partition('/')[0]}: a repository may not contain files that the engine installs." in message


def test_a_file_for_the_backend_is_looked_through(bench: Bench, commit: Commit) -> None:
    sha = commit(resource("network"), **{"network/dev.hcl": 'shared_config_files = ["./aws"]\n'})
    init = WorkflowStep(StepKind.INIT, extra_args=("-backend-config=dev.hcl", "-backend-config=key=value"))
    message = refused(bench, sha, run=RunSettings(plan=(init, DEFAULT_PLAN[-1])))
    assert "network/dev.hcl:1: shared_config_files" in message


def test_a_file_for_the_backend_that_is_the_runner_s_own_is_taken(bench: Bench, commit: Commit) -> None:
    own = bench.directory / "own.hcl"
    own.write_text(f'path = "{bench.directory}/elsewhere.tfstate"\n')
    init = WorkflowStep(StepKind.INIT, extra_args=(f"-backend-config={own}",))
    sha = commit(resource("network"))
    assert planned(bench, sha, run=RunSettings(plan=(init, DEFAULT_PLAN[-1])))["changes"]["add"] == 1


def test_a_provider_that_only_a_resource_names_does_not_run(bench: Bench, commit: Commit) -> None:
    installs = (
        "mkdir -p .terraform/providers/registry.terraform.io/hashicorp/kubernetes; "
        """echo '{"backend": {"type": "s3"}}' > .terraform/terraform.tfstate"""
    )
    path = fake_engine(bench, "1.11.4", "init", f"{installs};; plan) touch {bench.directory}/started")
    bench.environ["PATH"] = path
    message = refused(bench, commit('resource "kubernetes_namespace" "x" {}\n'))
    assert "the provider 'hashicorp/kubernetes' may not run before the merge." in message
    assert not (bench.directory / "started").exists()


def test_a_provider_of_the_base_s_lock_file_is_allowed_and_one_of_the_head_s_is_not(bench: Bench) -> None:
    requirement = 'terraform {{\n  required_providers {{\n    x = {{ source = "{}" }}\n  }}\n}}\n'
    lock = 'provider "registry.terraform.io/{}" {{\n  version = "1.0.0"\n}}\n'
    head, base = bench.forge.pull_request(
        common={
            "network/main.tf": bench.backend() + requirement.format("acme/cloud"),
            "network/.terraform.lock.hcl": lock.format("acme/cloud"),
        },
        head={
            "network/more.tf": requirement.format("evil/cloud"),
            "network/.terraform.lock.hcl": lock.format("acme/cloud") + lock.format("evil/cloud"),
        },
        base={},
    )
    message = refused(bench, head, base_sha=base)
    assert "network/more.tf:3: the provider 'evil/cloud'" in message
    assert "acme/cloud" not in message


def test_the_lists_of_the_job_allow_what_is_refused_else(bench: Bench) -> None:
    source = f"git::{bench.forge.clone_url}//modules/shared"
    sha = bench.forge.commit(
        {
            "network/main.tf": f'{bench.backend()}module "shared" {{ source = "{source}" }}\n',
            "modules/shared/main.tf": resource("shared"),
        }
    )
    assert "is not allowed before the merge" in refused(bench, sha)
    assert planned(bench, sha, allowed_modules=(f"git::{bench.forge.url}/acme/*",))["changes"]["add"] == 1


@pytest.mark.parametrize("changes", [True, False])
def test_an_engine_that_starts_what_lies_in_a_root_plans_no_pull_request(
    bench: Bench, commit: Commit, *, changes: bool
) -> None:
    path = fake_engine(bench, "0.12.31", "get|init|plan", f"touch {bench.directory}/started")
    sha = commit("", **{"network/terraform-provider-null_v99.0.0_x4": "#!/bin/sh\n"})
    engine = Engine(EngineName.TERRAFORM, "0.12.31")
    bench.run(bench.job(JobKind.SPECULATE, sha, engine=engine, base_sha="" if changes else sha), PATH=path)
    assert ("terraform 0.12.31 makes no plans before the merge" in bench.result()["message"]) is changes
    assert (bench.directory / "started").exists() is not changes


def test_nothing_that_expressions_could_read_holds_the_clone_token(bench: Bench) -> None:
    # OpenTofu evaluates expressions while it initializes: file("/proc/self/environ") is one.
    engine = bench.directory / "terraform"
    reading = f"cat /proc/$$/environ >> {bench.directory}/environment-of-$1"
    engine.write_text(f'#!/bin/sh\n{reading}\nexec {shutil.which("terraform")} "$@"\n')
    engine.chmod(0o755)
    call = f'module "queue" {{\n  source = "git::{bench.forge.url}/acme/modules.git//queue"\n}}\n'
    bench.forge.other("modules", {"queue/main.tf": resource("queue")})
    sha = bench.forge.commit({"network/main.tf": bench.backend() + call})
    run = RunSettings(clone=CloneSettings(("modules",)))
    bench.run(bench.job(JobKind.SPECULATE, sha, run=run), PATH=f"{bench.directory}:{os.environ['PATH']}")
    assert bench.result()["changes"]["add"] == 1
    for command in ("get", "init", "plan"):
        environment = (bench.directory / f"environment-of-{command}").read_text()
        assert "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:" in environment
        assert CLONE_TOKEN not in environment
        assert authorization(CLONE_TOKEN) not in environment


def test_a_module_that_was_looked_through_is_not_fetched_once_more(bench: Bench) -> None:
    source = f"git::{bench.forge.clone_url}//modules/shared"
    files = {"modules/shared/main.tf": resource("shared")}
    sha = bench.forge.commit({"network/main.tf": f'{bench.backend()}module "m" {{ source = "{source}" }}\n', **files})
    upgrading = WorkflowStep(StepKind.INIT, extra_args=("-upgrade",))
    run = RunSettings(plan=(upgrading, *DEFAULT_PLAN[1:]))
    planned(bench, sha, run=run, allowed_modules=(f"git::{bench.forge.url}/acme/*",))
    fetched = bench.forge.requests.count("/acme/infra.git/git-upload-pack")
    again = planned(bench, sha, allowed_modules=(f"git::{bench.forge.url}/acme/*",))
    assert again["changes"]["add"] == 1
    assert bench.forge.requests.count("/acme/infra.git/git-upload-pack") == 2 * fetched


def test_a_module_from_elsewhere_is_looked_through_before_anything_of_it_runs(bench: Bench) -> None:
    source = f"git::{bench.forge.clone_url}//modules/shared"
    sha = bench.forge.commit(
        {
            "network/main.tf": f'{bench.backend()}module "shared" {{ source = "{source}" }}\n',
            "modules/shared/main.tf": 'data "external" "x" { program = ["id"] }\n',
        }
    )
    message = refused(bench, sha, allowed_modules=(f"git::{bench.forge.url}/acme/*",))
    assert "/.terraform/modules/shared/modules/shared/main.tf:1: the data source 'external'" in message
    assert "Initializing" not in bench.result()["last_lines"]


@pytest.mark.parametrize(
    ("hiding", "words"),
    [
        (
            "locals {\n  x = <<A·B\n  words\nA·B\n}\n",
            "network/evil.tf:2: this cannot be parsed: the end marker of a heredoc has",
        ),
        ("locals {\n  x = 1 }\n", "network/evil.tf:2: this cannot be parsed"),
        (f"locals {{\n  config = {{{'#' * 60}\n  }}\n}}\n", "network/evil.tf:5: the module source 'evil/x/y'"),
    ],
)
def test_nothing_hides_a_module_from_the_first_look(bench: Bench, commit: Commit, hiding: str, words: str) -> None:
    files = {"network/evil.tf": hiding + 'module "hidden" { source = "evil/x/y" }\n'}
    assert words in refused_at_once(bench, commit(resource("network"), **files))


def test_a_file_too_large_to_be_looked_through_is_refused(bench: Bench, commit: Commit) -> None:
    message = refused_at_once(bench, commit(resource("network"), **{"network/large.tf": "#" * 5_242_881}))
    assert "network/large.tf: the file is too large to check." in message
