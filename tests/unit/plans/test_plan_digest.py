"""When two plans say the same."""

from __future__ import annotations

import json

import pytest

from tidegate.plans.rules.plan_digest import plan_digest

PLAN = {
    "format_version": "1.2",
    "timestamp": "2026-03-02T08:00:00Z",
    "relevant_attributes": [{"resource": "a", "attribute": ["id"]}, {"resource": "b", "attribute": ["id"]}],
    "resource_changes": [{"address": "a", "change": {"actions": ["create"]}}],
    "prior_state": {"values": {}},
}


def digest(**changed):
    return plan_digest(json.dumps({**PLAN, **changed}).encode())


def test_plans_of_two_moments_that_say_the_same_are_the_same():
    other = dict(reversed(PLAN.items()))
    other |= {"timestamp": "2026-03-03T08:00:00Z", "relevant_attributes": PLAN["relevant_attributes"][::-1]}
    assert digest() == plan_digest(json.dumps(other, indent=2).encode())


@pytest.mark.parametrize(
    "changed",
    [
        {"resource_changes": []},
        {"resource_changes": [{"address": "a", "change": {"actions": ["delete"]}}]},
        {"prior_state": {"values": {"root_module": {}}}},
        {"relevant_attributes": None},
        {"relevant_attributes": PLAN["relevant_attributes"][:1]},
        {"variables": {"a": {"value": 1}}},
    ],
)
def test_plans_that_policies_may_tell_apart_are_different(changed):
    assert digest(**changed) not in {"", digest()}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"a": 1, "a": 2}', b"[" * 100_000])
def test_what_is_no_plan_is_like_no_other(content):
    assert plan_digest(content) == ""
