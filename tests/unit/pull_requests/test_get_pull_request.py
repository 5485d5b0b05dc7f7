"""What pages and commands see of pull requests."""

from __future__ import annotations

import pytest

from tests.api.counted import Counted
from tests.builders import NOW, any_layer, any_pull_request, any_pull_request_record
from tests.fakes.ports import With, changed, memory_ports
from tests.instants import utc
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.pull_requests.get_pull_request import (
    SEARCHED_ROOTS,
    SHOWN_LAYERS,
    get_pull_request,
    open_pull_requests,
    search_pull_requests,
)
from tidegate.pull_requests.rules.query import parse_pull_request_query
from tidegate.pull_requests.rules.record import PullRequestState, judged
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.forge_terms import GITHUB_TERMS

LATER = utc("2026-03-02T08:15")


def numbers(found):
    return [each.spec.number for each in found.records]


@pytest.fixture
def ports():
    return memory_ports()


def test_open_ones_of_the_repositories_that_are_asked_for_are_listed_newest_first(ports):
    for record in (
        any_pull_request_record(5),
        any_pull_request_record(6, opened_at=LATER),
        any_pull_request_record(7),
        any_pull_request_record(8, closed_at=NOW),
        any_pull_request_record(spec=any_pull_request(9, repository="acme/other")),
    ):
        ports.pull_requests.save(record)
    both = ["acme/infra", "acme/other"]
    assert numbers(open_pull_requests(ports, ["acme/infra"], 9)) == [6, 7, 5]
    assert numbers(open_pull_requests(ports, both, 9)) == [6, 9, 7, 5]
    assert numbers(open_pull_requests(ports, [], 9)) == []
    first = open_pull_requests(ports, both, 3)
    second = open_pull_requests(ports, both, 3, first.next)
    assert (numbers(first), numbers(second), second.next) == ([6, 9, 7], [5], None)


def test_open_ones_are_searched_by_the_roots_that_they_affect(ports):
    layers = [any_layer("orders", stack="prod"), any_layer("network", stack="dev")]
    ports.speculative_plans.create(layers)
    for number, ids in ((5, (layers[0].id,)), (6, (layers[1].id, "gone")), (7, ())):
        ports.pull_requests.save(any_pull_request_record(number, layers=ids))
    found = search_pull_requests(ports, ["acme/infra"], parse_pull_request_query("stack_name:prod", GITHUB_TERMS))
    assert ([each.spec.number for each in found.records], found.hint) == ([5], "")
    nothing = search_pull_requests(ports, ["acme/infra"], parse_pull_request_query("stack_name:prood", GITHUB_TERMS))
    assert (nothing.records, "Did you mean stack_name:prod?" in nothing.hint) == ([], True)


def test_a_search_goes_on_where_its_reads_ended(ports):
    """Every pull request is searched once, and one that affects more roots than a request reads holds up none."""
    orders = any_layer("orders", stack="prod")
    ports.speculative_plans.create([orders])
    sizes = {5: 1, 6: SEARCHED_ROOTS - 2, 7: 2, 8: SEARCHED_ROOTS + 200, 9: 1}
    for number, size in sizes.items():
        layers = (orders.id, *(f"{number}-{each}" for each in range(size - 1)))
        ports.pull_requests.save(any_pull_request_record(number, layers=layers))
    query, calls = parse_pull_request_query("stack_name:prod", GITHUB_TERMS), []
    counting = changed(ports, speculative_plans=Counted(ports.speculative_plans, calls))
    pages, after = [], ""
    while after is not None:
        found = search_pull_requests(counting, ["acme/infra"], query, after)
        pages.append(numbers(found))
        after = found.next
    assert pages == [[9], [8], [7, 6], [5]]
    assert max(reads for _, reads in calls) <= SEARCHED_ROOTS / 100


def test_one_that_was_closed_meanwhile_is_left_out(ports):
    ports.pull_requests.save(any_pull_request_record(5, closed_at=NOW))
    ports = changed(ports, pull_requests=With(ports.pull_requests, newest=lambda: [(NOW, "acme/infra", 5)]))
    query = parse_pull_request_query("stack_name:prod", GITHUB_TERMS)
    for found in (open_pull_requests(ports, ["acme/infra"], 9), search_pull_requests(ports, ["acme/infra"], query)):
        assert (found.records, found.next) == ([], None)


def test_layers_are_shown_in_the_order_of_a_merge_without_those_that_are_gone(ports):
    first, second, gone = any_layer("z"), any_layer("a"), any_layer("gone")
    ports.speculative_plans.create([first, second])
    saved = ports.pull_requests.save(any_pull_request_record(layers=(first.id, gone.id, second.id)))
    view = get_pull_request(ports, "acme/infra", 5)
    assert (view.record.spec, view.layers) == (saved.spec, (first, second))


def test_of_very_many_layers_the_first_are_shown_with_the_conditions_that_are_stored(ports):
    layers = [any_layer(f"root-{number:04}", state=LayerState.PLANNED) for number in range(SHOWN_LAYERS + 3)]
    ports.speculative_plans.create(layers)
    record = any_pull_request_record(layers=tuple(each.id for each in layers), discovered=any_pull_request().revision)
    saved = ports.pull_requests.save(judged(record, [], NOW))
    view = get_pull_request(ports, "acme/infra", 5)
    assert (view.layers, view.left_out, view.record) == (tuple(layers[:SHOWN_LAYERS]), 3, saved)


def test_conditions_are_those_of_the_layers_now_since_the_last_of_them_changed(ports):
    layer = any_layer(state=LayerState.PLANNED, changed_at=LATER)
    ports.speculative_plans.create([layer])
    record = any_pull_request_record(discovered=any_pull_request().revision, layers=(layer.id,))
    ports.pull_requests.save(judged(record, [any_layer()], NOW))
    view = get_pull_request(ports, "acme/infra", 5)
    assert view.record.state is PullRequestState.COMMENT_NEEDED
    assert [each.since for each in view.record.conditions] == [NOW, LATER, NOW]


def test_layers_that_wait_for_a_free_place_say_behind_what(ports):
    layers = [any_layer("a", state=LayerState.PLANNING), any_layer("b"), any_layer("c"), any_layer("d")]
    ports.speculative_plans.create(layers)
    ports.pull_requests.save(any_pull_request_record(layers=tuple(each.id for each in layers)))
    places = ports.plan_slots
    places.take("acme/infra", layers[0].id, 1)
    for each in layers[1:3]:
        places.join("acme/infra", each.id)
    assert [each.reason for each in get_pull_request(ports, "acme/infra", 5).layers] == [
        "",
        "Waiting for a concurrency slot, next in the queue: 1 plan of the repository is running, of #5.",
        "Waiting for a concurrency slot, behind 1 other: 1 plan of the repository is running, of #5.",
        "",
    ]


def test_layers_that_are_not_begun_yet_wait_for_nothing(ports):
    layer = any_layer("a")
    ports.speculative_plans.create([layer])
    ports.pull_requests.save(any_pull_request_record(layers=(layer.id,)))
    ports.plan_slots.join("acme/infra", "another")
    assert get_pull_request(ports, "acme/infra", 5).layers == (layer,)


def test_a_closed_one_is_shown_as_it_was(ports):
    saved = ports.pull_requests.save(judged(any_pull_request_record(closed_at=NOW), (), NOW))
    assert get_pull_request(ports, "acme/infra", 5).record == saved


def test_a_pull_request_that_is_none_is_not_found(ports):
    with pytest.raises(NotFound):
        get_pull_request(ports, "acme/infra", 5)
