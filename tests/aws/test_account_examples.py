"""The templates of target roles let in what the runner asks for, and nobody else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cfnlint import decode
from cfnlint.api import ManualArgs, lint

from tests.builders import any_job
from tidegate.deploys.rules.aws_session import session_tags
from tidegate.deploys.rules.job import JobKind

EXAMPLES = Path(__file__).parents[2] / "examples" / "accounts"
TEMPLATE, MODULE = EXAMPLES / "target-roles.yaml", EXAMPLES / "target-roles.tf"
SESSION = {"sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity"}
TAGS = {f"aws:RequestTag/{name}" for name in session_tags(any_job())}
RUNNERS = {"PlanRole": {"PlanRunnerRole", "PullRequestRunnerRole"}, "ApplyRole": {"ApplyRunnerRole"}}

#: A replay runs no engine, and assumes no role.
_ENGINES = set(JobKind) - {JobKind.REPLAY}


def listed(value):
    return value if isinstance(value, list) else [value]


def statements(role):
    template, _ = decode.decode(str(TEMPLATE))
    return template["Resources"][role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]


def test_the_template_is_one_of_cloudformation():
    assert lint(TEMPLATE.read_text(encoding="utf-8"), config=ManualArgs(regions=["eu-west-1"])) == []


@pytest.mark.parametrize("role", RUNNERS)
def test_a_role_trusts_the_runners_of_its_phases_with_tags_and_a_source_identity(role):
    allowed = {action for each in statements(role) for action in listed(each["Action"])}
    trusted = {each["Ref"] for one in statements(role) for each in listed(one["Principal"]["AWS"])}
    assert (allowed, trusted) == (SESSION, RUNNERS[role])


@pytest.mark.parametrize("role", RUNNERS)
def test_every_session_must_be_of_a_repository_and_a_stack(role):
    (assuming,) = [each for each in statements(role) if "sts:AssumeRole" in each["Action"]]
    asked = {key for keys in assuming["Condition"].values() for key in keys}
    assert {"aws:RequestTag/tidegate:repository", "aws:RequestTag/tidegate:stack"} <= asked <= TAGS


def test_the_module_says_the_same():
    text = MODULE.read_text(encoding="utf-8")
    assert set(re.findall(r'"(sts:\w+)"', text)) == SESSION
    assert set(re.findall(r'"(aws:RequestTag/[^"]+)"', text)) < TAGS
    phases = {session_tags(any_job(kind=kind, drift=drift))["tidegate:phase"] for kind in _ENGINES for drift in (0, 1)}
    named = " ".join(re.findall(r"phases = \[([^]]+)\]", text))
    assert set(re.findall(r"\w+", named)) == phases
