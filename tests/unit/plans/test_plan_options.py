"""Which options of the engine comments may give to a plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.config.rules.plan_options import (
    ALLOWED_PLAN_ARGS,
    LONGEST_OPTION,
    is_pattern,
    option_problems,
    with_options,
)
from tidegate.deploys.rules.workflow import PLAN_STEPS, RunSettings, StepKind
from tidegate.deploys.rules.workflow_rules import substituted


def problems(*options, allowed=ALLOWED_PLAN_ARGS):
    return option_problems(options, allowed)


@pytest.mark.parametrize(
    "option",
    [
        "-target=aws_s3_bucket.a",
        '-target=module.a["x y"].b',
        "--target=a.b",
        "-refresh=false",
        "-parallelism=4",
        "-target=",
    ],
)
def test_a_look_at_less_is_allowed_from_the_start(option):
    assert problems(option) == ()


@pytest.mark.parametrize(
    "option", ["-var=region=x", "-var-file=a.tfvars", "-destroy", "-refresh=true", "-refresh-only"]
)
def test_what_plans_something_else_is_allowed_by_configuration_only(option):
    (problem,) = problems(option)
    assert "`pull_requests.allowed_plan_args`" in problem
    assert "`-target=*`" in problem
    assert problems(option, allowed=(option,)) == ()


def test_a_pattern_means_whole_options():
    assert problems("-var=region=eu", allowed=("-var=region=*",)) == ()
    assert problems("-var=regions=eu", allowed=("-var=region=*",))
    assert problems("-var=xregion=eu", allowed=("-var=region=*",))
    assert problems("-targets=a", allowed=("-target=*",))
    assert "None are allowed" in problems("-target=a", allowed=())[0]


@pytest.mark.parametrize(
    "option",
    [
        "-out=x",
        "-chdir=/",
        "-state=x",
        "--state-out=x",
        "-lock=true",
        "-input=true",
        "-json",
        "-detailed-exitcode",
        "-generate-config-out=x",
        "-plugin-dir=x",
        "-backup=x",
        "-help",
    ],
)
def test_some_are_never_allowed_whatever_is_configured(option):
    assert "is not allowed: Tidegate sets that" in problems(option, allowed=("-*", option, "--*"))[0]


@pytest.mark.parametrize(
    "option", ["", "-", "--", "target=a", "a.tfvars", "-Target=a", "-=a", "-target a", "$(id)", "-1"]
)
def test_what_is_no_option_is_said_to_be_none(option):
    assert "is not an option" in problems(option, allowed=("*",))[0]


def test_an_option_has_a_length():
    assert problems(f"-target={'a' * (LONGEST_OPTION - 8)}") == ()
    assert "longer" in problems(f"-target={'a' * (LONGEST_OPTION - 7)}")[0]


def test_each_option_that_is_refused_is_named():
    assert len(problems("-destroy", "-refresh=false", "-json")) == 2


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("-target=*", True), ("-destroy", True), ("*", False), ("-*", False), ("-t*=a", False), ("a", False)],
)
def test_a_pattern_says_which_option_it_means(text, is_one):
    assert is_pattern(text) is is_one


@given(st.text(max_size=40))
def test_a_text_that_no_pattern_names_is_never_given_to_an_engine(text):
    assert problems(text, allowed=("-var=region=*",)) or text.lstrip("-").startswith("var=region=")


def test_options_come_after_those_of_the_workflow_and_name_no_variables():
    settings = with_options(RunSettings(), ("-target=a", "-var=x=${TIDEGATE_JOB}$$"))
    plan = next(step for step in settings.plan if step.kind is StepKind.PLAN)
    assert [substituted(each, {}) for each in plan.extra_args] == ["-target=a", "-var=x=${TIDEGATE_JOB}$$"]
    assert settings.plan[0] == PLAN_STEPS[0]
    assert settings.apply == RunSettings().apply


def test_without_options_nothing_changes():
    assert with_options(RunSettings(), ()) == RunSettings()
