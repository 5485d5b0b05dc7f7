"""What pull requests say, and whether they are planned again, once their base branch has moved on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, any_plan, seen, sha
from tests.unit.pull_requests.pull_request_scenario import HEAD, MAIN, NUMBER, PullRequestScenario
from tidegate.config.rules.apply_rules import ApplyMode, ApplyRules
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.ports import Change, KnownRepository
from tidegate.pull_requests import notify_base_moved
from tidegate.pull_requests.receive_pull_request import receive_pull_request
from tidegate.pull_requests.rules.record import PullRequestState, judged

NEWER, NEWEST = sha(8), sha(9)
ON_MERGE = ApplyRules()


class MovingScenario(PullRequestScenario):
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
def scenario():
    scenario = MovingScenario()
    scenario.shown()
    return scenario


def test_a_pull_request_whose_root_changed_says_that_its_plan_is_older(scenario):
    scenario.moved("live/app", "live/db")
    assert scenario.record.overtaken == ("live/app",)
    assert "main has moved on to 0000000 since this was planned" in str(scenario.record.older)
    assert scenario.record.state is PullRequestState.COMMENT_NEEDED
    assert scenario.asked_to_show == [scenario.record.spec.revision]


def test_all_plans_are_older_than_another_file(scenario):
    scenario.moved(every=True)
    assert scenario.record.overtaken == ("live/app",)


def test_what_the_push_did_not_change_is_left_alone(scenario):
    before = scenario.record
    scenario.moved("live/db")
    scenario.moved("live/app", branch="release")
    scenario.moved("live/app", to=MAIN)
    assert (scenario.record, scenario.asked_to_show) == (before, [])


def test_the_same_push_again_and_one_more_of_the_same_root_say_nothing_new(scenario):
    for commit in (NEWER, NEWER, NEWEST):
        scenario.moved("live/app", to=commit)
    assert len(scenario.asked_to_show) == 1


def test_where_pull_requests_are_applied_from_now_on_is_shown(scenario):
    rules = ApplyRules(ApplyMode.IN_PULL_REQUEST)
    scenario.moved(rules=rules, replans=True)
    assert (scenario.record.rules, scenario.record.overtaken) == (rules, ())
    assert scenario.record.state is PullRequestState.COMMENT_NEEDED
    assert scenario.asked_to_show == [scenario.record.spec.revision]
    scenario.moved(rules=rules, to=NEWEST)
    assert len(scenario.asked_to_show) == 1
    assert [each.id for each in scenario.deliveries.unqueued(scenario.clock.now()) if each.id.startswith("base-")] == []


def test_what_is_still_being_planned_is_shown_once_it_is(scenario):
    layer = scenario.found[0]
    scenario.layers.save(replace(layer, state=LayerState.PLANNING))
    scenario.moved("live/app")
    assert scenario.record.overtaken == ("live/app",)
    assert scenario.asked_to_show == []


def test_a_pull_request_whose_own_merge_moved_the_branch_says_nothing(scenario):
    scenario.forge.seen[NUMBER] = seen(scenario.record.spec, is_open=False, merged=True)
    scenario.moved("live/app")
    del scenario.forge.seen[NUMBER]
    scenario.moved("live/app")
    assert scenario.record.overtaken == ()


def test_what_is_not_known_yet_or_closed_is_left_alone():
    scenario = MovingScenario()
    scenario.moved("live/app")
    scenario.shown()
    scenario.pull(is_open=False)
    scenario.receive()
    scenario.moved("live/app")
    assert scenario.record.overtaken == ()


def test_a_record_that_is_gone_is_passed_over(scenario, monkeypatch):
    monkeypatch.setattr(scenario.records, "opened", lambda: [(REPOSITORY, NUMBER), (REPOSITORY, 99), ("other/one", 5)])
    scenario.moved("live/app")
    assert len(scenario.asked_to_show) == 1


class TestPlanningAgain:
    def deliver(self, scenario):
        deliveries = [
            each for each in scenario.deliveries.unqueued(scenario.clock.now()) if each.id.startswith("base-")
        ]
        return [receive_pull_request(scenario.ports, each) for each in deliveries]

    def test_without_configuration_nothing_is_planned_again(self, scenario):
        scenario.moved("live/app")
        assert self.deliver(scenario) == []

    def test_many_pushes_are_one_plan_on_the_newest_commit(self, scenario, monkeypatch):
        first = scenario.record.execution
        scenario.moved("live/app", replans=True)
        scenario.moved(every=True, to=NEWEST, replans=True)
        (told,) = self.deliver(scenario)
        assert "is being planned" in told
        assert scenario.record.execution != first
        assert scenario.record.spec.base_sha == NEWEST
        assert scenario.record.overtaken == ()
        again = scenario.delivery(action="base_moved")
        assert receive_pull_request(scenario.ports, again) == "There is nothing else to plan."

    def test_one_push_has_a_bounded_number_planned_again(self, scenario, monkeypatch):
        monkeypatch.setattr(notify_base_moved, "REPLANNED", 0)
        scenario.moved("live/app", replans=True)
        assert self.deliver(scenario) == []
        assert scenario.record.overtaken == ("live/app",)

    def test_nobody_knows_a_pull_request_that_is_gone(self, scenario):
        scenario.pull(is_open=False)
        assert scenario.receive(action="base_moved", pull_request=NUMBER).startswith("It is closed.")
