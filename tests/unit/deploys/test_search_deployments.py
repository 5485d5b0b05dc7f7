"""Searching deployments: all that match are found over the pages, and no request reads without end."""

from __future__ import annotations

import pytest

from tests.api.counted import Counted
from tests.builders import REPOSITORY, any_deployment, any_root
from tests.fakes.ports import changed, memory_ports
from tests.instants import utc
from tidegate.deploys.rules.query import parse_deployment_query
from tidegate.deploys.rules.summary import summary_of
from tidegate.deploys.search_deployments import MOST_READS, SEARCHED, search_all_deployments, search_deployments
from tidegate.rules.errors import NotFound


@pytest.fixture
def ports():
    return memory_ports()


def enqueue(ports, number, root="network", **fields):
    at = utc(f"2026-03-02T08:{number // 3600:02}:{number // 60 % 60:02}.{number % 60:06}")
    one = any_deployment(number, root=any_root(name=root), requested_at=at, **fields)
    ports.queues.enqueue(one)
    return one.id


def search_all(ports, query, limit, **fields):
    """Return the ids on all pages, and how many deployments were looked at in each request."""
    ids, looked, after = [], [], None
    while True:
        found = search_deployments(ports, REPOSITORY, parse_deployment_query(query), limit, after=after, **fields)
        assert len(found.deployments) <= limit
        ids += [one.id for one in found.deployments]
        looked.append(found.searched)
        after = found.next
        if after is None:
            return ids, looked


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 100])
def test_all_that_match_are_found_once_newest_first_however_long_the_pages_are(ports, limit):
    made = [enqueue(ports, number, stack="prod" if number % 2 else "dev") for number in range(6)]
    ids, _ = search_all(ports, "stack_name:prod", limit)
    assert ids == made[1::2][::-1]


def test_the_last_page_says_that_nothing_follows(ports):
    enqueue(ports, 1)
    found = search_deployments(ports, REPOSITORY, parse_deployment_query(""), 1)
    assert found.next is None


def test_one_roots_deployments_are_searched_alone(ports):
    enqueue(ports, 1)
    wanted = [enqueue(ports, number, root="orders") for number in (2, 3)]
    assert search_all(ports, "state:waiting", 1, root="orders")[0] == wanted[::-1]


def test_a_request_looks_at_a_thousand_and_then_says_how_to_go_on(ports):
    oldest = enqueue(ports, 0, stack="prod")
    for number in range(1, SEARCHED + 1):
        enqueue(ports, number)
    first = search_deployments(ports, REPOSITORY, parse_deployment_query("stack_name:prod"), 10)
    assert (first.deployments, first.searched, first.next is None) == ((), SEARCHED, False)
    assert search_all(ports, "stack_name:prod", 10) == ([oldest], [SEARCHED, 1])


def test_what_is_no_place_is_not_found(ports):
    with pytest.raises(NotFound):
        search_deployments(ports, REPOSITORY, parse_deployment_query(""), 10, after="x")


def search_everywhere(ports, names, query, limit):
    """Return the ids on all pages of a search of several repositories."""
    ids, after = [], None
    while True:
        found = search_all_deployments(ports, names, parse_deployment_query(query), limit, after)
        ids += [one.id for one in found.deployments]
        if found.next is None:
            return ids
        after = summary_of(next(one for one in ports.deployments.all() if one.id == found.next))


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_several_repositories_are_searched_as_if_they_were_one(ports, limit):
    names = ["acme/a", "acme/b", "acme/c"]
    made = [enqueue(ports, number, repository=names[number % 3]) for number in range(60)]
    assert search_everywhere(ports, names[:2], "state:waiting", limit) == [
        one for number, one in reversed(list(enumerate(made))) if number % 3 < 2
    ]


def test_a_search_of_several_repositories_ends_after_a_thousand_too(ports):
    for number in range(SEARCHED + 3):
        enqueue(ports, number, repository=f"acme/{number % 2}")
    found = search_all_deployments(ports, ["acme/0", "acme/1"], parse_deployment_query("root:none"), 5)
    assert (found.deployments, found.searched, found.next is None) == ((), SEARCHED, False)


def test_a_search_of_many_repositories_reads_no_more_than_a_page_may_and_goes_on_where_it_ended(ports):
    names = [f"acme/{number}" for number in range(MOST_READS - 1)]
    made = [enqueue(ports, number, repository=names[0]) for number in range(150)]
    calls = []
    counting = changed(ports, repository_index=Counted(ports.repository_index, calls))
    found = search_all_deployments(counting, names, parse_deployment_query("root:none"), 5)
    assert sum(name == "of_repository" for name, _ in calls) == MOST_READS
    assert (found.searched, found.next) == (105, made[-105])
    assert search_everywhere(ports, names, "state:waiting", 5) == made[::-1]


def test_without_repositories_nothing_is_found(ports):
    found = search_all_deployments(ports, [], parse_deployment_query(""), 5)
    assert (found.deployments, found.searched, found.next) == ((), 0, None)


def test_a_stack_that_no_deployment_has_is_told_with_the_nearest(ports):
    for number, stack in enumerate(("production", "dev")):
        enqueue(ports, number, stack=stack)
    asked = parse_deployment_query("stack_name:producton and state:queued")
    told = "None of the deployments searched has the stack 'producton'. Did you mean stack_name:production? "
    for found in (
        search_deployments(ports, REPOSITORY, asked, 10),
        search_all_deployments(ports, [REPOSITORY], asked, 10),
    ):
        assert found.hint == f"{told}Known: dev, production."
    assert "Did you mean" not in search_deployments(ports, REPOSITORY, parse_deployment_query("stack_name:x"), 10).hint


def test_a_tag_that_no_root_has_is_told_with_the_nearest(ports):
    enqueue(ports, 1, tags=("team:sre",))
    told = "None of the deployments searched has the tag 'team:sra'. Did you mean team:sre? Known: team:sre."
    assert search_deployments(ports, REPOSITORY, parse_deployment_query("team:sra"), 10).hint == told
    assert search_deployments(ports, REPOSITORY, parse_deployment_query("'state:x' or dir:a"), 10).hint == ""


def test_where_something_is_found_or_the_stack_is_there_nothing_is_told(ports):
    enqueue(ports, 1, stack="dev")
    for query in ("stack_name:dev or stack_name:qa", "stack_name:dev and state:applied", "state:applied"):
        asked = parse_deployment_query(query)
        assert (
            search_deployments(ports, REPOSITORY, asked, 10).hint
            == search_all_deployments(ports, [REPOSITORY], asked, 10).hint
            == ""
        )


def test_of_many_stacks_the_first_are_named_and_of_none_nothing_is(ports):
    asked = parse_deployment_query("stack_name:none")
    assert (
        search_deployments(ports, REPOSITORY, asked, 10).hint
        == "None of the deployments searched has the stack 'none'."
    )
    for number in range(21):
        enqueue(ports, number, stack=f"s{number:02}")
    assert search_deployments(ports, REPOSITORY, asked, 10).hint.endswith(
        "Known: s00, s01, s02, s03, s04, s05, s06, s07, s08, s09, s10, s11, s12, s13, s14, s15, s16, s17, s18, s19, …."
    )
