"""What every store of the places for plans does: by the rules of the domain, in one atomic change each."""

from __future__ import annotations

import json

import pytest

from tests.builders import any_layer, any_plan
from tests.fakes.ports import memory_ports
from tidegate.aws.records import from_item
from tidegate.deploys.adapters.plan_slots import DynamoPlanSlots
from tidegate.deploys.rules.plan_slots import Precedence, in_order
from tidegate.messages import BeginSpeculativePlan, RecordSpeculativePlan
from tidegate.pull_requests.begin_speculative_plan import begin_speculative_plan
from tidegate.pull_requests.record_speculative_plan import record_speculative_plan
from tidegate.rules.errors import Conflict, NotFound

REPOSITORY = "acme/infra"
#: DynamoDB's limit of an item, in bytes.
LARGEST = 400 * 1024


def take(stores, *layers, limit=2):
    return [layer for layer in layers if layer in stores.places.take(REPOSITORY, layer, limit).held]


def seen(stores):
    places = stores.places.read(REPOSITORY)
    return set(places.held), places.line


def test_nobody_has_a_place_where_nobody_asked(stores):
    places = stores.places.read(REPOSITORY)
    assert (places.repository, places.is_quiet, places.version) == (REPOSITORY, True, 0)
    assert stores.places.leave(REPOSITORY, ["a"]).is_quiet
    assert list(stores.places.busy()) == []


def test_so_many_have_a_place_and_each_keeps_its_own(stores):
    assert take(stores, "a", "b", "c") == ["a", "b"]
    assert take(stores, "a", "b") == ["a", "b"]
    assert seen(stores) == ({"a", "b"}, ())


def test_each_repository_has_places_of_its_own(stores):
    take(stores, "a", "b")
    assert stores.places.take("acme/other", "c", 2).held == ("c",)
    assert sorted(stores.places.busy()) == [REPOSITORY, "acme/other"]


def test_a_place_that_is_given_back_is_free(stores):
    take(stores, "a", "b")
    assert set(stores.places.leave(REPOSITORY, ["a"]).held) == {"b"}
    assert take(stores, "c", "d") == ["c"]


def test_who_waits_stands_in_line_once_and_who_has_a_place_does_not(stores):
    take(stores, "a", "b")
    for layer in ("c", "d", "c", "a"):
        stores.places.join(REPOSITORY, layer)
    assert seen(stores) == ({"a", "b"}, ("c", "d"))


def test_nobody_passes_those_who_wait(stores):
    take(stores, "a", "b")
    stores.places.join(REPOSITORY, "c")
    stores.places.leave(REPOSITORY, ["a"])
    assert take(stores, "d") == []


def test_a_free_place_is_handed_to_the_first_in_line_once(stores):
    take(stores, "a", "b")
    for layer in ("c", "d"):
        stores.places.join(REPOSITORY, layer)
    assert not stores.places.hand_over(REPOSITORY, "c", 2)
    stores.places.leave(REPOSITORY, ["a"])
    assert [stores.places.hand_over(REPOSITORY, layer, 2) for layer in ("d", "c", "c", "d")] == [
        False,
        True,
        False,
        False,
    ]
    assert seen(stores) == ({"b", "c"}, ("d",))
    assert take(stores, "c") == ["c"]


def test_many_leave_at_once_from_places_and_from_the_line(stores):
    take(stores, "a", "b")
    for layer in ("c", "d", "e"):
        stores.places.join(REPOSITORY, layer)
    places = stores.places.leave(REPOSITORY, ["a", "d", "never-there"])
    assert (places.held, places.line) == (("b",), ("c", "e"))
    assert stores.places.read(REPOSITORY) == places


def test_once_all_have_left_there_is_room_for_as_many(stores):
    take(stores, "a", "b")
    stores.places.join(REPOSITORY, "c")
    stores.places.leave(REPOSITORY, ["a", "b", "c"])
    assert take(stores, "d", "e", "f") == ["d", "e"]


def test_a_quiet_repository_can_be_struck_off_and_comes_back_by_itself(stores):
    take(stores, "a")
    stores.places.rest(REPOSITORY)
    assert list(stores.places.busy()) == [REPOSITORY]
    stores.places.leave(REPOSITORY, ["a"])
    assert list(stores.places.busy()) == [REPOSITORY]
    stores.places.rest(REPOSITORY)
    assert list(stores.places.busy()) == []
    stores.places.join(REPOSITORY, "b")
    stores.places.rest(REPOSITORY)
    assert list(stores.places.busy()) == [REPOSITORY]


