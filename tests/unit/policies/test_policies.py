"""Findings by conftest's conventions, what is kept of them, and the files of a set."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.policies.rules.files import (
    MAXIMUM_FILES,
    is_below,
    is_file_of_tests,
    is_policy_file,
    packed,
    problem_with,
    unpacked,
)
from tidegate.policies.rules.policy import KEPT_CHARACTERS, KEPT_FINDINGS, PolicyFinding, PolicyVerdict, Severity, kept
from tidegate.policies.rules.results import RuleResult, findings, named_address, plan_addresses
from tidegate.policies.rules.tested_policies import TestedPolicies, TestedRule


def finding(severity=Severity.DENY, **fields):
    return PolicyFinding(severity, "main.deny", fields.pop("message", "no"), **fields)


ADDRESSES = {"aws_s3_bucket.logs", 'module.a["x y"].aws_iam_role.b', "aws_instance.web[0]"}


@pytest.mark.parametrize(
    ("message", "address"),
    [
        ("aws_s3_bucket.logs is public.", "aws_s3_bucket.logs"),
        ("the attribute aws_s3_bucket.logs.acl[0].x is bad", "aws_s3_bucket.logs"),
        ('see module.a["x y"].aws_iam_role.b: no', 'module.a["x y"].aws_iam_role.b'),
        ("aws_instance.web[0], and aws_instance.web[1]", "aws_instance.web[0]"),
        ("aws_instance.web is not in the plan", ""),
        ("e.g. something else", ""),
        ("", ""),
    ],
)
def test_a_message_may_name_a_resource_of_the_plan(message, address):
    assert named_address(message, ADDRESSES) == address


@given(st.text(max_size=200))
def test_any_message_can_be_looked_through(message):
    assert named_address(message, ADDRESSES) in {"", *ADDRESSES}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("no", ("no", "", "", 0)),
        ({"msg": "no", "address": "a.b"}, ("no", "a.b", "", 0)),
        ({"msg": "no", "metadata": {"resource": "a.b"}}, ("no", "a.b", "", 0)),
        ({"msg": "no", "file": "main.tf", "line": 3}, ("no", "", "main.tf", 3)),
        ({"msg": "no", "address": 3, "line": True, "details": 1}, ("no", "", "", 0)),
        ({"msg": "no", "line": -1}, ("no", "", "", 0)),
        ({"msg": {"a": "é"}}, ('{"a": "é"}', "", "", 0)),
        (["x"], ('["x"]', "", "", 0)),
    ],
)
def test_what_a_rule_says_becomes_a_finding(value, expected):
    (found,) = findings([RuleResult("main", "deny_x", (value,))], {}, ())
    assert (found.severity, found.rule) == (Severity.DENY, "main.deny_x")
    assert (found.message, found.address, found.file, found.line) == expected


def test_exceptions_are_those_of_the_rules_package():
    results = [RuleResult("a", "deny_x", ("1",)), RuleResult("b", "deny_x", ("2",)), RuleResult("b", "warn", ("3",))]
    found = findings(results, {"a": [["x", "y"]], "b": [""]}, ())
    assert [(each.message, each.exempted_by) for each in found] == [
        ("1", "a.exception"),
        ("2", ""),
        ("3", "b.exception"),
    ]


@pytest.mark.parametrize("plan", [None, [], {}, {"resource_changes": [1, {"address": 2}]}])
def test_a_plan_that_names_no_resources_has_no_addresses(plan):
    assert plan_addresses(plan) == frozenset()


def test_the_addresses_of_a_plan_are_those_that_it_changes():
    assert plan_addresses({"resource_changes": [{"address": "a.b"}]}) == {"a.b"}


def test_a_set_fails_by_what_denies_or_violates_unless_an_exception_lets_it_pass():
    assert PolicyVerdict("x", (finding(),)).failed
    assert PolicyVerdict("x", (finding(Severity.VIOLATION),)).failed
    assert PolicyVerdict("x", error="broken").failed
    assert not PolicyVerdict("x", (finding(exempted_by="main.exception"),)).failed
    warned = PolicyVerdict("x", (finding(Severity.WARN),))
    assert (warned.failed, warned.warned) == (False, True)
    assert not PolicyVerdict("x", (finding(Severity.WARN, exempted_by="e"),)).warned


@given(
    st.lists(
        st.builds(
            PolicyVerdict,
            st.just("x"),
            st.lists(
                st.builds(
                    PolicyFinding,
                    st.sampled_from(Severity),
                    st.just("r" * 300),
                    st.sampled_from(["m", "m" * 5000]),
                    exempted_by=st.sampled_from(["", "main.exception"]),
                ),
                max_size=60,
            ).map(tuple),
            st.sampled_from(["", "e" * 5000]),
        ),
        max_size=20,
    )
)
def test_what_is_kept_is_bounded_counts_the_rest_and_fails_as_before(verdicts):
    found = kept(verdicts)
    assert [each.failed for each in found] == [each.failed for each in verdicts]
    assert sum(len(each.findings) for each in found) <= max(KEPT_FINDINGS, 5 * len(verdicts))
    for before, after in zip(verdicts, found, strict=True):
        assert len(after.findings) + after.omitted == len(before.findings)
        assert len(after.error) <= KEPT_CHARACTERS
        assert all(len(each.message) <= KEPT_CHARACTERS for each in after.findings)


@pytest.mark.parametrize(("sets", "each", "most"), [(1, KEPT_FINDINGS, 220_000), (20, 60, 220_000), (20, 1, 220_000)])
def test_what_is_kept_fits_into_a_record_whatever_the_letters(sets, each, most):
    wide = finding(message="界" * 5000, address="界" * 5000, file="界" * 5000)
    verdicts = kept([PolicyVerdict(f"set-{number}", (wide,) * each) for number in range(sets)])
    assert sum(len(repr(verdict).encode()) for verdict in verdicts) < most
    assert all(verdict.failed and len(verdict.findings) + verdict.omitted == each for verdict in verdicts)


def test_a_set_of_many_that_fails_by_one_long_finding_keeps_it():
    wide = finding(message="💥" * 5000, address="💥" * 5000)
    verdicts = kept([PolicyVerdict(f"set-{number}", (wide, wide)) for number in range(20)], findings=20)
    assert [(len(verdict.findings), verdict.omitted) for verdict in verdicts] == [(1, 1)] * 20


@pytest.mark.parametrize(
    ("path", "policy", "tests"),
    [
        ("p/main.rego", True, True),
        ("p/data.yaml", True, True),
        ("p/main_test.rego", False, True),
        ("p/testdata/plan.json", False, False),
        ("testdata", False, False),
        ("p/readme.md", False, False),
    ],
)
def test_policies_and_data_count_and_tests_only_when_policies_are_tested(path, policy, tests):
    assert (is_policy_file(path), is_file_of_tests(path)) == (policy, tests)


def test_a_file_is_below_its_directories_only():
    assert is_below("a/b/c.rego", "a/b")
    assert is_below("c.rego", ".")
    assert not is_below("ab/c.rego", "a")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a.rego": b"x"}, ""),
        ({}, "There are no policies"),
        ({"a.json": b"{}"}, "There are no policies"),
        ({"a.rego": b"\xff"}, "a.rego is not UTF-8"),
        ({"a.rego": b" " * (5 << 20)}, "too large"),
        ({f"{number}.rego": b"" for number in range(MAXIMUM_FILES + 1)}, "too large"),
    ],
)
def test_what_is_no_policy_set_is_said_in_words(files, words):
    assert words in problem_with(files)
    assert bool(problem_with(files)) is bool(words)


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=50), max_size=5))
def test_files_come_back_as_they_were_stored(files):
    given_files = {path: text.encode("utf-8", "replace") for path, text in files.items()}
    key, content = packed(given_files)
    assert unpacked(content) == given_files
    assert key.startswith("policies/")
    assert packed(dict(reversed(given_files.items()))) == (key, content)
    assert json.loads(content)


def test_tests_have_passed_only_if_there_are_any_and_all_hold():
    assert TestedPolicies((TestedRule("a", passed=True),)).passed
    assert not TestedPolicies((TestedRule("a", passed=True), TestedRule("b", passed=False))).passed
    assert not TestedPolicies().passed
    assert not TestedPolicies((TestedRule("a", passed=True),), "broken").passed
