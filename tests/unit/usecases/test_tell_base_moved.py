"""What pull requests say, and whether they are planned again, once their base branch has moved on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, any_plan, seen, sha
from tests.unit.usecases.pull_request_world import HEAD, MAIN, NUMBER, PullRequestWorld
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.ports import Change, KnownRepository
from tidegate.pull_requests import notify_base_moved
from tidegate.pull_requests.receive_pull_request import receive_pull_request
from tidegate.pull_requests.rules.record import PullRequestState, judged

NEWER, NEWEST = sha(8), sha(9)
ON_MERGE = ApplyRules()


class MovingWorld(PullRequestWorld):
    """A pull request that changes ``live/app``, is planned and shown; its base branch moves."""

    def __post_init__(self):
        super().__post_init__()
        for commit in (NEWER, NEWEST):
            self.trees[commit] = self.trees[MAIN]
            self.forge.changes[commit, HEAD] = Change(self.forge.changes[MAIN, HEAD].after, None)
        self.receive()

    def shown(self):
        self.discover()
        for layer in self.found:
            self.layers.save(replace(layer, state=LayerState.PLANNED, plan=any_plan()))
        record = replace(self.record, commented=self.record.discovered)
        self.records.save(judged(record, self.found, self.clock.now()))
        self.workflows.endings[self.record.execution] = "SUCCEEDED"

    def moved(self, *touched, to=NEWER, branch="main", rules=ON_MERGE, replans=False, every=False):
        self.forge.branches["main"] = to
        known = KnownRepository(REPOSITORY, branch, to, NOW)
        notify_base_moved.notify_base_moved(self.ports, known, None if every else touched, rules, replans=replans)

    @property
    def asked_to_show(self):
        return [revision for _, revision, _, _ in self.event_publisher.ended]


@pytest.fixture
def world():
    world = MovingWorld()
    world.shown()
    return world


def test_a_pull_request_whose_root_changed_says_that_its_plan_is_older(world):
    world.moved("live/app", "live/db")
    assert world.record.overtaken == ("live/app",)
    assert "main has moved on to 0000000 since this was planned" in str(world.record.older)
    assert world.record.state is PullRequestState.COMMENT_NEEDED
    assert world.asked_to_show == [world.record.spec.revision]


def test_all_plans_are_older_than_another_file(world):
    world.moved(every=True)
    assert world.record.overtaken == ("live/app",)


def test_what_the_push_did_not_change_is_left_alone(world):
    before = world.record
    world.moved("live/db")
    world.moved("live/app", branch="release")
    world.moved("live/app", to=MAIN)
    assert (world.record, world.asked_to_show) == (before, [])


def test_the_same_push_again_and_one_more_of_the_same_root_say_nothing_new(world):
    for commit in (NEWER, NEWER, NEWEST):
        world.moved("live/app", to=commit)
    assert len(world.asked_to_show) == 1


def test_where_pull_requests_are_applied_from_now_on_is_shown(world):
    rules = ApplyRules(ApplyMode.IN_PULL_REQUEST)
    world.moved(rules=rules, replans=True)
    assert (world.record.rules, world.record.overtaken) == (rules, ())
    assert world.record.state is PullRequestState.COMMENT_NEEDED
    assert world.asked_to_show == [world.record.spec.revision]
    world.moved(rules=rules, to=NEWEST)
    assert len(world.asked_to_show) == 1
    assert [each.id for each in world.deliveries.unqueued(world.clock.now()) if each.id.startswith("base-")] == []


def test_what_is_still_being_planned_is_shown_once_it_is(world):
    layer = world.found[0]
    world.layers.save(replace(layer, state=LayerState.PLANNING))
    world.moved("live/app")
    assert world.record.overtaken == ("live/app",)
    assert world.asked_to_show == []


def test_a_pull_request_whose_own_merge_moved_the_branch_says_nothing(world):
    world.forge.seen[NUMBER] = seen(world.record.spec, is_open=False, merged=True)
    world.moved("live/app")
    del world.forge.seen[NUMBER]
    world.moved("live/app")
    assert world.record.overtaken == ()


def test_what_is_not_known_yet_or_closed_is_left_alone():
    world = MovingWorld()
    world.moved("live/app")
    world.shown()
    world.pull(is_open=False)
    world.receive()
    world.moved("live/app")
    assert world.record.overtaken == ()


def test_a_record_that_is_gone_is_passed_over(world, monkeypatch):
    monkeypatch.setattr(world.records, "opened", lambda: [(REPOSITORY, NUMBER), (REPOSITORY, 99), ("other/one", 5)])
    world.moved("live/app")
    assert len(world.asked_to_show) == 1


class TestPlanningAgain:
    def deliver(self, world):
        deliveries = [each for each in world.deliveries.unqueued(world.clock.now()) if each.id.startswith("base-")]
        return [receive_pull_request(world.ports, each) for each in deliveries]

    def test_without_configuration_nothing_is_planned_again(self, world):
        world.moved("live/app")
        assert self.deliver(world) == []

    def test_many_pushes_are_one_plan_on_the_newest_commit(self, world, monkeypatch):
        first = world.record.execution
        world.moved("live/app", replans=True)
        world.moved(every=True, to=NEWEST, replans=True)
        (told,) = self.deliver(world)
        assert "is being planned" in told
        assert world.record.execution != first
        assert world.record.spec.base_sha == NEWEST
        assert world.record.overtaken == ()
        again = world.delivery(action="base_moved")
        assert receive_pull_request(world.ports, again) == "There is nothing else to plan."

    def test_one_push_has_a_bounded_number_planned_again(self, world, monkeypatch):
        monkeypatch.setattr(notify_base_moved, "REPLANNED", 0)
        world.moved("live/app", replans=True)
        assert self.deliver(world) == []
        assert world.record.overtaken == ("live/app",)

    def test_nobody_knows_a_pull_request_that_is_gone(self, world):
        world.pull(is_open=False)
        assert world.receive(action="base_moved", pull_request=NUMBER).startswith("It is closed.")
