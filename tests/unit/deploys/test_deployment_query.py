"""What a tag query about deployments finds, and what it refuses."""

from __future__ import annotations

import pytest

from tests.builders import any_deployment, any_revision, any_root, deployment_in
from tidegate.deploys.rules.query import GROUPS, KINDS, deployment_tags, parse_deployment_query
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.summary import summary_of
from tidegate.roots.rules.query_words import InvalidTagQuery

SHA = "0123456789abcdef0123456789abcdef01234567"
ONE = any_deployment(
    root=any_root(name="orders", dir="live/prod/orders", workspace="blue"),
    revision=any_revision(sha=SHA),
    trigger=Trigger.MANUAL,
    requested_by="octocat",
    stack="prod",
    within=("live",),
    tags=("team:sre", "critical"),
    change_set="c-7",
    state=State.AWAITING_REVIEW,
)


def matches(query: str, one=ONE) -> bool:
    return parse_deployment_query(query).matches(deployment_tags(summary_of(one)))


@pytest.mark.parametrize(
    "query",
    [
        "",
        "repository:acme/infra",
        "root:orders",
        "name:orders",
        "dir:live/prod/orders",
        "dir:live/**",
        "prod in dir",
        "dir~prod",
        "workspace:blue",
        "stack_name:prod",
        "stack_name:live",
        "state:awaiting_review",
        "state:waiting",
        "trigger:manual",
        "by:octocat",
        f"revision:{SHA}",
        "revision:0123456",
        "revision:0123456789",
        "change:c-7",
        "stack_name:prod and state:waiting",
        "critical",
        "team:sre and root:orders",
        "stack_name:dev or not (state:failed or state:ended)",
        "not 'a tag that none has'",
    ],
)
def test_a_deployment_is_found_by_what_it_is(query):
    assert matches(query)


@pytest.mark.parametrize(
    "query",
    [
        "root:order",
        "stack_name:dev",
        "state:running",
        "revision:1234567",
        "change:c",
        "by:Octocat",
        "'root'",
        "team:web",
    ],
)
def test_a_deployment_is_not_found_by_what_it_is_not(query):
    assert not matches(query)


@pytest.mark.parametrize("state", State)
def test_every_state_is_found_by_its_name_and_waits_runs_or_has_ended(state):
    one = deployment_in(state)
    assert matches(f"state:{state.value}", one)
    assert [matches(f"state:{group}", one) for group in ("waiting", "running", "ended")].count(True) == 1
    assert matches("state:failed", one) == (state in GROUPS["failed"])


@pytest.mark.parametrize(
    ("query", "column", "words"),
    [
        ("root:a and status:waiting", 12, "Did you mean state:?"),
        ("state:wating", 1, "Did you mean state:waiting?"),
        ("state:xyz", 1, "Use one of: waiting, running, ended, failed, queued"),
        ("trigger:hand", 1, "merge, manual, rerun"),
        ("waiting", 1, "Did you mean state:waiting?"),
        ("roots:a", 1, "Tags of deployments begin with repository:, root:"),
        ("revision:0123", 1, "at least 7 characters"),
        ("root:a and", 11, "follows 'and'"),
    ],
)
def test_what_no_deployment_can_have_is_refused_with_its_column_and_what_was_meant(query, column, words):
    with pytest.raises(InvalidTagQuery) as refused:
        parse_deployment_query(query)
    assert refused.value.column == column
    assert words in str(refused.value)


@pytest.mark.parametrize("example", KINDS.values())
def test_the_examples_of_all_kinds_are_queries(example):
    assert parse_deployment_query(example)
