"""What ``workflows`` and ``hooks`` may say, and what is told to whoever wrote something else."""

from __future__ import annotations

import pytest

from tests.configuration import load, refusal
from tidegate.config.declarations import EngineText, Hooks
from tidegate.deploys.rules.workflow import RunOn, StepKind, WorkflowStep


def test_every_kind_of_step_is_taken_with_all_that_it_may_have():
    loaded = load("""
workflows:
  - tag_query: prod
    environment: ${STACK_VAR_ENVIRONMENT}
    engine: {name: tofu, version: '${STACK_VAR_VERSION}'}
    plan:
      - {type: env, name: TOKEN, cmd: [./token, '${STACK_VAR_REGION}'], sensitive: true, env: {DEBUG: 1}}
      - {type: env, method: source, cmd: [cat, .env]}
      - {type: init, extra_args: ['-backend-config=prod.hcl'], env: {TF_LOG: warn}}
      - {type: plan, extra_args: [-var-file=prod.tfvars, --parallelism=5, '-var=region=${STACK_VAR_REGION}']}
      - type: run
        cmd: [sh, -c, "echo a\\nmake"]
        env: {REGION: '${STACK_VAR_REGION}'}
        run_on: always
        ignore_errors: true
  - {tag_query: '', apply: [init, {type: apply, extra_args: [-compact-warnings]}], plan: }
stacks: {names: {prod: {tag_query: prod, variables: {environment: prod, version: 1.2.3, region: eu}}}}
""")
    first, second = loaded.workflows
    assert first.plan == (
        WorkflowStep(
            StepKind.ENV, ("./token", "${STACK_VAR_REGION}"), name="TOKEN", sensitive=True, env=(("DEBUG", "1"),)
        ),
        WorkflowStep(StepKind.ENV, ("cat", ".env"), source=True),
        WorkflowStep(StepKind.INIT, extra_args=("-backend-config=prod.hcl",), env=(("TF_LOG", "warn"),)),
        WorkflowStep(
            StepKind.PLAN,
            extra_args=("-var-file=prod.tfvars", "--parallelism=5", "-var=region=${STACK_VAR_REGION}"),
        ),
        WorkflowStep(
            StepKind.RUN,
            ("sh", "-c", "echo a\nmake"),
            env=(("REGION", "${STACK_VAR_REGION}"),),
            run_on=RunOn.ALWAYS,
            ignore_errors=True,
        ),
    )
    assert (first.line, first.environment, first.apply) == (3, "${STACK_VAR_ENVIRONMENT}", None)
    assert first.engine == EngineText("tofu", "${STACK_VAR_VERSION}", 5)
    assert first.lines == {
        "${STACK_VAR_ENVIRONMENT}": 4,
        "${STACK_VAR_VERSION}": 5,
        "${STACK_VAR_REGION}": 7,
        "-var=region=${STACK_VAR_REGION}": 10,
    }
    assert (second.plan, second.environment, second.lines) == (None, "", {})
    assert second.apply == (
        WorkflowStep(StepKind.INIT),
        WorkflowStep(StepKind.APPLY, extra_args=("-compact-warnings",)),
    )
    assert loaded.warnings == ()


def test_hooks_of_all_jobs_come_before_those_of_one_kind():
    loaded = load("""
hooks:
  plan: {pre: [{type: run, cmd: [plan]}], post: [{type: run, cmd: [planned]}]}
  apply: {post: [{type: run, cmd: ['${STACK_VAR_X}']}]}
  all: {pre: [{type: env, name: A, cmd: [all]}], post: }
""")
    all_jobs = WorkflowStep(StepKind.ENV, ("all",), name="A")
    assert loaded.hooks == Hooks(
        plan_before=(all_jobs, WorkflowStep(StepKind.RUN, ("plan",))),
        plan_after=(WorkflowStep(StepKind.RUN, ("planned",)),),
        apply_before=(all_jobs,),
        apply_after=(WorkflowStep(StepKind.RUN, ("${STACK_VAR_X}",)),),
        line=2,
    )
    assert loaded.hooks.lines == {"${STACK_VAR_X}": 4}
    assert load("hooks:\n").hooks == Hooks(line=1)
    assert load("version: 1\n").hooks == Hooks()


