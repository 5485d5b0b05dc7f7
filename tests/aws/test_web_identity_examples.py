"""The templates of roles by token: the example's own trust policies, held against tokens of every phase."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest
from cfnlint import decode
from cfnlint.api import ManualArgs, lint
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import any_job
from tidegate.deploys.rules.claims import claims
from tidegate.deploys.rules.job import JobKind
from tidegate.roots.rules.root import Root
from tidegate_local.aws.iam import condition_holds

EXAMPLES = Path(__file__).parents[2] / "examples" / "accounts"
TEMPLATE, MODULE = EXAMPLES / "web-identity.yaml", EXAMPLES / "web-identity.tf"
ISSUER, AUDIENCE = "tidegate.example.com", "sts.amazonaws.com"
GIVEN = {
    "Issuer": ISSUER,
    "Audience": AUDIENCE,
    "Repository": "acme/infra",
    "Stack": "prod",
    "Provider.Arn": "provider",
}
PHASES = {"PlanRole": {"plan", "pull_request", "drift"}, "ApplyRole": {"apply"}}
KINDS = [(JobKind.PLAN, False), (JobKind.APPLY, False), (JobKind.SPECULATE, False), (JobKind.SPECULATE, True)]
SESSION = {"sts:AssumeRoleWithWebIdentity", "sts:TagSession", "sts:SetSourceIdentity"}


def statement(role):
    template, _ = decode.decode(str(TEMPLATE))
    text = template["Resources"][role]["Properties"]["AssumeRolePolicyDocument"]["Fn::Sub"]
    (found,) = json.loads(re.sub(r"\$\{([\w.]+)\}", lambda name: GIVEN[name[1]], text))["Statement"]
    return found


def token(kind, drift, root="live/app", **changed):
    said = {"repository": "acme/infra", "stack": "prod", **changed}
    job = any_job(kind=kind, drift=drift, root=Root(root, "."), **said)
    return claims(job, f"https://{ISSUER}", AUDIENCE, 1_800_000_000)


def lets_in(role, said):
    """Tell whether IAM would let a token in: all conditions hold on its aud and sub."""
    context = {f"{ISSUER}:{name}": [said[name]] for name in ("aud", "sub")}
    conditions = statement(role)["Condition"].items()
    return all(
        condition_holds(operator, expected if isinstance(expected, list) else [expected], context.get(key))
        for operator, keys in conditions
        for key, expected in keys.items()
    )


def test_the_template_is_one_of_cloudformation():
    assert lint(TEMPLATE.read_text(encoding="utf-8"), config=ManualArgs(regions=["eu-west-1"])) == []


@pytest.mark.parametrize(("role", "kind"), [*product(PHASES, KINDS)])
def test_a_role_lets_in_tokens_of_its_phases_and_no_others(role, kind):
    said = token(*kind)
    assert lets_in(role, said) is (said["phase"] in PHASES[role])


@given(st.sampled_from([KINDS[0], *KINDS[2:]]), st.text(max_size=30), st.text(max_size=30))
def test_no_name_lets_anything_but_an_apply_into_the_role_of_applies(kind, root, more):
    for name in (root, f"{root}:phase:apply", f"{root}{more}"):
        assert not lets_in("ApplyRole", token(*kind, root=name))


@pytest.mark.parametrize("changed", [{"repository": "acme/infra2"}, {"repository": "evil/infra"}, {"stack": "prod2"}])
@pytest.mark.parametrize("role", PHASES)
def test_a_token_of_another_repository_or_stack_is_let_in_nowhere(role, changed):
    assert not any(lets_in(role, token(*kind, **changed)) for kind in KINDS)


@pytest.mark.parametrize("role", PHASES)
def test_a_token_for_another_audience_is_let_in_nowhere(role):
    assert not any(lets_in(role, {**token(*kind), "aud": "api://AzureADTokenExchange"}) for kind in KINDS)


@pytest.mark.parametrize("role", PHASES)
def test_the_session_may_have_its_tags_and_source_identity(role):
    """STS refuses a token with either where the trust policy does not allow its action."""
    assert set(statement(role)["Action"]) == SESSION
    assert statement(role)["Principal"] == {"Federated": "provider"}


def test_the_module_says_the_same():
    text = MODULE.read_text(encoding="utf-8")
    assert set(re.findall(r'"(sts:\w+)"', text)) == SESSION
    assert {frozenset(re.findall(r"\w+", named)) for named in re.findall(r"phases = \[([^]]+)\]", text)} == {
        frozenset(phases) for phases in PHASES.values()
    }
    assert "repo:${var.repository}:stack:${var.stack}:root:*:phase:${phase}" in text
    assert '"${var.issuer}:aud"' in text
