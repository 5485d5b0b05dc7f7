"""What ``access_control`` may say, and whom requirements may name."""

from __future__ import annotations

import pytest

from tests.configuration import load, refusal
from tidegate.policies.rules.requirements import Requirements
from tidegate.rules.access import Access


def test_policies_are_taken_in_their_order_and_who_may_apply_may_review_unless_that_is_said():
    loaded = load("""
access_control:
  policies:
    - {tag_query: prod, plan: ['*'], apply: ['team:SRE', 'team:sre', 'user:Ann'], unlock: []}
    - {tag_query: dev, review: ['role:maintain']}
    - tag_query: ''
""")
    assert [(each.query.text, each.line, each.access) for each in loaded.policies or ()] == [
        ("prod", 4, Access(("*",), ("team:sre", "user:Ann"), (), ("team:sre", "user:Ann"))),
        ("dev", 5, Access(("*",), ("*",), ("*",), ("role:maintain",))),
        ("", 6, Access()),
    ]


def test_without_access_control_or_with_it_switched_off_there_are_no_policies():
    assert load("version: 1\n").policies is None
    assert load("access_control: {enabled: false}\n").policies is None
    assert load("access_control: {enabled: false, policies: [{tag_query: ''}]}\n").policies is None
    assert load("access_control: {policies: []}\n").policies == ()


@pytest.mark.parametrize(
    ("policy", "column", "words"),
    [
        ("{plan: ['*']}", 29, ["missing key 'tag_query'"]),
        ("{tag_query: '', apply: [sre]}", 53, ["'sre' matches no person or team", "user:LOGIN, team:SLUG"]),
        ("{tag_query: '', apply: ['repo:admin']}", 53, ["'repo:admin' matches no person or team"]),
        ("{tag_query: '', apply: ['role:owner']}", 53, ["read, triage, write, maintain, admin"]),
        ("{tag_query: '', apply: ['team:acme/sre']}", 53, ["matches no person or team"]),
        ("{tag_query: '', apply: 'team:sre'}", 52, ["Write [team:sre]"]),
        ("{tag_query: '', deploy: ['*']}", 45, ["unknown key 'deploy'", "plan, apply, unlock, review"]),
    ],
)
def test_what_policies_cannot_be_is_told_with_its_place(policy, column, words):
    error = refusal(f"access_control: {{policies: [{policy}]}}\n")
    assert (error.line, error.column) == (1, column)
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize("text", ["access_control:\n", "access_control: {}\n", "access_control: {enabled: true}\n"])
def test_access_control_without_policies_is_refused_as_it_would_shut_everybody_out(text):
    assert "access_control has no policies" in str(refusal(text))


def test_requirements_name_people_as_policies_do_and_checks_that_do_not_count():
    loaded = load("""
apply_requirements:
  checks:
    - tag_query: prod
      approved: {any_of: ['team:sre', 'user:ann'], any_of_count: 2, all_of: ['role:admin']}
      status_checks: {ignore_matching: ['ci/*']}
    - tag_query: ''
      approved: {enabled: false, any_of: ['team:sre'], all_of: ['role:admin']}
    - tag_query: dev
      approved: {any_of: ['*', 'team:sre']}
      status_checks: {enabled: false, ignore_matching: ['ci/*']}
""")
    assert [(each.line, each.requirements) for each in loaded.checks or ()] == [
        (
            4,
            Requirements(
                approvals=2,
                checks=True,
                any_of=("team:sre", "user:ann"),
                all_of=("role:admin",),
                ignore_matching=("ci/*",),
            ),
        ),
        (7, Requirements()),
        (9, Requirements(approvals=1, ignore_matching=("ci/*",))),
    ]


def test_people_of_requirements_that_nobody_is_are_told_with_their_place():
    error = refusal("apply_requirements: {approved: {all_of: [sre]}}\n")
    assert (error.line, error.column) == (1, 42)
    assert "'sre' matches no person or team" in error.problem


@pytest.mark.parametrize(
    ("policy", "warns"),
    [
        ("apply: ['team:sre']", True),
        ("review: ['team:sre']", True),
        ("apply: ['team:sre'], unlock: ['team:sre']", False),
        ("apply: ['team:sre'], unlock: []", False),
        ("apply: ['team:sre'], unlock: ['role:read']", True),
        ("apply: ['role:maintain'], unlock: ['role:maintain']", False),
        ("apply: ['role:write']", False),
        ("plan: ['team:sre']", False),
    ],
)
def test_who_limits_applies_and_lets_everybody_unlock_is_warned(policy, warns):
    loaded = load(f"""
access_control:
  policies:
    - {{tag_query: '', {policy}}}
""")
    assert [(each.line, "may unlock" in each.text) for each in loaded.warnings] == ([(4, True)] if warns else [])
