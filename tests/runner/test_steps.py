"""The steps of a workflow: what they see, their order, and that none changes what is reviewed and applied."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from runner.step_output import Captured, set_by
from tests.runner.conftest import Bench
from tests.runner.fake_aws import JOB_TOKEN, START_TOKEN
from tests.runner.git_forge import CLONE_TOKEN
from tests.runner.test_faults import WAITING, stored_log
from tidegate.domain.deploys.job import Job, JobKind
from tidegate.domain.deploys.workflow import RunOn, RunSettings, StepKind, WorkflowStep
from tidegate.domain.root import Engine, EngineName

Commit = Callable[..., str]
GOOD = 'resource "terraform_data" "network" { input = "10.0.0.0/16" }\n'
INIT, PLAN, APPLY = (WorkflowStep(kind) for kind in (StepKind.INIT, StepKind.PLAN, StepKind.APPLY))
VERSION = "1.11.4"
#: An engine that notes how it is called, and makes what the runner wants of it.
ENGINE = """#!/bin/sh
case $1 in
  version) echo '{{"terraform_version": "{version}"}}'; exit;;
  init) mkdir -p .terraform; echo '{{"backend": {{"type": "s3"}}}}' > .terraform/terraform.tfstate;;
  plan) echo planned > {directory}/../plan-was-made; for last; do :; done; echo the-plan > "${{last#-out=}}";;
  show) echo '{{"format_version": "1", "resource_changes": []}}'; exit;;
  apply) for last; do :; done; cat "$last" > {directory}/applied; {applying};;
