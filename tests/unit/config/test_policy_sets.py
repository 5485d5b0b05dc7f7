"""What ``policy_sets`` may say."""

from __future__ import annotations

import pytest

from tests.configuration import load, refusal
from tidegate.policies.rules.policy_set import PolicySource, sets_for
from tidegate.roots.rules.terms import Tagged


def test_a_set_says_where_its_files_are_whose_it_is_and_which_roots_it_is_for():
    loaded = load("""
policy_sets:
  network:
    paths: [policies/network, policies/network, shared]
    owners: ['team:SRE', 'user:Ann']
    approvals: 2
    namespaces: [main, teams.network]
    tag_query: prod
  costs: {source: organization}
""")
    network, costs = loaded.policy_sets
    assert (network.name, network.paths, network.source) == (
        "network",
        ("policies/network", "shared"),
        PolicySource.REPOSITORY,
    )
    assert (network.owners, network.approvals, network.namespaces) == (
        ("team:sre", "user:Ann"),
        2,
        ("main", "teams.network"),
    )
    assert network.line == 3
    assert (costs.name, costs.paths, costs.source, costs.owners) == ("costs", (), PolicySource.ORGANIZATION, ())
    assert (costs.approvals, costs.namespaces) == (1, ("main",))


def test_sets_hold_for_the_roots_that_their_queries_match():
    loaded = load("policy_sets: {a: {paths: [p], tag_query: prod}, b: {paths: [p]}, c: {paths: [p], tag_query: dev}}")
    assert sets_for(loaded.policy_sets, Tagged("live", frozenset({"prod"}))) == ("a", "b")


def test_without_the_key_there_are_no_sets():
    assert load("version: 1\n").policy_sets == ()
    assert load("policy_sets:\n").policy_sets == ()


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("a: {}", ["missing 'paths'", "source: organization"]),
        (
            "a: {paths: [x], source: organization}",
            ["not allowed with source: organization", "configuration/policies/NAME/"],
        ),
        ("a: {paths: [../x]}", ["'../x' is not a valid directory"]),
        ("a: {paths: [x], owners: [sre]}", ["'sre' matches no person or team"]),
        ("a: {paths: [x], approvals: 0}", ["'0' is not valid"]),
        ("a: {paths: [x], namespaces: []}", ["at least 1"]),
        ("a: {paths: [x], namespaces: ['a b']}", ["'a b' is not a Rego package name"]),
        ("a: {paths: [x], source: elsewhere}", ["repository", "organization"]),
        ("'a/b': {paths: [x]}", ["'a/b' is not a valid policy set name"]),
        ("a: {path: [x]}", ["path", "paths"]),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(section, words):
    error = str(refusal(f"policy_sets:\n  {section}\n"))
    assert all(word in error for word in words), error
    assert error.startswith("tidegate.yaml:2")


def test_more_sets_than_can_be_evaluated_are_refused():
    sets = "\n".join(f"  set{number}: {{paths: [x]}}" for number in range(21))
    assert "20" in str(refusal(f"policy_sets:\n{sets}\n"))
