"""What tag queries about roots and about pull requests find, and what they refuse."""

from __future__ import annotations

import pytest

from tests.builders import any_deployment, any_layer, any_pull_request_record, any_root
from tidegate.deploys.rules.root_query_of_deployments import parse_root_query, root_tags
from tidegate.deploys.rules.state import State
from tidegate.pull_requests.rules.query import is_found, parse_pull_request_query
from tidegate.roots.rules.query_words import InvalidTagQuery
from tidegate.vcs.rules.forge_terms import GITHUB_TERMS

PLACE = any_root(name="orders", dir="live/orders", workspace="blue")
IN_PROD = any_deployment(root=PLACE, stack="prod", within=("live",), tags=("team:sre",), state=State.APPLIED)
IN_DEV = any_deployment(2, root=PLACE, stack="dev", state=State.AWAITING_REVIEW)


def has(query, *deployments, stacks=()):
    return parse_root_query(query).matches(root_tags("orders", "acme/infra", stacks, deployments))


@pytest.mark.parametrize(
    "query",
    [
        "",
        "root:orders and repository:acme/infra",
        "dir:live/**",
        "workspace:blue",
        "stack_name:prod and stack_name:dev",
        "stack_name:live",
        "team:sre",
        "state:waiting",
        "state:applied",
    ],
)
def test_a_root_is_found_by_what_its_deployments_are(query):
    assert has(query, IN_PROD, IN_DEV)


def test_a_root_of_which_no_deployment_is_known_is_found_by_its_name_and_stacks():
    assert has("name:orders and stack_name:prod", stacks=["prod"])
    assert not has("stack_name:dev or dir:live/orders", stacks=["prod"])


@pytest.mark.parametrize("query", ["revision:0123456", "stack:prod", "waiting", "state:x", "root:a and"])
def test_what_no_root_can_have_is_refused(query):
    with pytest.raises(InvalidTagQuery):
        parse_root_query(query)


LAYERS = [
    any_layer("orders", stack="prod", within=("live",), tags=("team:sre",)),
    any_layer("network", stack="dev"),
]


def finds(query, layers=LAYERS):
    return is_found(any_pull_request_record(), layers, parse_pull_request_query(query, GITHUB_TERMS))


@pytest.mark.parametrize(
    "query",
    [
        "stack_name:prod and root:orders",
        "stack_name:live and team:sre",
        "dir:roots/network",
        "by:author and repository:acme/infra",
        "not stack_name:prod",
    ],
)
def test_a_pull_request_is_found_by_any_root_that_it_affects(query):
    assert finds(query)


@pytest.mark.parametrize("query", ["stack_name:prod and root:network", "team:web", "by:nobody"])
def test_a_pull_request_is_not_found_by_what_two_of_its_roots_are_together(query):
    assert not finds(query)


def test_a_pull_request_that_affects_no_root_is_found_by_what_it_is_itself():
    assert finds("by:author", ())
    assert not finds("root:orders", ())


@pytest.mark.parametrize("query", ["state:waiting", "reversion:0123456"])
def test_what_no_pull_request_can_have_is_refused(query):
    with pytest.raises(InvalidTagQuery, match="Tags of pull requests begin with repository:"):
        parse_pull_request_query(query, GITHUB_TERMS)
