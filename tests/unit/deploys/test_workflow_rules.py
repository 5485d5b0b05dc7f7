from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deploys.rules.workflow import APPLY_STEPS, PLAN_STEPS, RunSettings, StepKind, WorkflowStep
from tidegate.deploys.rules.workflow_rules import (
    apply_problem,
    escaped,
    name_problem,
    plan_problem,
    step_problem,
    substituted,
    unknown_variable,
)

INIT, PLAN, APPLY = (WorkflowStep(kind) for kind in (StepKind.INIT, StepKind.PLAN, StepKind.APPLY))
RUN = WorkflowStep(StepKind.RUN, ("make", "check"))


def test_the_steps_that_hold_without_a_configuration_are_as_they_should_be():
    assert plan_problem(RunSettings().plan) is None
    assert apply_problem(RunSettings().apply) is None
    assert plan_problem((RUN, *PLAN_STEPS, RUN)) is None
    assert apply_problem((RUN, *APPLY_STEPS, RUN)) is None


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "it has no init step"),
        ((PLAN,), "it has no init step"),
        ((INIT,), "no plan step"),
        ((INIT, PLAN, PLAN), "2 plan steps"),
        ((PLAN, INIT), "init step comes after plan"),
        ((INIT, PLAN, APPLY), "which is only allowed in an"),
        ((INIT, PLAN, WorkflowStep(StepKind.RUN)), "no command"),
    ],
)
def test_a_plan_job_without_its_steps_is_refused(steps, words):
    assert words in plan_problem(steps)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((), "no apply step"),
        ((INIT,), "no apply step"),
        ((APPLY, APPLY), "2 apply steps"),
        ((APPLY, INIT), "init step comes after apply"),
        ((INIT, PLAN, APPLY), "the reviewed plan"),
    ],
)
def test_an_apply_job_without_its_steps_is_refused(steps, words):
    assert words in apply_problem(steps)


def test_an_apply_job_may_do_without_init():
    assert apply_problem((APPLY,)) is None


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "LD_PRELOAD",
        "TF_CLI_ARGS_apply",
        "TF_WORKSPACE",
        "AWS_ACCESS_KEY_ID",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_DEFAULT_PROFILE",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "AWS_ENDPOINT_URL_S3",
        "GCONV_PATH",
        "GIT_EXEC_PATH",
        "SSL_CERT_FILE",
        "TERRAFORM_CONFIG",
        "TIDEGATE_PLAN_FILE",
    ],
)
def test_variables_that_decide_what_runs_with_which_rights_are_not_a_steps_to_set(name):
    assert "a step cannot set" in name_problem(name)
    assert name in step_problem(WorkflowStep(StepKind.ENV, ("echo",), name=name))
    assert name in step_problem(WorkflowStep(StepKind.PLAN, env=((name, "x"),)))


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A=B", "A\nB", "Ä", "A "])
def test_a_name_that_no_variable_can_have_is_refused(name):
    assert "is not a valid variable name" in name_problem(name)


@pytest.mark.parametrize("name", ["TF_VAR_region", "CLOUDFLARE_API_TOKEN", "_x", "AWS_REGION"])
def test_other_variables_may_be_set(name):
    assert name_problem(name) is None


def test_an_env_step_that_reads_names_from_its_program_has_none_itself():
    assert step_problem(WorkflowStep(StepKind.ENV, ("print-env",), source=True)) is None


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (StepKind.INIT, ("-backend-config=dev.hcl", "-upgrade")),
        (StepKind.PLAN, ("-var-file=dev.tfvars", "-var-file", "dev.tfvars")),
        (StepKind.APPLY, ("-parallelism=2", "-lock=false", "-auto-approve", "--compact-warnings")),
    ],
)
def test_the_engines_commands_take_options(kind, arguments):
    assert step_problem(WorkflowStep(kind, extra_args=arguments)) is None


@pytest.mark.parametrize(
    ("kind", "argument", "words"),
    [
        (StepKind.INIT, "-from-module=x", "which Tidegate sets itself"),
        (StepKind.PLAN, "--out=other.tfplan", "which Tidegate sets itself"),
        (StepKind.PLAN, "-json", "which Tidegate sets itself"),
        (StepKind.PLAN, "other", "not an option"),
        (StepKind.PLAN, "--", "not an option"),
        (StepKind.APPLY, "-destroy", "the reviewed plan"),
        (StepKind.APPLY, "-state-out=x", "the reviewed plan"),
        (StepKind.APPLY, "-parallelism", "without a value"),
        (StepKind.APPLY, "other.tfplan", "not an option"),
    ],
)
def test_arguments_that_would_change_what_is_reviewed_or_applied_are_refused(kind, argument, words):
    assert words in step_problem(WorkflowStep(kind, extra_args=(argument,)))


def test_an_apply_takes_no_word_that_could_be_another_plan():
    problem = step_problem(WorkflowStep(StepKind.APPLY, extra_args=("-auto-approve", "other.tfplan")))
    assert "not an option" in problem


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("$A and ${A}b", "one and oneb"),
        ("$$A", "$A"),
        ("$$$A", "$one"),
        ("$(date) $1 ${A:-x} $", "$(date) $1 ${A:-x} $"),
        ("$B", "$A"),
    ],
)
def test_names_are_replaced_once(text, result):
    values = {"A": "one", "B": "$A"}
    assert unknown_variable(text, values) is None
    assert substituted(text, values) == result


def test_an_unknown_name_is_told():
    assert unknown_variable("$A ${MISSING} $OTHER", {"A": "one"}) == "MISSING"
    with pytest.raises(KeyError):
        substituted("${MISSING}", {})


@given(st.text(alphabet="$A{}(1\n", max_size=12))
def test_an_escaped_text_stays_as_it_is(text):
    assert unknown_variable(escaped(text), {}) is None
    assert substituted(escaped(text), {"A": "no"}) == text