def step(text: str, kind: str = "plan") -> str:
    around = "[init, plan, " if kind == "plan" else "[apply, "
    return f"workflows:\n  - tag_query: ''\n    {kind}:\n      {around}{text}]\n"


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("{type: rnu, cmd: [x]}", 27, ["'rnu'", "Did you mean 'run'?"]),
        ("{cmd: [x]}", 20, ["missing key 'type'"]),
        ("[run]", 20, ["invalid step", "{type: run, cmd: [make, check]}"]),
        ("lint", 20, ["'lint'", "init, plan, apply, run, env"]),
        ("run", 20, ["missing key 'cmd'"]),
        ("{type: run, cmd: make check}", 37, ["a list is needed", "Write [make, check]"]),
        ("{type: run, cmd: []}", 37, ["the command has no program"]),
        ("{type: run, cmd: ['']}", 37, ["the command has no program"]),
        ('{type: run, cmd: ["a\\0b"]}', 38, ["control characters"]),
        ("{type: run, cmd: [a], timeout: 5}", 42, ["unknown key 'timeout'", "run_on, ignore_errors"]),
        ("{type: run, cmd: [a], run_on: error}", 50, ["'success', 'failure' or 'always'"]),
        ("{type: run, cmd: [a], env: {PATH: x}}", 48, ["a step cannot set PATH"]),
        ("{type: run, cmd: [a], env: {a-b: x}}", 48, ["'a-b' is not a valid variable name"]),
        ("{type: run, cmd: [a], env: {A: [x]}}", 51, ["expected a single value"]),
        ("{type: run, cmd: ['${STACK_VAR_region}']}", 38, ["Write ${STACK_VAR_REGION}"]),
        ("{type: run, cmd: ['${STACK_VAR_X']}", 38, ["not closed"]),
        ("{type: env, cmd: [a]}", 20, ["the step sets no variable", "method: source"]),
        ("{type: env, cmd: [a], name: A, method: source}", 20, ["name' is not allowed with method:"]),
        ("{type: env, cmd: [a], name: TIDEGATE_STACK}", 48, ["a step cannot set TIDEGATE_STACK"]),
        ("{type: env, cmd: [a], method: set}", 50, ["'source'"]),
    ],
)
def test_what_steps_cannot_be_is_told_with_its_place(text, column, words):
    error = refusal(step(text))
    assert (error.line, error.column) == (4, column)
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize(
    ("kind", "option", "why"),
    [
        ("init", "-input=true", "Tidegate sets it itself"),
        ("init", "-chdir=..", "Tidegate sets it itself"),
        ("init", "-from-module=x", "the whole plan"),
        ("init", "-migrate-state", "the state belongs to the backend"),
        ("init", "-backend=false", "the state belongs to the backend"),
        ("plan", "-out=other", "Tidegate sets it itself"),
        ("plan", "-json", "what the engine prints"),
        ("plan", "-detailed-exitcode", "exit code"),
        ("plan", "--lock=false", "the state must stay locked during"),
        ("plan", "-state=x", "the state belongs to the backend"),
        ("plan", "-destroy", "the whole plan"),
        ("plan", "-refresh-only", "the whole plan"),
        ("plan", "-target=a.b", "skip a part"),
        ("plan", "-replace=a.b", "skip a part"),
        ("plan", "-new-option", "Tidegate does not know whether this"),
        ("plan", "-var", "Write it in the same word: -var=value"),
        ("plan", "-compact-warnings=1", "Write just -compact-warnings"),
        ("plan", "region=eu", "is not an option"),
        ("plan", "-${STACK_VAR_OPTION}", "is not an option"),
        ("apply", "-auto-approve", "Tidegate sets it itself"),
        ("apply", "-var=a=b", "the reviewed plan already contains the values"),
        ("apply", "-backup=x", "the state belongs to the backend"),
        ("apply", "other.tfplan", "is not an option"),
    ],
)
def test_options_that_would_change_what_was_reviewed_or_what_tidegate_reads_are_refused(kind, option, why):
    list_of = {"init": "plan: [{}, plan]", "plan": "plan: [init, {}]", "apply": "apply: [init, {}]"}[kind]
    steps = list_of.format(f"{{type: {kind}, extra_args: ['{option}']}}")
    error = refusal(f"workflows:\n  - tag_query: ''\n    {steps}\n")
    assert (error.line, error.column) == (3, 5 + steps.index(f"'{option}'"))
    assert why in str(error)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("plan: [plan]", ["it has no init step"]),
        ("plan: [init]", ["no plan step"]),
        ("plan: []", ["it has no init step"]),
        ("plan: [plan, init]", ["init step comes after plan"]),
        ("plan: [init, plan, plan]", ["2 plan steps"]),
        ("plan: [init, plan, apply]", ["which is only allowed in an"]),
        ("plan: init", ["Write [init]"]),
        ("apply: [init]", ["no apply step", "init and apply"]),
        ("apply: [init, plan, apply]", ["but an apply job applies the"]),
        ("plna: []", ["Did you mean 'plan'?"]),
        ("environment: [x]", ["It should be text"]),
        ("environment: '${STACK_VAR_a b}'", ["is not a stack variable"]),
        ("engine: {name: terragrunt}", ["'terragrunt' is not an engine"]),
    ],
)
def test_what_workflows_cannot_be_is_told_with_its_line(line, words):
    error = refusal(f"workflows:\n  - tag_query: ''\n    {line}\n")
    assert error.line == 3
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize(
    ("hooks", "words"),
    [
        ("{plan: {pre: [init]}}", ["unknown step type 'init'", "run, env"]),
        ("{plan: {before: []}}", ["'before'", "pre, post"]),
        ("{pre: []}", ["Allowed keys: all, plan, apply"]),
        ("{all: {pre: echo}}", ["Write [echo]"]),
        ("{all: {pre: [{type: run, cmd: [a], env: {LD_PRELOAD: x}}]}}", ["a step cannot set LD_PRELOAD"]),
    ],
)
def test_what_hooks_cannot_be_is_told(hooks, words):
    error = refusal(f"hooks: {hooks}\n")
    for word in words:
        assert word in str(error)


def test_a_workflow_has_a_query_and_stands_in_a_list():
    assert "missing key 'tag_query'" in str(refusal("workflows: [{plan: [init, plan]}]\n"))
    assert refusal("workflows: {tag_query: ''}\n").line == 1


def test_scripts_that_are_too_long_are_sent_to_files():
    words = ", ".join(["x" * 7000] * 3)
    assert "move scripts into files" in str(refusal(step(f"{{type: run, cmd: [{words}]}}")))
    assert "move scripts into files" in str(refusal(f"hooks: {{all: {{pre: [{{type: run, cmd: [{words}]}}]}}}}\n"))
