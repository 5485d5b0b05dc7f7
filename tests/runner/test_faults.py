"""What goes wrong in a job, and what is reported then."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.descendants import children_of
from tests.runner.conftest import Bench
from tests.runner.engines import WAITING, fake_engine, provisioned
from tests.runner.fake_aws import JOB_TOKEN, START_TOKEN, Refusal
from tests.runner.git_forge import CLONE_TOKEN
from tidegate.deploys.adapters.job_items import job_key
from tidegate.deploys.rules.job import JobKind
from tidegate.vcs.git.environment import authorization

GOOD = 'resource "terraform_data" "network" { input = "10.0.0.0/16" }\n'
Commit = Callable[..., str]


def test_a_refused_start_token_means_that_nothing_is_done(bench: Bench, commit: Commit) -> None:
    job = bench.job(JobKind.PLAN, commit(GOOD))
    bench.aws.gone.add(START_TOKEN)
    ended = bench.run(job)
    assert ended.code == 3
    assert bench.aws.calls == [("states", "SendTaskSuccess")]


def test_a_job_that_another_runner_took_is_left_alone(bench: Bench, commit: Commit) -> None:
    job = bench.job(JobKind.PLAN, commit(GOOD))
    bench.aws.record(job.id)["taken_by"] = {"S": "another"}
    ended = bench.run(job)
    assert ended.code == 4
    assert "another runner" in ended.output
    assert [token for _, token, _ in bench.aws.answers] == [START_TOKEN]
    assert bench.forge.tokens == []


def test_a_closed_job_is_left_alone(bench: Bench, commit: Commit) -> None:
    job = bench.job(JobKind.APPLY, commit(GOOD))
    bench.aws.record(job.id)["closed"] = {"BOOL": True}
    assert bench.run(job).code == 4


def test_a_job_that_is_never_handed_over_is_given_up(bench: Bench, commit: Commit) -> None:
    job = bench.job(JobKind.PLAN, commit(GOOD))
    bench.aws.dispatch_on_start = None
    ended = bench.run(job, TIDEGATE_DISPATCH_SECONDS="0.2")
    assert ended.code == 4
    assert "was not dispatched within" in ended.output


def test_a_lost_answer_to_the_taking_does_not_lose_the_job(bench: Bench, commit: Commit) -> None:
    job = bench.job(JobKind.PLAN, commit(GOOD))
    bench.aws.lose_answer_of = "UpdateItem"
    assert bench.run(job).code == 0
    assert bench.result()["changes"]["add"] == 1


@pytest.mark.parametrize("variable", ["TIDEGATE_JOB", "TIDEGATE_TABLE", "TIDEGATE_ENGINE_ROLE"])
def test_a_missing_variable_is_named(bench: Bench, commit: Commit, variable: str) -> None:
    ended = bench.run(bench.job(JobKind.PLAN, commit(GOOD)), **{variable: ""})
    assert ended.code == 2
    assert f"{variable} is not set" in ended.output


@pytest.mark.parametrize(
    ("configuration", "command", "words"),
    [
        (
            'terraform {\n  required_providers {\n    x = { source = "example.invalid/a/b" }\n  }\n}\n',
            "init",
            "example.invalid",
        ),
        ('output "x" { value = nothing.there }\n', "plan", "Reference to undeclared resource"),
    ],
)
def test_a_plan_that_the_engine_refuses_fails_with_the_engines_words(
    bench: Bench, commit: Commit, configuration: str, command: str, words: str
) -> None:
    job = bench.job(JobKind.PLAN, commit(configuration))
    ended = bench.run(job)
    assert ended.code == 0
    assert bench.result()["error"] == "TerraformClientError"
    assert bench.result()["message"] == f"terraform {command} failed with exit code 1."
    assert words in bench.result()["last_lines"]
    assert words in bench.stored_log(job.id)
    assert words in "\n".join(bench.aws.log_lines(job.id))
    assert bench.left_behind() == []


def test_a_failing_apply_fails_with_the_engines_words(bench: Bench, commit: Commit) -> None:
    sha = commit(provisioned("echo broken pipe dream; exit 3"))
    job = bench.job(JobKind.APPLY, sha, bench.plan(sha))
    bench.run(job)
    assert bench.result()["error"] == "TerraformClientError"
    assert "broken pipe dream" in bench.result()["last_lines"]
    assert "broken pipe dream" in bench.stored_log(job.id)


def test_an_altered_plan_file_is_not_applied(bench: Bench, commit: Commit) -> None:
    sha = commit(GOOD)
    plan = bench.plan(sha)
    bench.aws.objects[plan["file"]["key"]] += b"\0"
    bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert bench.result()["error"] == "PlanAltered"
    assert "Nothing was applied" in bench.result()["message"]
    assert not bench.state().exists()


def test_a_plan_file_that_has_expired_is_not_applied(bench: Bench, commit: Commit) -> None:
    sha = commit(GOOD)
    plan = bench.plan(sha)
    del bench.aws.objects[plan["file"]["key"]]
    bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert bench.result()["error"] == "ApplyNotStarted"
    assert "Plan again" in bench.result()["message"]
    assert not bench.state().exists()


def test_without_knowing_what_to_mask_nothing_is_applied(bench: Bench, commit: Commit) -> None:
    sha = commit(GOOD)
    plan = bench.plan(sha)
    bench.aws.objects[plan["json"]["key"]] = b"{}"
    bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert bench.result()["error"] == "PlanAltered"
    assert not bench.state().exists()


def test_another_engine_version_does_not_apply_the_plan(bench: Bench, commit: Commit) -> None:
    sha = commit(GOOD)
    plan = {**bench.plan(sha), "engine_version": "1.99.0"}
    bench.run(bench.job(JobKind.APPLY, sha, plan), TIDEGATE_RELEASE_MIRROR="http://127.0.0.1:9")
    assert bench.result()["error"] == "ApplyNotStarted"
    assert not bench.state().exists()


def test_a_state_that_moved_since_the_plan_is_not_applied_to(bench: Bench, commit: Commit) -> None:
    sha = commit(GOOD)
    plan = bench.plan(sha)
    bench.run(bench.job(JobKind.APPLY, sha, plan))
    bench.run(bench.job(JobKind.APPLY, sha, plan))
    assert bench.result()["error"] == "TerraformClientError"
    assert "Saved plan is stale" in bench.result()["last_lines"]


def test_a_commit_that_cannot_be_cloned_is_a_fault(bench: Bench, commit: Commit) -> None:
    commit(GOOD)
    ended = bench.run(bench.job(JobKind.PLAN, "0123456789" * 4))
    assert ended.code == 1
    assert bench.result()["error"] == "RunnerFault"
    assert "git fetch failed" in bench.result()["message"]


def test_an_apply_that_cannot_be_cloned_has_changed_nothing(bench: Bench, commit: Commit) -> None:
    plan = bench.plan(commit(GOOD))
    bench.run(bench.job(JobKind.APPLY, "0123456789" * 4, plan))
    assert bench.result()["error"] == "ApplyNotStarted"


def test_a_root_behind_a_link_out_of_the_repository_is_refused(bench: Bench) -> None:
    sha = bench.forge.commit({"README": "x"}, links={"network": "/etc"})
    bench.run(bench.job(JobKind.PLAN, sha))
    assert "points outside of the repository" in bench.result()["message"]
    assert bench.result()["error"] == "TerraformClientError"


@pytest.mark.parametrize("setting", ["path = -x", "url = -u./payload"])
def test_submodules_that_git_refuses_are_the_authors_mistake(bench: Bench, setting: str) -> None:
    hostile = f'[submodule "x"]\n\tpath = x\n\turl = https://example.com/x\n\t{setting}\n'
    sha = bench.forge.commit({"network/main.tf": GOOD, ".gitmodules": hostile})
    bench.run(bench.job(JobKind.PLAN, sha))
    assert bench.result()["error"] == "TerraformClientError"
    assert ".gitmodules" in bench.result()["message"]


def test_a_root_without_a_directory_is_the_authors_mistake(bench: Bench) -> None:
    sha = bench.forge.commit({"elsewhere/main.tf": GOOD})
    bench.run(bench.job(JobKind.PLAN, sha))
    assert bench.result()["error"] == "TerraformClientError"


def test_a_role_that_cannot_be_assumed_is_a_fault(bench: Bench, commit: Commit) -> None:
    job = bench.job(JobKind.PLAN, commit(GOOD))
    bench.aws.refuse = lambda service, _: Refusal(403, "AccessDenied") if service == "sts" else None
    bench.run(job)
    assert bench.result()["error"] == "RunnerFault"
    assert "cannot assume the" in bench.result()["message"]


def test_a_log_store_that_fails_does_not_fail_the_job(bench: Bench, commit: Commit) -> None:
    job = bench.job(JobKind.PLAN, commit(GOOD))
    bench.aws.refuse = lambda _, operation: Refusal(400, "ValidationException") if operation == "PutItem" else None
    ended = bench.run(job)
    assert ended.code == 0
    assert bench.result()["changes"]["add"] == 1
    assert ended.output.count("did not reach the log store") == 1
    assert "Plan: 1 to add" in bench.stored_log(job.id)


def test_a_result_that_nobody_takes_ends_the_runner_with_its_own_code(bench: Bench, commit: Commit) -> None:
    job = bench.job(JobKind.PLAN, commit(GOOD))
    bench.aws.gone.add(JOB_TOKEN)
    ended = bench.run(job, TIDEGATE_HEARTBEAT_SECONDS="600")
    assert ended.code == 5
    assert "reporting the result failed" in ended.output
    assert "Plan: 1 to add" in bench.stored_log(job.id)


# Signals and heartbeats. The engine runs a script that waits until it is interrupted or released.


def start_waiting_apply(bench: Bench, commit: Commit, **environ: str):
    sha = commit(provisioned(WAITING.format(directory=bench.directory)))
    job = bench.job(JobKind.APPLY, sha, bench.plan(sha))
    process = bench.start(job, **environ)
    bench.aws.wait_for((bench.directory / "started").exists)
    return job, process


def engine_of(runner: int) -> int:
    """Return the process id of the engine that the runner runs."""
    (job,) = children_of(runner)
    return next(child for child in children_of(job) if "terraform" in Path(f"/proc/{child}/comm").read_text())


def test_sigterm_during_an_apply_is_one_interrupt_and_the_state_is_saved(bench: Bench, commit: Commit) -> None:
    job, process = start_waiting_apply(bench, commit)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    ended = bench.finish(process)
    assert ended.code == 0
    assert bench.result()["error"] == "Interrupted"
    assert bench.result()["ended"] is True
    assert "Interrupt received" in ended.output
    assert "Two interrupts received" not in ended.output
    assert bench.state().exists()
    assert "Interrupt received" in bench.stored_log(job.id)


def test_sigterm_before_an_apply_has_started_changes_nothing(bench: Bench, commit: Commit) -> None:
    sha = commit(GOOD)
    job = bench.job(JobKind.APPLY, sha, bench.plan(sha))
    bench.aws.dispatch_on_start = None
    process = bench.start(job)
    bench.aws.wait_for(lambda: ("dynamodb", "GetItem") in bench.aws.calls and bench.aws.answer(START_TOKEN))
    process.send_signal(signal.SIGTERM)
    assert bench.finish(process).code != 0
    assert not bench.state().exists()


def test_an_engine_that_does_not_end_in_time_is_reported_and_not_killed(bench: Bench, commit: Commit) -> None:
    sha = commit(GOOD)
    plan = bench.plan(sha)
    waiting = WAITING.format(directory=bench.directory)
    script = f"exec >/dev/null 2>&1; trap '' INT; {waiting}; touch {bench.directory}/finished"
    path = fake_engine(bench, plan["engine_version"], "apply", script)
    process = bench.start(bench.job(JobKind.APPLY, sha, plan), PATH=path, TIDEGATE_STOP_SECONDS="0.3")
    bench.aws.wait_for((bench.directory / "started").exists)
    process.send_signal(signal.SIGTERM)
    bench.aws.wait_for(lambda: bench.aws.answer(JOB_TOKEN))
    assert bench.result()["error"] == "Interrupted"
    assert "did not exit within" in bench.result()["message"]
    assert "ended" not in bench.result()
    bench.finish(process)
    assert bench.left_behind() != []  # The engine still works there.
    (bench.directory / "release").touch()
    bench.aws.wait_for((bench.directory / "finished").exists)


def test_a_killed_engine_is_reported(bench: Bench, commit: Commit) -> None:
    job, process = start_waiting_apply(bench, commit)
    os.kill(engine_of(process.pid), signal.SIGKILL)
    bench.finish(process)
    assert bench.result()["error"] == "TerraformClientError"
    assert "killed by SIGKILL" in bench.result()["message"]
    assert "engine" in bench.stored_log(job.id)


def test_heartbeats_are_sent_while_the_engine_works(bench: Bench, commit: Commit) -> None:
    _, process = start_waiting_apply(bench, commit, TIDEGATE_HEARTBEAT_SECONDS="0.05")
    bench.aws.wait_for(lambda: bench.aws.heartbeats >= 3)
    (bench.directory / "release").touch()
    assert bench.finish(process).code == 0


def test_an_apply_that_nobody_waits_for_goes_on_to_its_end(bench: Bench, commit: Commit) -> None:
    job, process = start_waiting_apply(bench, commit, TIDEGATE_HEARTBEAT_SECONDS="0.05")
    bench.aws.gone.add(JOB_TOKEN)
    bench.aws.wait_for(lambda: any("the apply continues to its end" in line for line in bench.aws.log_lines(job.id)))
    (bench.directory / "release").touch()
    assert bench.finish(process).code == 5
    assert "Apply complete!" in bench.stored_log(job.id)
    assert json.loads(bench.state().read_text())["resources"]


def test_a_plan_that_nobody_waits_for_is_stopped(bench: Bench, commit: Commit) -> None:
    path = fake_engine(bench, "1.11.4", "plan", WAITING.format(directory=bench.directory))
    job = bench.job(JobKind.PLAN, commit(GOOD))
    process = bench.start(job, PATH=path, TIDEGATE_HEARTBEAT_SECONDS="0.05")
    bench.aws.wait_for((bench.directory / "started").exists)
    bench.aws.gone.add(JOB_TOKEN)
    assert bench.finish(process).code == 5
    assert "This plan was cancelled" in bench.stored_log(job.id)


def test_nothing_but_the_engine_sees_the_engines_credentials_and_it_sees_no_others(
    bench: Bench, commit: Commit
) -> None:
    sha = commit(provisioned(f"env | sort > {bench.directory}/environment"))
    job = bench.job(JobKind.APPLY, sha, bench.plan(sha))
    bench.run(job, TF_VAR_region="eu", TF_CLI_ARGS="-destroy", SECRET_OF_THE_RUNNER="x")
    environment = (bench.directory / "environment").read_text()
    assert "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:" in environment
    assert "TF_VAR_region=eu" in environment
    for absent in (
        "runner-secret",
        START_TOKEN,
        JOB_TOKEN,
        CLONE_TOKEN,
        "TF_CLI_ARGS",
        "SECRET_OF",
        "GIT_",
    ):
        assert absent not in environment
    names = {line.partition("=")[0] for line in environment.splitlines()}
    about_the_job = ["DIR", "ENVIRONMENT", "JOB", "PLAN_FILE", "REPOSITORY", "REVISION", "ROOT", "STACK", "WORKSPACE"]
    assert {name for name in names if name.startswith("TIDEGATE_")} == {f"TIDEGATE_{each}" for each in about_the_job}
    assert "RoleSessionName=network-" in bench.aws.assumed[0]


def test_the_clone_token_is_in_no_argument_and_no_file(bench: Bench, commit: Commit) -> None:
    (bench.directory / "secrets").write_text(f"{CLONE_TOKEN}\n{authorization(CLONE_TOKEN)}\n")
    search = f"grep -rFf {bench.directory}/secrets"
    script = f"{search} ../.. > {bench.directory}/found; {search} -a /proc/[0-9]*/cmdline >> {bench.directory}/found"
    sha = commit(provisioned(f"{script}; true"))
    ended = bench.run(bench.job(JobKind.APPLY, sha, bench.plan(sha)))
    assert "Apply complete!" in ended.output
    assert (bench.directory / "found").read_text() == ""
    assert set(bench.forge.tokens) == {f"x-access-token:{CLONE_TOKEN}"}
    assert "clone_token" not in bench.aws.items[job_key(f"network-{sha[:7]}-apply-1"), "record"]
