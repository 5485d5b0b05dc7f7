"""Steps that fail, never end, or must not be: what follows, and what is told."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.runner.conftest import Bench
from tests.runner.engines import WAITING
from tests.runner.scripted_steps import APPLY, INIT, PLAN, Steps, run_step
from tidegate.deploys.rules.workflow import RunOn, StepKind, WorkflowStep


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


@pytest.mark.parametrize(
    "error",
    [
        "Error: no luck",
        "╷\n│ Error: no luck\n│\n╵",
        "\x1b[31m╷\x1b[0m\x1b[0m\n\x1b[31m│\x1b[0m \x1b[0m\x1b[1m\x1b[31mError: \x1b[0m\x1b[0m\x1b[1mno luck\x1b[0m",
    ],
    ids=["plain", "framed", "coloured"],
)
def test_what_is_told_of_a_failure_begins_with_the_first_error(steps: Steps, error: str) -> None:
    steps.plan(INIT, run_step(f"echo before; printf '%s\\n' '{error}'; echo 'Error: more'; exit 1"), PLAN)
    result = steps.failed("TerraformClientError", "failed with exit code 1.")
    assert result["last_lines"].startswith(f"{error}\nError: more\n")


def test_the_first_of_many_errors_is_told(steps: Steps) -> None:
    steps.plan(INIT, run_step('for i in $(seq 200); do echo "Error: number $i."; done; exit 1'), PLAN)
    assert steps.failed("TerraformClientError", "exit code 1")["last_lines"].startswith("Error: number 1.\n")


def test_an_error_that_is_ignored_is_not_the_failures(steps: Steps) -> None:
    ignored = run_step("echo 'Error: style'; exit 1", ignore_errors=True)
    steps.plan(INIT, PLAN, ignored, run_step("echo 'Error: no luck'; exit 1"))
    assert steps.failed("TerraformClientError", "exit code 1")["last_lines"].startswith("Error: no luck\n")


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
    assert "failed with exit code 7. The failure is ignored." in steps.log(job)


@pytest.mark.parametrize("command", [("no-such-program",), ("./main.tf",), ("a\0b",), ("echo", "x" * 200_000)])
def test_a_program_that_cannot_be_started_fails_its_step(steps: Steps, command: tuple[str, ...]) -> None:
    steps.plan(INIT, WorkflowStep(StepKind.RUN, command), PLAN)
    steps.failed("TerraformClientError", "failed to start")


def test_a_program_that_never_ends_is_killed_with_all_that_it_started(steps: Steps, bench: Bench) -> None:
    bench.environ["TIDEGATE_PROGRAM_SECONDS"] = "3"
    steps.plan(INIT, run_step(f"setsid sleep 300 & echo $! > {bench.directory}/daemon; trap '' INT TERM; cat"), PLAN)
    steps.plan(INIT, run_step(f"setsid sleep 300 & echo $! > {bench.directory}/daemon; sleep 300"), PLAN)
    steps.failed("TerraformClientError", "exceeded its time limit of 3 s and was killed")
    assert not Path(f"/proc/{(bench.directory / 'daemon').read_text().strip()}").exists()


def test_an_interrupted_program_ends_and_nothing_more_is_started(steps: Steps, bench: Bench) -> None:
    waiting = run_step(WAITING.format(directory=bench.directory))
    process = bench.start(steps.plan_job(INIT, waiting, PLAN, run_step("echo never", run_on=RunOn.ALWAYS)))
    bench.aws.wait_for((bench.directory / "started").exists)
    process.send_signal(signal.SIGTERM)
    ended = bench.finish(process)
    assert "\nnever\n" not in ended.output
    steps.failed("Interrupted", "SIGTERM")
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
    ("plan", "words"),
    [((PLAN,), "it has no init step"), ((INIT,), "no plan step"), ((INIT, PLAN, APPLY), "it has an apply step")],
)
def test_a_plan_job_without_its_own_steps_is_refused(steps: Steps, plan: tuple[WorkflowStep, ...], words: str) -> None:
    steps.plan(*plan)
    steps.failed("TerraformClientError", words)
    assert steps.calls() == []


@pytest.mark.parametrize("name", ["STACK_VAR\nX", "PATH"])
def test_stack_variables_of_other_names_are_refused(steps: Steps, name: str) -> None:
    steps.plan(INIT, PLAN, variables=((name, "x"),))
    steps.failed("TerraformClientError", "variables are invalid")
