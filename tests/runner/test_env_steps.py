"""Steps that set variables for those that follow."""

from __future__ import annotations

import json

import pytest

from runner.step_output import Captured, set_by
from tests.runner.conftest import Bench
from tests.runner.scripted_steps import INIT, PLAN, Steps, env_step, run_step
from tidegate.deploys.rules.workflow import StepKind, WorkflowStep


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
    [
        (b"\377\376", "its program printed invalid UTF-8"),
        (b"a\0b", "its program printed a NUL byte,"),
        (b"x" * 100_001, "more than 100,000 bytes"),
    ],
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
        ("AWS_SECRET_ACCESS_KEY=secret", "cannot set AWS_SECRET_ACCESS_KEY"),
        ("TF_CLI_ARGS_apply=secret", "cannot set TF_CLI_ARGS_apply"),
        ("secret", "line 2 of its program's output"),
        ("A-B=secret", "is not a valid variable name"),
        ("=secret", "is not a valid variable name"),
    ],
)
def test_lines_that_set_what_a_step_may_not_are_refused_and_not_told(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refusal:
        set_by(WorkflowStep(StepKind.ENV, ("x",), source=True), captured(f"A=1\n{line}\n".encode()))
    assert "secret" not in str(refusal.value)