esac
echo "$0 $@" >> {directory}/calls
echo "engine $1: ${{TF_VAR_region:-unset}}"
"""


def run_step(script: str, **fields: Any) -> WorkflowStep:
    return WorkflowStep(StepKind.RUN, ("sh", "-c", script.replace("$", "$$")), **fields)


def env_step(name: str, script: str, **fields: Any) -> WorkflowStep:
    return WorkflowStep(StepKind.ENV, ("sh", "-c", script.replace("$", "$$")), name, **fields)


class Steps:
    """A root whose engine is a script, so that a job takes little time."""

    def __init__(self, bench: Bench, commit: Commit) -> None:
        self.bench = bench
        self.sha = commit(GOOD)
        self.notes = bench.directory / "engine"
        self.notes.mkdir()
        self.engine()

    def engine(self, name: str = "terraform", version: str = VERSION, applying: str = ":") -> None:
        program = self.notes / name
        program.write_text(ENGINE.format(version=version, directory=self.notes, applying=applying))
        program.chmod(0o755)
        self.bench.environ["PATH"] = f"{self.notes}:{os.environ['PATH']}"

    def calls(self) -> list[list[str]]:
        file = self.notes / "calls"
        return [shlex.split(line)[1:] for line in file.read_text().splitlines()] if file.exists() else []

    def plan_job(self, *steps: WorkflowStep, **options: Any) -> Job:
        variables = options.pop("variables", ())
        run = RunSettings(options.pop("environment", ""), variables, steps)
        return self.bench.job(JobKind.PLAN, self.sha, run=run, **options)

    def plan(self, *steps: WorkflowStep, **options: Any) -> Job:
        """Run a plan job to its end."""
        job = self.plan_job(*steps, **options)
        ended = self.bench.run(job)
        assert self.bench.left_behind() == []
        assert ended.code == 0, ended.output
        return job

    def apply_job(self, *steps: WorkflowStep, plan: tuple[WorkflowStep, ...] = (INIT, PLAN)) -> Job:
        made: dict[str, Any] = {"engine_version": VERSION, "lock_file": None}
        for part, name, content in (
            ("file", "plan.tfplan", b"the-plan\n"),
            ("json", "plan.json", b'{"format_version": "1", "resource_changes": []}'),
            ("links", "providers.json", b"{}"),
        ):
            key = f"plans/network-{self.sha[:7]}-plan-1/{name}"
            self.bench.aws.objects[key] = content
            made[part] = {"key": key, "sha256": hashlib.sha256(content).hexdigest()}
        return self.bench.job(JobKind.APPLY, self.sha, made, run=RunSettings(plan=plan, apply=steps))

    def apply(self, *steps: WorkflowStep, **options: Any) -> Job:
        job = self.apply_job(*steps, **options)
        ended = self.bench.run(job)
        assert ended.code == 0, ended.output
        return job

    @property
    def applied(self) -> bool:
        return (self.notes / "applied").exists()

    def log(self, job: Job) -> str:
        return stored_log(self.bench, job.id)

    def failed(self, error: str, words: str) -> Mapping[str, Any]:
        result = self.bench.result()
        assert result["error"] == error
        assert words in result["message"]
        return result

    def succeeded(self) -> Mapping[str, Any]:
        answer = self.bench.aws.answer(JOB_TOKEN)
        assert answer is not None
        assert answer[0] == "success", answer
        return answer[1]


@pytest.fixture
def steps(bench: Bench, commit: Commit) -> Steps:
    return Steps(bench, commit)


# What steps see and do


def test_steps_run_in_their_order_in_the_roots_directory(steps: Steps) -> None:
    job = steps.plan(run_step("echo first in $(basename $PWD)"), INIT, run_step("echo second"), PLAN, run_step("ls"))
    steps.succeeded()
    log = steps.log(job)
    places = [log.index(words) for words in ("first in network", "engine init", "\nsecond", "engine plan", "main.tf")]
    assert places == sorted(places)
    assert "tidegate: run: sh -c echo second\nsecond\n" in log


def test_programs_see_what_the_job_is_about_and_the_stacks_variables(steps: Steps, bench: Bench) -> None:
    script = "env | grep -E '^(TIDEGATE|STACK_VAR)_' | sort; echo; echo \"$STACK_VAR_ZONE\""
    variables = (("STACK_VAR_REGION", "eu $HOME 'x'"), ("STACK_VAR_ZONE", "line\nfeed"))
    job = steps.plan(
        INIT, run_step(script), PLAN, run_step("cat $TIDEGATE_PLAN_FILE"), variables=variables,
        environment="prod-eu", stack="prod", workspace="blue",
    )  # fmt: skip
    log = steps.log(job)
    for line in (
        "STACK_VAR_REGION=eu $HOME 'x'",
        "line\nfeed",
        "TIDEGATE_DIR=network",
        "TIDEGATE_ENVIRONMENT=prod-eu",
        f"TIDEGATE_JOB={job.id}",
        "TIDEGATE_REPOSITORY=acme/infra",
        f"TIDEGATE_REVISION={steps.sha}",
        "TIDEGATE_ROOT=network",
        "TIDEGATE_STACK=prod",
        "TIDEGATE_WORKSPACE=blue",
        "the-plan",
    ):
        assert f"\n{line}\n" in log


def test_programs_see_the_engines_credentials_and_nothing_of_the_runners(steps: Steps, bench: Bench) -> None:
    steps.plan(INIT, run_step(f"env > {bench.directory}/seen"), PLAN)
    seen = (bench.directory / "seen").read_text()
    assert "AWS_ACCESS_KEY_ID=ASIAENGINE" in seen
    for absent in ("runner-secret", START_TOKEN, JOB_TOKEN, CLONE_TOKEN, "TIDEGATE_TABLE", "GIT_CONFIG"):
        assert absent not in seen


def test_no_shell_reads_a_command(steps: Steps) -> None:
    words = ("printf", "%s|", "a b", "$$(id)", ";", "'", "\n", "`id`", "é")
    job = steps.plan(INIT, WorkflowStep(StepKind.RUN, words), PLAN)
    assert "a b|$(id)|;|'|\n|`id`|é|" in steps.log(job)


def test_names_in_commands_and_environments_are_replaced(steps: Steps) -> None:
    step = WorkflowStep(StepKind.RUN, ("echo", "$HERE/${TIDEGATE_ROOT}", "$$HERE"), env=(("HERE", "in-$STACK_VAR_A"),))
    job = steps.plan(INIT, step, PLAN, variables=(("STACK_VAR_A", "${STACK_VAR_B}"),))
    assert "in-${STACK_VAR_B}/network $HERE\n" in steps.log(job)


def test_a_name_that_is_not_set_fails_the_step_and_is_told(steps: Steps) -> None:
    steps.plan(INIT, WorkflowStep(StepKind.RUN, ("echo", "${NOWHERE}")), PLAN)
    steps.failed("TerraformClientError", "names ${NOWHERE}, which is not set")
    assert [call[0] for call in steps.calls()] == ["init"]


def test_arguments_and_variables_reach_the_engine(steps: Steps) -> None:
    steps.plan(
        env_step("TF_VAR_region", "echo eu-west-1"),
        WorkflowStep(StepKind.INIT, extra_args=("-backend-config=${TIDEGATE_STACK}.hcl",)),
        WorkflowStep(StepKind.PLAN, extra_args=("-var-file=dev.tfvars",), env=(("TF_VAR_region", "$STACK_VAR_R"),)),
        variables=(("STACK_VAR_R", "us-east-1"),),
        stack="dev",
    )
    init, plan = steps.calls()
    assert "-backend-config=dev.hcl" in init
    assert "-var-file=dev.tfvars" in plan
    log = "\n".join(steps.bench.aws.log_lines(steps.bench.result()["job"]))
    assert "engine init: eu-west-1" in log
    assert "engine plan: us-east-1" in log


def test_the_real_engine_plans_and_applies_with_steps(bench: Bench, commit: Commit) -> None:
    sha = commit(
        'variable "region" {}\nresource "terraform_data" "network" { input = var.region }\n',
        **{"network/prod.tfvars": 'region = "eu-central-1"\n'},
    )
    run = RunSettings(
        plan=(INIT, WorkflowStep(StepKind.PLAN, extra_args=("-var-file=${TIDEGATE_STACK}.tfvars",))),
        apply=(
            run_step("echo before"),
            INIT,
            WorkflowStep(StepKind.APPLY, extra_args=("-parallelism=2",)),
            WorkflowStep(StepKind.RUN, ("terraform", "show", "-no-color")),
        ),
    )
    plan = bench.plan(sha, run=run, stack="prod")
    bench.run(bench.job(JobKind.APPLY, sha, plan, run=run, stack="prod"))
    assert "Apply complete! Resources: 1 added" in bench.result()["last_lines"]
    assert '"eu-central-1"' in bench.state().read_text()
    assert "# terraform_data.network:" in stored_log(bench, bench.result()["job"])


def test_each_stack_has_its_own_engine(steps: Steps, bench: Bench) -> None:
    steps.engine("tofu", "1.10.6")
    steps.engine("terraform", VERSION)
    tofu = Engine(EngineName.TOFU, "1.10.6")
    terraform = Engine(EngineName.TERRAFORM, VERSION)
    for engine in (tofu, terraform):
        job = steps.plan(INIT, PLAN, engine=engine)
        assert steps.succeeded()["engine_version"] == engine.version
        assert f"{engine.name} {engine.version} in network" in steps.log(job)
    programs = [line.split()[0] for line in (steps.notes / "calls").read_text().splitlines()]
    assert [Path(each).name for each in programs] == ["tofu", "tofu", "terraform", "terraform"]


# Failures


def test_a_failing_program_fails_the_plan_and_nothing_follows_but_what_wants_to(steps: Steps) -> None:
    job = steps.plan(
        INIT,
        run_step("echo it broke; exit 3"),
        PLAN,
        run_step("echo not me"),
        run_step("echo cleaning up", run_on=RunOn.FAILURE),
        run_step("echo in any case", run_on=RunOn.ALWAYS),
    )
    result = steps.failed("TerraformClientError", "failed with exit code 3.")
    assert "it broke" in result["last_lines"]
    assert "cleaning up" not in result["last_lines"]
    log = steps.log(job)
    assert "\ncleaning up\n" in log
    assert "\nin any case\n" in log
    assert "\nnot me\n" not in log
    assert [call[0] for call in steps.calls()] == ["init"]


def test_what_is_for_failures_does_not_run_after_success(steps: Steps) -> None:
    job = steps.plan(INIT, PLAN, run_step("echo oh no", run_on=RunOn.FAILURE), run_step("echo ok", run_on=RunOn.ALWAYS))
    steps.succeeded()
    assert "\noh no\n" not in steps.log(job)
    assert "\nok\n" in steps.log(job)


def test_a_check_after_the_plan_can_refuse_it(steps: Steps) -> None:
    steps.plan(INIT, PLAN, run_step("grep -q forbidden $TIDEGATE_PLAN_FILE || { echo against the rules; exit 1; }"))
    assert "against the rules" in steps.failed("TerraformClientError", "exit code 1")["last_lines"]


def test_errors_may_be_ignored(steps: Steps) -> None:
    ignored = run_step("exit 7", ignore_errors=True)
    job = steps.plan(INIT, ignored, WorkflowStep(StepKind.RUN, ("no-such-program",), ignore_errors=True), PLAN)
    steps.succeeded()
    assert "failed with exit code 7. This is ignored." in steps.log(job)


@pytest.mark.parametrize("command", [("no-such-program",), ("./main.tf",), ("a\0b",), ("echo", "x" * 200_000)])
def test_a_program_that_cannot_be_started_fails_its_step(steps: Steps, command: tuple[str, ...]) -> None:
    steps.plan(INIT, WorkflowStep(StepKind.RUN, command), PLAN)
    steps.failed("TerraformClientError", "cannot be started")


def test_a_program_that_never_ends_is_killed_with_all_that_it_started(steps: Steps, bench: Bench) -> None:
    bench.environ["TIDEGATE_PROGRAM_SECONDS"] = "0.5"
    steps.plan(INIT, run_step(f"setsid sleep 300 & echo $! > {bench.directory}/daemon; trap '' INT TERM; cat"), PLAN)
    steps.plan(INIT, run_step(f"setsid sleep 300 & echo $! > {bench.directory}/daemon; sleep 300"), PLAN)
    steps.failed("TerraformClientError", "did not end within 0 s and was killed")
    assert not Path(f"/proc/{(bench.directory / 'daemon').read_text().strip()}").exists()


def test_an_interrupted_program_ends_and_nothing_more_is_started(steps: Steps, bench: Bench) -> None:
    waiting = run_step(WAITING.format(directory=bench.directory))
    process = bench.start(steps.plan_job(INIT, waiting, PLAN, run_step("echo never", run_on=RunOn.ALWAYS)))
    bench.aws.wait_for((bench.directory / "started").exists)
    process.send_signal(signal.SIGTERM)
    ended = bench.finish(process)
    assert "\nnever\n" not in ended.output
    steps.failed("Interrupted", "told to stop")
    assert [call[0] for call in steps.calls()] == ["init"]


def test_a_program_that_ignores_the_interrupt_is_killed(steps: Steps, bench: Bench) -> None:
    stubborn = run_step(f"trap '' INT; {WAITING.format(directory=bench.directory)}")
    process = bench.start(steps.plan_job(INIT, stubborn, PLAN), TIDEGATE_STOP_SECONDS="0.3")
    bench.aws.wait_for((bench.directory / "started").exists)
    process.send_signal(signal.SIGTERM)
    bench.finish(process, 20)
    steps.failed("Interrupted", "was killed")
    assert bench.left_behind() == []


def test_huge_output_is_cut_into_lines_and_does_not_stop_the_job(steps: Steps, bench: Bench) -> None:
    job = steps.plan(INIT, run_step("head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end"), PLAN)
    steps.succeeded()
    assert "\nthe end\n" in steps.log(job)


def test_hostile_commands_stand_in_one_line_of_the_log(steps: Steps) -> None:
    job = steps.plan(INIT, WorkflowStep(StepKind.RUN, ("true", "a\ntidegate: forged\x1b[2J\u2028b" + "x" * 5000)), PLAN)
    heading = next(line for line in steps.log(job).split("\n") if line.startswith("tidegate: run: "))
    assert "a\\ntidegate: forged\\x1b[2J\\u2028bxxx" in heading
    assert len(heading) < 300
    assert not any(line.startswith("tidegate: forged") for line in steps.log(job).split("\n"))


@pytest.mark.parametrize(
    ("plan", "words"), [((PLAN,), "no step init"), ((INIT,), "no step plan"), ((INIT, PLAN, APPLY), "step apply")]
)
def test_a_plan_job_without_its_own_steps_is_refused(steps: Steps, plan: tuple[WorkflowStep, ...], words: str) -> None:
    steps.plan(*plan)
    steps.failed("TerraformClientError", words)
    assert steps.calls() == []


@pytest.mark.parametrize("name", ["STACK_VAR\nX", "PATH"])
def test_stack_variables_of_other_names_are_refused(steps: Steps, name: str) -> None:
    steps.plan(INIT, PLAN, variables=((name, "x"),))
    steps.failed("TerraformClientError", "variables cannot be used")


# Variables that steps set


def test_an_env_step_sets_what_its_program_prints(steps: Steps) -> None:
    tell = run_step('echo "[$A] [$B]"')
    job = steps.plan(
        env_step("A", "echo one; echo two; echo; echo aside >&2"), env_step("B", "printf ''"), INIT, PLAN, tell
    )
    log = steps.log(job)
    assert "[one\ntwo] []" in log
    assert "aside" in log
    assert "tidegate: set A" in log


def test_an_env_step_may_set_several(steps: Steps) -> None:
    lines = "printf '# names\\n\\nA=1=2\\r\\nexport B= two \\nA=3\\n'"
    job = steps.plan(env_step("", lines, source=True), INIT, PLAN, run_step('echo "[$A] [$B]"'))
    assert "[3] [ two ]" in steps.log(job)
    assert "tidegate: set A, B" in steps.log(job)


def test_a_sensitive_value_is_masked_from_then_on(steps: Steps, bench: Bench) -> None:
    job = steps.plan(
        env_step("TOKEN", "printf %s-of-%s hunter secrets", sensitive=True),
        env_step("", "printf OTHER=%s-secret second", source=True, sensitive=True),
        INIT,
        PLAN,
        run_step("echo $TOKEN $OTHER; echo $TOKEN | base64; exit 1"),
    )
    everything = json.dumps(bench.result()) + steps.log(job) + "\n".join(bench.aws.log_lines(job.id))
    assert "(masked) (masked)" in everything
    for secret in ("hunter-of-secrets", "second-secret", "aHVudGVyLW9mLXNlY3JldH"):
        assert secret not in everything


def test_a_program_that_fails_sets_nothing_and_what_it_printed_is_not_shown(steps: Steps) -> None:
    job = steps.plan(env_step("A", "printf %s-value secret; exit 4"), INIT, PLAN)
    steps.failed("TerraformClientError", "exit code 4")
    assert steps.calls() == []
    assert "secret-value" not in steps.log(job)


@pytest.mark.parametrize(
    ("script", "words"), [("head -c 9000000 /dev/urandom", "more than 100,000"), ("echo LD_PRELOAD=x", "LD_PRELOAD")]
)
def test_a_program_cannot_set_what_no_step_may(steps: Steps, script: str, words: str) -> None:
    steps.plan(env_step("", script, source=True), INIT, PLAN)
    steps.failed("TerraformClientError", words)
    assert steps.calls() == []


def captured(content: bytes) -> Captured:
    captured = Captured()
    for start in range(0, len(content), 60_000):
        captured.take(content[start : start + 60_000])
    return captured


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\377\376", "no text in UTF-8"), (b"a\0b", "a byte 0"), (b"x" * 100_001, "more than 100,000 bytes")],
)
def test_what_no_variable_can_hold_is_refused_and_not_told(content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refusal:
        set_by(WorkflowStep(StepKind.ENV, ("x",), "A"), captured(content))
    assert "xx" not in str(refusal.value)


@pytest.mark.parametrize("size", [0, 1, 60_000, 100_000])
def test_what_a_variable_can_hold_is_taken_whole(size: int) -> None:
    assert set_by(WorkflowStep(StepKind.ENV, ("x",), "A"), captured(b"y" * size)) == {"A": "y" * size}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("AWS_SECRET_ACCESS_KEY=secret", "AWS_SECRET_ACCESS_KEY cannot be set"),
        ("TF_CLI_ARGS_apply=secret", "TF_CLI_ARGS_apply cannot be set"),
        ("secret", "line 2 of what its program printed"),
        ("A-B=secret", "not the name of a variable"),
        ("=secret", "not the name of a variable"),
    ],
)
def test_lines_that_set_what_a_step_may_not_are_refused_and_not_told(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refusal:
        set_by(WorkflowStep(StepKind.ENV, ("x",), source=True), captured(f"A=1\n{line}\n".encode()))
    assert "secret" not in str(refusal.value)


# What is reviewed is what is applied


def test_what_comes_after_the_plan_cannot_replace_it(steps: Steps, bench: Bench) -> None:
    daemon = run_step(
        "setsid sh -c 'while :; do echo evil > ../../plan.tfplan; sleep 0.01; done' > /dev/null 2>&1 & sleep 0.1"
    )
    steps.plan(INIT, daemon, PLAN, run_step("echo evil > $TIDEGATE_PLAN_FILE; echo {} > ../../plan.json"))
    plan = steps.succeeded()
    assert bench.aws.objects[plan["file"]["key"]] == b"the-plan\n"
    assert b"resource_changes" in bench.aws.objects[plan["json"]["key"]]


def test_a_step_that_changes_the_plan_file_before_the_apply_is_found_out(steps: Steps) -> None:
    steps.apply(run_step("echo evil > $TIDEGATE_PLAN_FILE"), INIT, APPLY)
    steps.failed("PlanAltered", "A step before the apply changed the plan file")
    assert not steps.applied


@pytest.mark.parametrize("argument", ["-destroy", "../other.tfplan"])
def test_arguments_that_would_change_what_is_applied_are_refused(steps: Steps, argument: str) -> None:
    steps.apply(INIT, WorkflowStep(StepKind.APPLY, extra_args=("-auto-approve", argument)))
    steps.failed("ApplyNotStarted", "Nothing was applied")
    assert steps.calls() == []


def test_an_apply_initializes_as_the_plan_did(steps: Steps) -> None:
    init = WorkflowStep(StepKind.INIT, extra_args=("-backend-config=x.hcl", "-upgrade"))
    steps.apply(run_step("true"), APPLY, plan=(init, PLAN))
    call = steps.calls()[0]
    assert call[:2] == ["init", "-backend-config=x.hcl"]
    assert "-upgrade" not in call
    assert steps.applied


# Around the apply


def test_a_program_that_fails_before_the_apply_means_that_nothing_was_applied(steps: Steps) -> None:
    job = steps.apply(INIT, run_step("exit 1"), APPLY, run_step("echo sorry", run_on=RunOn.FAILURE))
    steps.failed("ApplyNotStarted", "exit code 1. Nothing was applied.")
    assert "\nsorry\n" in steps.log(job)
    assert not steps.applied


def test_an_interrupt_before_the_apply_means_that_nothing_was_applied(steps: Steps, bench: Bench) -> None:
    job = steps.apply_job(INIT, run_step(WAITING.format(directory=bench.directory)), APPLY)
    process = bench.start(job)
    bench.aws.wait_for((bench.directory / "started").exists)
    process.send_signal(signal.SIGTERM)
    bench.finish(process)
    steps.failed("ApplyNotStarted", "Nothing was applied")
    assert not steps.applied


def test_an_apply_that_nobody_waits_for_does_not_begin(steps: Steps, bench: Bench) -> None:
    job = steps.apply_job(INIT, run_step(WAITING.format(directory=bench.directory)), APPLY)
    process = bench.start(job, TIDEGATE_HEARTBEAT_SECONDS="0.05")
    bench.aws.wait_for((bench.directory / "started").exists)
    bench.aws.gone.add(JOB_TOKEN)
    bench.finish(process)
    assert not steps.applied


def test_a_program_that_fails_after_the_apply_leaves_it_applied_and_is_told(steps: Steps) -> None:
    job = steps.apply(INIT, APPLY, run_step("seq 1 500; exit 9"), run_step("echo told", run_on=RunOn.FAILURE))
    result = steps.succeeded()
    assert "engine apply" in result["last_lines"]
    assert "THE APPLY SUCCEEDED, BUT A STEP AFTER IT DID NOT" in result["last_lines"]
    assert "exit code 9" in result["last_lines"]
    assert "\ntold\n" in steps.log(job)
    assert "THE APPLY SUCCEEDED, BUT A STEP AFTER IT DID NOT" in steps.log(job)


@pytest.mark.parametrize("trap", ["", "trap '' INT; "])
def test_an_interrupt_after_the_apply_leaves_it_applied(steps: Steps, bench: Bench, trap: str) -> None:
    job = steps.apply_job(INIT, APPLY, run_step(trap + WAITING.format(directory=bench.directory)), run_step("echo no"))
    process = bench.start(job, TIDEGATE_STOP_SECONDS="0.3")
    bench.aws.wait_for((bench.directory / "started").exists)
    process.send_signal(signal.SIGTERM)
    assert bench.finish(process).code == 0
    assert "THE APPLY SUCCEEDED" in steps.succeeded()["last_lines"]


def test_a_program_that_never_ends_after_the_apply_leaves_it_applied(steps: Steps, bench: Bench) -> None:
    bench.environ["TIDEGATE_PROGRAM_SECONDS"] = "0.3"
    begin = time.monotonic()
    steps.apply(INIT, APPLY, run_step("sleep 300"))
    assert "THE APPLY SUCCEEDED" in steps.succeeded()["last_lines"]
    assert time.monotonic() - begin < 60


def test_a_failed_apply_stays_failed_whatever_follows(steps: Steps) -> None:
    steps.engine(applying="echo no such luck; exit 1")
    job = steps.apply(INIT, APPLY, run_step("seq 1 500; exit 2", run_on=RunOn.ALWAYS))
    result = steps.failed("TerraformClientError", "terraform apply failed with exit code 1.")
    assert "no such luck" in result["last_lines"]
    assert "failed with exit code 2" in steps.log(job)


def test_an_apply_without_programs_initializes_no_more_than_before(steps: Steps) -> None:
    steps.apply(INIT, APPLY)
    assert [call[0] for call in steps.calls()] == ["apply"]


def test_the_programs_of_an_apply_find_an_initialized_root(steps: Steps) -> None:
    steps.apply(INIT, APPLY, run_step("test -f .terraform/terraform.tfstate"))
    assert [call[0] for call in steps.calls()] == ["init", "apply"]
    assert "THE APPLY SUCCEEDED" not in steps.succeeded()["last_lines"]
