"""Target roles that roots may name: which runner may assume which, and that plans never get a role of applies."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.deploys.rules.aws_target import Phase, fits, from_text
from tidegate_cdk.permissions import permissions
from tidegate_cdk.runner_settings import InvalidContext, read_runner_settings
from tidegate_cdk.target_roles import overlap

SESSION = ("sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity")
ACCOUNT = "arn:aws:iam::210987654321:role"
#: What each runner of the other installation may assume besides its engine's role.
ROLES = {"Plan": f"{ACCOUNT}/named-plan", "Apply": f"{ACCOUNT}/named-deploy-*", "Speculate": f"{ACCOUNT}/named-plan"}
PATTERNS = st.text("ab*", max_size=4)


def named(role: str) -> dict[str, Any]:
    return {"role": role, "repositories": ["acme/*"]}


class Given(dict):
    def try_get_context(self, key):
        return self.get(key)


@pytest.mark.parametrize("kind", ROLES)
def test_a_runner_may_assume_the_named_roles_of_its_phase_with_tags_and_no_others(other, kind):
    granted = {
        (action, on)
        for each in permissions(other)
        if each.role == f"Runners{kind}TaskRole" and each.effect == "Allow"
        for action, on in product(each.actions, each.resources)
        if action.startswith("sts:")
    }
    assert granted == {("sts:AssumeRole", f"<Runners{kind}EngineRole>"), *product(SESSION, [ROLES[kind]])}


def test_neither_the_runner_of_pull_requests_nor_its_engine_reaches_a_role_of_an_apply(other):
    reachable = {
        on
        for each in permissions(other)
        if each.role.startswith(("RunnersSpeculate", "RunnersPlan")) and each.effect == "Allow"
        if any(action.startswith("sts:") for action in each.actions)
        for on in each.resources
    }
    assert ROLES["Speculate"] in reachable
    assert not [role for role in reachable if overlap(role, ROLES["Apply"])]


def test_no_engine_may_assume_a_role_that_only_roots_may_name(other):
    engines = [each for each in permissions(other) if each.role.endswith("EngineRole")]
    assert not [each for each in engines if set(ROLES.values()) & set(each.resources)]


def test_the_list_reaches_every_runner(other):
    tasks = [each["Properties"] for each in other["Resources"].values() if each["Type"] == "AWS::ECS::TaskDefinition"]
    environments = [
        {each["Name"]: each["Value"] for each in container["Environment"]}
        for task in tasks
        for container in task["ContainerDefinitions"]
    ]
    of_engines = [each for each in environments if "TIDEGATE_ENGINE_ROLE" in each]
    for environment in of_engines:
        allowed = from_text(environment["TIDEGATE_TARGET_ROLES"])
        assert [each.role for each in allowed.phases[Phase.APPLY]] == [ROLES["Apply"]]
    assert len(of_engines) == len([*ROLES, "tasks of clusters"])
    assert sum("TIDEGATE_TARGET_ROLES" in each for each in environments) == len(of_engines)


def test_nobody_may_assume_anything_where_nothing_is_listed(template):
    assert "sts:SetSourceIdentity" not in json.dumps(template)
    assert "TIDEGATE_TARGET_ROLES" not in json.dumps(template)


@pytest.mark.parametrize("key", ["plan_target_roles", "pull_request_target_roles"])
@pytest.mark.parametrize(
    ("planning", "applying"),
    [
        (named(f"{ACCOUNT}/one"), named(f"{ACCOUNT}/one")),
        (named(f"{ACCOUNT}/*"), named(f"{ACCOUNT}/one")),
        (f"{ACCOUNT}/*", named(f"{ACCOUNT}/one")),
        (named(f"{ACCOUNT}/on*"), f"{ACCOUNT}/o*e"),
    ],
)
def test_a_role_for_applies_is_for_nothing_else(key, planning, applying):
    with pytest.raises(InvalidContext, match=key):
        read_runner_settings(Given({key: [planning], "apply_target_roles": [applying]}))


def test_roles_that_engines_assume_by_themselves_stay_as_they_were():
    roles = [f"{ACCOUNT}/one"]
    read = read_runner_settings(Given(plan_target_roles=roles, apply_target_roles=roles))
    assert read.target_roles == {"plan": tuple(roles), "apply": tuple(roles), "speculate": ()}
    assert not any(read.allowed_roles.phases.values())


#: A text that two patterns fit needs no more letters than both have together.
SHORT = ["".join(letters) for length in range(9) for letters in product("ab", repeat=length)]


@given(PATTERNS, PATTERNS)
def test_patterns_overlap_if_a_text_fits_both(one, other):
    assert overlap(one, other) is any(fits(one, text) and fits(other, text) for text in SHORT)


@given(st.text("ab*", max_size=9), st.text("ab", max_size=12))
def test_a_text_overlaps_the_patterns_that_it_fits(pattern, text):
    assert overlap(pattern, text) is (re.fullmatch(pattern.replace("*", ".*"), text) is not None)


def test_service_accounts_and_applications_are_allowed_as_roles_are_and_no_right_of_iam():
    account, client = "plan-*@acme-prod.iam.gserviceaccount.com", "01234567-89ab-cdef-0123-456789abcdef"
    entries = [{"service_account": account, "repositories": ["*"]}, {"client_id": client, "repositories": ["acme/a"]}]
    read = read_runner_settings(Given(plan_target_roles=entries))
    assert [each.role for each in read.allowed_roles.phases[Phase.PLAN]] == [account, client]
    with pytest.raises(InvalidContext, match="apply_target_roles"):
        read_runner_settings(Given(plan_target_roles=entries, apply_target_roles=entries))


@pytest.mark.parametrize(
    "entry",
    [
        {"service_account": "me@example.com", "repositories": ["*"]},
        {"client_id": "mine", "repositories": ["*"]},
        {"client_id": "01234567-89ab-cdef-0123-456789abcdef"},
        {"role": f"{ACCOUNT}/x", "client_id": "01234567-89ab-cdef-0123-456789abcdef", "repositories": ["*"]},
    ],
)
def test_an_entry_that_no_cloud_knows_is_refused(entry):
    with pytest.raises(InvalidContext, match="plan_target_roles"):
        read_runner_settings(Given(plan_target_roles=[entry]))
