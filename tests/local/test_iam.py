"""IAM's decisions, on their own."""

from __future__ import annotations

import json

import pytest
from moto.ecs.models import ecs_backends
from moto.iam.models import iam_backends

from tidegate_local.aws.iam import Check, Policies, condition_holds, matches
from tidegate_local.aws.permissions import Needs
from tidegate_local.aws.requests import Call

ACCOUNT = "210987654321"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/reader"


@pytest.fixture
def policies():
    def make(*statements, trust=()):
        backend = iam_backends[ACCOUNT]["aws"]
        backend.roles.clear()
        document = json.dumps({"Version": "2012-10-17", "Statement": list(trust)})
        role = backend.create_role("reader", document, "/", None, "", [], 3600)
        role.put_policy("inline", json.dumps({"Version": "2012-10-17", "Statement": list(statements)}))
        return Policies(ACCOUNT)

    return make


def allow(action, resource="*", **more):
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def test_nothing_is_allowed_by_default(policies):
    assert "s3:GetObject" in policies().refusal(ROLE, [Check("s3:GetObject", ("arn:aws:s3:::b/k",))])


def test_wildcards_match_actions_in_any_case_and_resources_exactly(policies):
    held = policies(allow("S3:get*", "arn:aws:s3:::b/*"))
    assert held.allows(ROLE, "s3:GetObject", "arn:aws:s3:::b/k")
    assert not held.allows(ROLE, "s3:GetObject", "arn:aws:s3:::B/k")
    assert not held.allows(ROLE, "s3:PutObject", "arn:aws:s3:::b/k")


def test_an_explicit_deny_wins(policies):
    held = policies(allow("s3:*"), {"Effect": "Deny", "Action": "s3:*", "Resource": "arn:aws:s3:::secret/*"})
    assert held.allows(ROLE, "s3:GetObject", "arn:aws:s3:::open/k")
    assert not held.allows(ROLE, "s3:GetObject", "arn:aws:s3:::secret/k")


def test_every_resource_of_a_call_has_to_be_allowed(policies):
    held = policies(allow("iam:PassRole", "arn:aws:iam::1:role/a"))
    assert held.refusal(ROLE, [Check("iam:PassRole", ("arn:aws:iam::1:role/a", "arn:aws:iam::1:role/b"))])


def test_a_condition_has_to_hold(policies):
    condition = {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
    held = policies(allow("iam:PassRole", Condition=condition))
    assert held.allows(ROLE, "iam:PassRole", "x", {"iam:PassedToService": ["ecs-tasks.amazonaws.com"]})
    assert not held.allows(ROLE, "iam:PassRole", "x", {"iam:PassedToService": ["ec2.amazonaws.com"]})
    assert not held.allows(ROLE, "iam:PassRole", "x")


def test_a_role_is_assumed_only_by_whom_it_trusts(policies):
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "arn:aws:iam::1:role/runner"}}
    held = policies(trust=[trust])
    assert held.trust_refusal(ROLE, "arn:aws:iam::1:role/runner") is None
    assert held.trust_refusal(ROLE, "arn:aws:iam::1:role/other") is not None


@pytest.mark.parametrize(
    ("operator", "expected", "actual", "holds"),
    [
        ("StringEquals", ["a", "b"], ["b"], True),
        ("StringEquals", ["a"], None, False),
        ("StringEqualsIfExists", ["a"], None, True),
        ("StringNotEquals", ["a"], ["b"], True),
        ("StringNotEquals", ["a"], None, True),
        ("StringLike", ["job#*"], ["job#1"], True),
        ("ForAllValues:StringLike", ["job#*"], ["job#1", "queue#2"], False),
        ("ForAllValues:StringLike", ["job#*"], None, True),
        ("ForAnyValue:StringLike", ["job#*"], ["job#1", "queue#2"], True),
        ("ArnLike", ["arn:aws:ecs:*:*:cluster/a"], ["arn:aws:ecs:us-east-1:1:cluster/a"], True),
        ("Bool", ["true"], ["True"], True),
        ("Null", ["true"], None, True),
    ],
)
def test_conditions(operator, expected, actual, holds):
    assert condition_holds(operator, expected, actual) is holds


def test_an_operator_that_is_not_known_is_an_error():
    with pytest.raises(KeyError):
        condition_holds("DateGreaterThan", ["2026-01-01"], ["2026-01-02"])


@pytest.mark.parametrize(("pattern", "value", "fits"), [("a?c", "abc", True), ("a.c", "abc", False), ("*", "", True)])
def test_patterns(pattern, value, fits):
    assert matches(pattern, value) is fits


def test_a_task_that_gets_tags_is_started_only_by_who_may_tag_it(policies):
    container = {"name": "runner", "image": "runner", "memory": 128}
    roles = {"task_role_arn": ROLE, "execution_role_arn": ROLE}
    ecs_backends[ACCOUNT]["eu-west-1"].register_task_definition("plan", [container], **roles)
    cluster = f"arn:aws:ecs:eu-west-1:{ACCOUNT}:cluster/tidegate"
    parameters = {"cluster": cluster, "taskDefinition": "plan", "propagateTags": "TASK_DEFINITION"}
    needed = Needs(ACCOUNT).of(Call("ecs", "RunTask", "eu-west-1", "json", parameters))
    starting = allow("ecs:RunTask"), allow("iam:PassRole")
    when_started = {"StringEquals": {"ecs:CreateAction": "RunTask"}}
    tagging = allow("ecs:TagResource", f"arn:aws:ecs:eu-west-1:{ACCOUNT}:task/tidegate/*", Condition=when_started)
    assert "ecs:TagResource" in policies(*starting).refusal(ROLE, needed)
    assert policies(*starting, tagging).refusal(ROLE, needed) is None