def test_of_two_tokens_that_of_the_later_attempt_is_kept(stores):
    with pytest.raises(NotFound, match="app"):
        stores.places.token(REPOSITORY, "app")
    assert stores.places.keep_token(REPOSITORY, "app", "second", "2#000")
    assert not stores.places.keep_token(REPOSITORY, "app", "first", "1#000")
    assert stores.places.keep_token(REPOSITORY, "app", "second", "2#000")
    assert stores.places.token(REPOSITORY, "app") == "second"
    with pytest.raises(NotFound):
        stores.places.token("acme/other", "app")


def test_who_goes_before_others_is_kept_with_the_line(stores):
    take(stores, "x")
    for layer, rank in (("a", Precedence.SPECULATION), ("b", Precedence.PLAN), ("c", Precedence.APPLY)):
        stores.places.join(REPOSITORY, layer, rank)
        stores.places.join(REPOSITORY, layer, Precedence.PLAN)
    places = stores.places.read(REPOSITORY)
    assert (places.line, [*in_order(places)]) == (("a", "b", "c"), ["c", "b", "a"])
    stores.places.leave(REPOSITORY, ["b", "x"])
    assert not stores.places.hand_over(REPOSITORY, "a", 1)
    assert stores.places.hand_over(REPOSITORY, "c", 1)
    places = stores.places.read(REPOSITORY)
    assert (places.held, places.line, places.ranks) == (("c",), ("a",), {"a": Precedence.SPECULATION})
    assert places.turns == 1


class Crossed:
    """A client of which somebody else changes the line just before it is written anew."""

    def __init__(self, client, cross):
        self.client, self.cross = client, cross

    def __getattr__(self, name):
        return getattr(self.client, name)

    def update_item(self, **call):
        if call["UpdateExpression"].startswith("SET #line = :line"):
            self.cross()
        return self.client.update_item(**call)


def test_a_line_that_somebody_else_changes_is_not_written_over(client, table):
    places = DynamoPlanSlots(client, table)
    for layer in ("a", "b"):
        places.join(REPOSITORY, layer)
    crossed = DynamoPlanSlots(Crossed(client, lambda: places.join(REPOSITORY, "c")), table)
    with pytest.raises(Conflict, match="acme/infra"):
        crossed.leave(REPOSITORY, ["a"])
    assert places.leave(REPOSITORY, ["a"]).line == ("b", "c")


def test_a_token_expires_and_the_places_do_not(client, table):
    places = DynamoPlanSlots(client, table, now=lambda: 1_000_000.0)
    places.keep_token(REPOSITORY, "a", "token")
    places.take(REPOSITORY, "a", 1)
    items = {item["sk"]: item for item in map(from_item, client.scan(TableName=table)["Items"])}
    assert items["token#a"]["expires_at"] == 1_000_000 + 7 * 24 * 3600
    assert "expires_at" not in items["#head"]


def test_the_item_has_room_for_the_most_that_can_wait(client, table):
    """Twenty pull requests wait with as many layers each as the largest limit lets begin; tokens lie elsewhere."""
    places = DynamoPlanSlots(client, table)
    layer = "x" * 60
    line = [{"S": f"{layer}{number:04}"} for number in range(20 * 99 - 1)]
    key = {"pk": {"S": f"places#{REPOSITORY}"}, "sk": {"S": "#head"}}
    held = {"SS": [f"{layer}{number:04}" for number in range(5000, 5099)]}
    client.put_item(TableName=table, Item={**key, "line": {"L": line}, "held": held, "version": {"N": "1980"}})
    assert len(places.join(REPOSITORY, f"{layer}9999").line) == 20 * 99
    item = client.get_item(TableName=table, Key=key)["Item"]
    assert len(json.dumps(from_item(item))) < LARGEST // 2


class Counted:
    """A client that tells how often it was called."""

    def __init__(self, client):
        self.client, self.calls = client, []

    @property
    def exceptions(self):
        return self.client.exceptions

    def __getattr__(self, name):
        def call(**arguments):
            self.calls.append(name)
            return getattr(self.client, name)(**arguments)

        return call


def test_a_plan_that_finds_a_place_and_a_slot_reads_nothing_before(client, table):
    counted = Counted(client)
    ports = memory_ports({"TIDEGATE_PULL_REQUEST_PLANS": "10"}, plan_slots=DynamoPlanSlots(counted, table))
    ports.speculative_plans.create([any_layer()])
    begin_speculative_plan(ports, BeginSpeculativePlan(layer=any_layer().id, attempt=1))
    record_speculative_plan(ports, RecordSpeculativePlan(layer=any_layer().id, plan=any_plan()))
    assert counted.calls == ["update_item"] * 4
    assert ports.plan_slots.read(REPOSITORY).is_quiet
