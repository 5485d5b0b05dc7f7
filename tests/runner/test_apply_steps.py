"""Steps before and after an apply: none changes what is reviewed, and what was applied stays so."""

from __future__ import annotations

import signal
import time

import pytest

from tests.runner.conftest import Bench
from tests.runner.engines import WAITING
from tests.runner.fake_aws import JOB_TOKEN
from tests.runner.scripted_steps import APPLY, INIT, PLAN, Steps, run_step
from tidegate.deploys.rules.workflow import RunOn, StepKind, WorkflowStep


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
