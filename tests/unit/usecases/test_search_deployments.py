"""Searching deployments: all that match are found over the pages, and no request reads without end."""

from __future__ import annotations

import pytest

from tests.builders import REPOSITORY, any_deployment, any_root
from tidegate.adapters.memory import MemoryCatalog, MemoryDeployments, MemoryDeployQueues
from tidegate.domain.deployment_query import parse_deployment_query
from tidegate.domain.errors import NotFound
from tidegate.usecases.search_deployments import SEARCHED, DeploymentSearcher


@pytest.fixture
def deployments():
    return MemoryDeployments()


@pytest.fixture
def queues(deployments):
    return MemoryDeployQueues(deployments)


@pytest.fixture
def searcher(deployments, queues):
    return DeploymentSearcher(MemoryCatalog(deployments, queues))


def enqueue(queues, number, root="network", **fields):
    at = f"2026-03-02T08:{number // 3600:02}:{number // 60 % 60:02}.{number % 60:06}+00:00"
    one = any_deployment(number, root=any_root(name=root), requested_at=at, **fields)
    queues.enqueue(one)
    return one.id


def search_all(searcher, query, limit, **fields):
    """Return the ids on all pages, and how many deployments were looked at in each request."""
    ids, looked, after = [], [], None
    while True:
        found = searcher.search(REPOSITORY, parse_deployment_query(query), limit, after=after, **fields)
        assert len(found.deployments) <= limit
        ids += [one.id for one in found.deployments]
        looked.append(found.searched)
        after = found.next
        if after is None:
            return ids, looked


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
def test_all_that_match_are_found_once_newest_first_however_long_the_pages_are(queues, searcher, limit):
    made = [enqueue(queues, number, stack="prod" if number % 2 else "dev") for number in range(6)]
    ids, _ = search_all(searcher, "stack_name:prod", limit)
    assert ids == made[1::2][::-1]


def test_the_last_page_says_that_nothing_follows(queues, searcher):
    enqueue(queues, 1)
    found = searcher.search(REPOSITORY, parse_deployment_query(""), 1)
    assert (found.next, found.is_cut) == (None, False)


def test_one_roots_deployments_are_searched_alone(queues, searcher):
    enqueue(queues, 1)
    wanted = [enqueue(queues, number, root="orders") for number in (2, 3)]
    assert search_all(searcher, "state:waiting", 1, root="orders")[0] == wanted[::-1]


def test_a_request_looks_at_a_thousand_and_then_says_how_to_go_on(queues, searcher):
    oldest = enqueue(queues, 0, stack="prod")
    for number in range(1, SEARCHED + 1):
        enqueue(queues, number)
    first = searcher.search(REPOSITORY, parse_deployment_query("stack_name:prod"), 10)
    assert (first.deployments, first.searched, first.is_cut) == ((), SEARCHED, True)
    assert search_all(searcher, "stack_name:prod", 10) == ([oldest], [SEARCHED, 1])


def test_what_is_no_place_is_not_found(searcher):
    with pytest.raises(NotFound):
        searcher.search(REPOSITORY, parse_deployment_query(""), 10, after="x")
