"""Where changes are applied, as the file says it, and what that requires of pull requests."""

from __future__ import annotations

import pytest

from tests.configuration import load, refusal
from tidegate.config.loader import load_configuration
from tidegate.config.organization import read_organization
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.policies.rules.requirements import Requirements
from tidegate.vcs.rules.pull_request import MergeMethod

HERE = "version: 1\napply: in_pull_request\n"


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", ApplyRules()),
        ("apply: on_merge\n", ApplyRules()),
        ("apply: in_pull_request\n", ApplyRules(ApplyMode.IN_PULL_REQUEST)),
        ("apply: in_pull_request\nmerge_after_apply: false\n", ApplyRules(ApplyMode.IN_PULL_REQUEST)),
        (
            "apply: in_pull_request\nmerge_after_apply: true\n",
            ApplyRules(ApplyMode.IN_PULL_REQUEST, MergeMethod.MERGE),
        ),
        (
            "apply: in_pull_request\nmerge_after_apply: squash\n",
            ApplyRules(ApplyMode.IN_PULL_REQUEST, MergeMethod.SQUASH),
        ),
    ],
)
def test_the_file_says_where_changes_are_applied_and_what_comes_after(text, rules):
    assert load(f"version: 1\n{text}").applying == rules


@pytest.mark.parametrize(
    ("line", "problem", "allowed"),
    [
        ("apply: later", "'later'", "in_pull_request"),
        (
            "merge_after_apply: octopus",
            "'octopus' is not a merge setting",
            "Write true, false, or one of merge, squash, rebase",
        ),
        ("merge_after_apply: [true]", "is not a merge setting", "merge, squash, rebase"),
        ("apply_requirements: {undiverged: {enable: true}}", "'enable'", "Did you mean 'enabled'?"),
    ],
)
def test_what_it_cannot_say_is_told_with_its_place(line, problem, allowed):
    error = refusal(f"version: 1\n{line}\n")
    assert error.line == 2
    assert problem in error.problem
    assert allowed in error.allowed


def test_a_merge_after_nothing_is_told():
    (warning,) = load("version: 1\nmerge_after_apply: true\n").warnings
    assert (warning.line, warning.text) == (2, "merge_after_apply has no effect without apply: in_pull_request.")
    assert load(f"{HERE}merge_after_apply: true\n").warnings == ()


@pytest.mark.parametrize(
    ("text", "required"),
    [
        (HERE, Requirements(approvals=1, mergeable=True, undiverged=True)),
        (f"{HERE}apply_requirements:\n", Requirements(approvals=1, mergeable=True, undiverged=True)),
        (f"{HERE}apply_requirements: {{approved: {{enabled: false}}}}\n", Requirements(undiverged=True)),
        (f"{HERE}apply_requirements: {{undiverged: {{enabled: false}}}}\n", Requirements()),
        ("version: 1\n", Requirements()),
        ("version: 1\napply_requirements: {undiverged: {}}\n", Requirements(undiverged=True)),
    ],
)
def test_applying_in_pull_requests_requires_an_approved_and_current_branch_unless_said_otherwise(text, required):
    assert load(text).requirements == required


def test_each_check_requires_a_current_branch_where_changes_are_applied_in_pull_requests():
    text = "apply_requirements: {checks: [{tag_query: prod}, {tag_query: '', undiverged: {enabled: false}}]}\n"
    found = [each.requirements for each in load(f"{HERE}{text}").checks or ()]
    assert found == [Requirements(undiverged=True), Requirements()]
    assert not any(each.requirements.undiverged for each in load(f"version: 1\n{text}").checks or ())


def test_the_organization_may_force_where_changes_are_applied():
    organization = read_organization(b"forced: {apply: in_pull_request, merge_after_apply: rebase}\n")
    loaded = load_configuration(b"version: 1\napply: on_merge\n", "acme/infra", organization)
    assert loaded.applying == ApplyRules(ApplyMode.IN_PULL_REQUEST, MergeMethod.REBASE)
