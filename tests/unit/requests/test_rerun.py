"""Running again: one failed check, all checks of a commit, and what is answered on the check runs that are not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

import pytest

from tests.builders import NOW, any_deployed, any_deployment, sha
from tests.fakes.ports import changed
from tests.fakes.stores import MemoryCheckRuns
from tests.instants import utc
from tests.unit.check_runs.shown_check_runs import publish
from tests.unit.requests.rerun_scenario import EARLIER, FAILED, RerunScenario
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State, is_final
from tidegate.ports import DeliveryOutcome, Enrolled
from tidegate.requests.request_rerun import request_rerun
from tidegate.requests.rerun import rerun_check
from tidegate.rules.access import Access
from tidegate.vcs.rules.comparison import Comparison
from tidegate.vcs.rules.headline import Headline


@pytest.fixture
def scenario():
    return RerunScenario()


@pytest.mark.parametrize("state", FAILED)
def test_a_failed_one_is_run_again_as_a_deployment_of_its_own(scenario, state):
    old = scenario.ended(state, authors=("author",), headline=Headline("Grow it"))
    outcome = scenario.check(old)
    (new,) = scenario.reruns
    assert (new.rerun.of, new.revision.sha, new.root) == (old.id, old.revision.sha, old.root)
    assert (new.request.by, new.request.at, new.state) == (
        "reviewer",
        old.request.at + timedelta(microseconds=1),
        State.QUEUED,
    )
    assert (new.commits.authors, new.commits.authors_known) == (("author", "maintainer"), True)
    assert new.settings.review_rule == old.settings.review_rule
    assert new.request.headline == old.request.headline
    assert scenario.event_publisher.repeats == [(old.id, new.id)]
    assert scenario.deliveries.outcome("demand-1") == DeliveryOutcome(outcome, (new.id,))


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.MERGE])
def test_it_is_known_of_a_re_run_whether_the_first_was_asked_for_by_hand(scenario, trigger):
    scenario.check(scenario.ended(State.APPLY_FAILED, trigger=trigger))
    (new,) = scenario.reruns
    assert new.rerun.manual is (trigger is Trigger.MANUAL)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State.APPLIED, "succeeded"),
        (State.NO_CHANGES, "succeeded"),
        (State.REFUSED, "This deployment never started"),
        (State.SUPERSEDED, "This deployment never started"),
        (State.PLANNING, "has not ended yet"),
        (State.AWAITING_REVIEW, "has not ended yet"),
    ],
)
def test_what_has_not_failed_is_answered_with_the_reason_on_its_check_run(scenario, state, words):
    old = scenario.ended(state, attempted=is_final(state))
    outcome = scenario.check(old)
    assert words in outcome
    assert words in scenario.shown(old)
    assert scenario.reruns == []
    assert scenario.deliveries.outcome("demand-1").deployments == ()


def test_only_the_latest_attempts_revision_is_run_again(scenario):
    old = scenario.ended(State.PLAN_FAILED, attempted=False)
    scenario.attempt(old, deployment="other", revision=any_deployed(2).revision)
    scenario.check(old)
    assert sha(2)[:7] in scenario.shown(old)
    assert scenario.reruns == []


def test_without_an_attempt_everything_may_be_run_again(scenario):
    old = scenario.ended(State.ENGINE_FAULT, attempted=False)
    scenario.check(old)
    assert len(scenario.reruns) == 1


def test_an_attempt_that_was_run_again_already_is_not(scenario):
    old = scenario.ended(State.PLAN_FAILED)
    scenario.attempt(old, deployment="a later one")
    assert "run again already" in scenario.check(old)
    assert scenario.reruns == []


@pytest.mark.parametrize("comparison", [Comparison.BEHIND, Comparison.DIVERGED, Comparison.BASE_MISSING])
def test_what_is_not_on_the_default_branch_is_not_run_again(scenario, comparison):
    old = scenario.ended(State.PLAN_FAILED)
    scenario.forge.comparisons[old.revision.sha, "main"] = comparison
    outcome = scenario.check(old)
    assert "default branch" in outcome or "no longer exists" in outcome
    assert scenario.reruns == []


def test_the_head_of_a_pull_request_is_asked_for_by_its_command_and_not_run_again(scenario):
    old = scenario.ended(State.PLAN_FAILED, trigger=Trigger.MANUAL, pull_request=5)
    scenario.forge.comparisons[old.revision.sha, "main"] = Comparison.DIVERGED
    assert "Comment `tidegate deploy` again" in scenario.check(old)


def test_who_may_not_write_runs_nothing_again(scenario):
    old = scenario.ended(State.PLAN_FAILED)
    assert "visitor needs write access" in scenario.check(old, by="visitor")
    assert "write access" in scenario.shown(old)
    assert scenario.reruns == []


CONTROLLED = "access_control: {policies: [{tag_query: 'dir:prod', apply: ['team:sre']}, {tag_query: ''}]}\n"


def test_only_who_is_granted_deploys_of_a_root_now_runs_it_again(scenario):
    guarded = Access(apply=("team:sre",), review=("team:sre",))
    scenario.branch.file += CONTROLLED
    prod = scenario.ended(State.PLAN_FAILED, "prod", access=Access(), stack="prod")
    dev = scenario.ended(State.PLAN_FAILED, "dev", access=guarded)
    told = "Only team:sre can deploy stack prod, and reviewer is not among them."
    assert scenario.suite(prod.revision.sha) == f"prod: {told}\ndev: enqueued"
    assert "Only team:sre can deploy stack prod" in scenario.shown(prod)
    assert [each.rerun.of for each in scenario.reruns] == [dev.id]
    scenario.forge.teams["acme/sre"] = {"maintainer"}
    assert scenario.check(prod, by="maintainer") == "prod: enqueued"
    assert scenario.reruns[-1].settings.access == guarded


def test_what_the_default_branch_says_nothing_of_is_not_run_again(scenario):
    scenario.branch.file = "["
    old = scenario.ended(State.PLAN_FAILED)
    assert scenario.check(old).startswith(
        "network: Tidegate cannot determine what the default branch's tidegate.yaml allows now"
    )
    assert "cannot determine what the default branch" in scenario.shown(old)
    assert scenario.reruns == []


def test_a_demand_that_was_met_and_comes_again_stays_as_it_was_judged(scenario):
    old = scenario.ended(State.PLAN_FAILED)
    scenario.check(old, delivery="once")
    scenario.branch.file = "["
    assert scenario.check(old, delivery="once") == "network: enqueued"
    assert len(scenario.reruns) == 1


class TestStacks:
    """Roots that are in several stacks, and in a change with others that wait for them."""

    def test_what_runs_again_takes_its_place_in_the_change_and_gates_are_looked_at(self, scenario):
        waits = Waits(apply_after=("dev",))
        place = {"stack": "prod", "change_set": "change-1", "waits": waits, "layer": 2, "layers": 2}
        old = scenario.ended(State.PLAN_FAILED, **place, requested_at=EARLIER)
        scenario.change_sets.enroll("change-1", [Enrolled("network", "prod", old.id, old.request.at)])
        scenario.check(old)
        (new,) = scenario.reruns
        assert (new.stack, new.change.id, new.change.waits, new.change.layer, new.change.layers) == (
            "prod",
            "change-1",
            waits,
            2,
            2,
        )
        assert list(scenario.change_sets.deployments("change-1")) == [Enrolled("network", "prod", new.id, NOW)]
        assert scenario.event_publisher.moved == ["change-1"]

    def test_a_root_of_no_change_moves_none(self, scenario):
        scenario.check(scenario.ended(State.PLAN_FAILED))
        assert scenario.event_publisher.moved == []

    @pytest.fixture
    def both(self, scenario):
        """Put one root that failed in two stacks of one change; the queue's latest attempt is the second."""
        shared = {"shared": True, "change_set": "change-1", "requested_at": EARLIER}
        named = [
            scenario.ended(State.PLAN_FAILED, id=f"network-{stack}", stack=stack, **shared) for stack in ("a", "b")
        ]
        for each in named:
            scenario.change_sets.enroll("change-1", [Enrolled("network", each.stack, each.id, each.request.at)])
        return named

    def named(self, scenario, deployment, **fields):
        return scenario.check(deployment, name=f"tidegate/deploy: network ({deployment.stack})", **fields)

    def test_each_stack_has_an_attempt_of_its_own(self, scenario, both):
        first, second = both
        assert self.named(scenario, first) == "network: enqueued"
        assert "This revision is already being re-run" in self.named(scenario, first)
        assert self.named(scenario, second) == "network: enqueued"
        assert {(each.stack, each.rerun.of) for each in scenario.reruns} == {("a", first.id), ("b", second.id)}

    def test_one_that_ran_again_is_not_run_again_from_its_old_check_run(self, scenario, both):
        first, _ = both
        self.named(scenario, first)
        (again,) = scenario.reruns
        scenario.deployments.save(replace(again, state=State.PLAN_FAILED))
        head, waiting = scenario.queues.read(first.queue)
        scenario.queues.commit(head, head, take=waiting)
        assert "run again already" in self.named(scenario, first)

    def test_all_stacks_of_a_root_are_run_again_at_once(self, scenario, both):
        scenario.suite(both[0].revision.sha)
        assert sorted(each.stack for each in scenario.reruns) == ["a", "b"]
        assert len({each.id for each in scenario.reruns}) == 2

    def test_a_shared_root_that_was_deployed_alone_is_run_again(self, scenario):
        alone = scenario.ended(State.PLAN_FAILED, stack="a", shared=True)
        scenario.attempt(alone, deployment="of another stack")
        assert self.named(scenario, alone) == "network: enqueued"


def test_a_second_demand_while_the_first_waits_is_answered(scenario):
    old = scenario.ended(State.PLAN_FAILED)
    scenario.check(old)
    assert "This revision is already being re-run" in scenario.check(old)
    assert len(scenario.reruns) == 1


def test_a_second_demand_while_the_first_runs_is_answered(scenario):
    old = scenario.ended(State.PLAN_FAILED)
    scenario.check(old)
    head, first = scenario.queues.read(old.queue)
    scenario.queues.commit(head, replace(head, in_flight=first.deployment), take=first)
    assert "This revision is already being re-run" in scenario.check(old)
    assert len(scenario.reruns) == 1


def test_another_deployment_in_flight_holds_no_demand_back(scenario):
    old = scenario.ended(State.PLAN_FAILED)
    other = scenario.put(any_deployment(2, root=old.root))
    head, _ = scenario.queues.read(old.queue)
    scenario.queues.commit(head, replace(head, in_flight=other.id))
    scenario.check(old)
    assert len(scenario.reruns) == 1


def test_the_same_demand_again_changes_nothing(scenario):
    old = scenario.ended(State.PLAN_FAILED)
    first = scenario.check(old, delivery="again")
    assert scenario.check(old, delivery="again") == first
    assert len(scenario.reruns) == 1


@pytest.mark.parametrize(
    "foreign",
    [
        {"external_id": "unknown"},
        {"repository": "acme/other"},
        {"head_sha": sha(9)},
        {"name": "tidegate/deploy: other"},
    ],
)
def test_a_foreign_check_run_is_told_so(scenario, foreign):
    old = scenario.ended(State.PLAN_FAILED)
    assert "has no deployment for this" in scenario.check(old, **foreign)
    assert scenario.reruns == []


def test_the_check_run_of_a_configuration_stays_as_it_is(scenario):
    old = scenario.ended(State.PLAN_FAILED)
    before = dict(scenario.forge.check_runs)
    assert "corrected file" in scenario.check(old, name="tidegate/config")
    assert scenario.forge.check_runs == before


def test_a_refusal_on_an_outdated_check_run_links_to_the_newest(scenario):
    old = scenario.ended(State.APPLIED)
    published = scenario.check_runs.published(old.id)
    scenario.check_runs.remember(replace(published, id=99))
    scenario.check(old)
    assert "/runs/99" in scenario.shown(old)


def test_a_refusal_stays_while_the_check_run_is_drawn_again(scenario):
    old = scenario.ended(State.APPLIED)
    scenario.check(old)
    publish(scenario, old, again=True)
    assert "Only failed deployments" in scenario.shown(old)


def test_all_checks_of_a_commit_are_run_again_whatever_their_result(scenario):
    applied = scenario.ended(State.APPLIED, "network")
    failed = scenario.ended(State.PLAN_FAILED, "database")
    refused = scenario.ended(State.REFUSED, "storage", attempted=False)
    outcome = scenario.suite(applied.revision.sha)
    assert {each.rerun.of for each in scenario.reruns} == {applied.id, failed.id, refused.id}
    assert outcome.count("enqueued") == 3


def test_running_all_again_takes_each_roots_newest_deployment(scenario):
    old = scenario.ended(State.PLAN_FAILED, "network")
    newer = scenario.ended(State.REJECTED, "network", id="newer", requested_at=utc("2026-03-02T09:00"))
    scenario.suite(old.revision.sha)
    assert [each.rerun.of for each in scenario.reruns] == [newer.id]


def test_running_all_again_answers_on_each_check_run_that_is_not(scenario):
    applied = scenario.ended(State.APPLIED, "network")
    running = scenario.ended(State.APPLYING, "database", attempted=False)
    outcome = scenario.suite(applied.revision.sha)
    assert [each.rerun.of for each in scenario.reruns] == [applied.id]
    assert "database: This deployment has not ended yet" in outcome
    assert "has not ended yet" in scenario.shown(running)


def test_running_all_again_has_the_pull_requests_of_the_commit_planned_again(scenario):
    applied = scenario.ended(State.APPLIED, "network")
    scenario.suite(applied.revision.sha)
    assert scenario.events.sent == []
    scenario.suite(applied.revision.sha, pull_requests=[5])
    ((sent),) = scenario.events.sent
    assert (sent.event, sent.fields["pull_requests"], sent.fields["sender"]) == ("replan", [5], "reviewer")


def test_a_commit_that_nothing_was_deployed_of_has_nothing_to_run_again(scenario):
    scenario.ended(State.APPLIED, repository="acme/other")
    assert "so there is nothing to re-run" in scenario.suite(sha(1))
    assert scenario.reruns == []


def test_the_stacks_of_one_root_run_again_in_the_order_that_they_had(scenario):
    shared = {"shared": True, "attempted": False}
    prod = scenario.ended(
        State.APPLIED, "network", id="prod", stack="prod", requested_at=NOW + timedelta(microseconds=1), **shared
    )
    dev = scenario.ended(State.APPLIED, "network", id="dev", stack="dev", requested_at=NOW, **shared)
    scenario.suite(dev.revision.sha)
    again = {each.rerun.of: each.request.at for each in scenario.reruns}
    assert again.keys() == {dev.id, prod.id}
    assert again[dev.id] < again[prod.id]


def test_what_runs_again_stands_for_its_root_before_it_is_in_line(scenario):
    old = scenario.ended(State.REJECTED, change_set="change-1", stack="dev")
    enrolled = []
    enqueue = scenario.queues.enqueue

    def seen(deployment):
        enrolled.extend(scenario.change_sets.deployments("change-1"))
        return enqueue(deployment)

    with patch.object(scenario.queues, "enqueue", seen):
        scenario.check(old)
    (member,) = enrolled
    assert member.deployment != old.id


def test_gates_are_looked_at_once_what_runs_again_is_in_line(scenario):
    """Who waits for it in the same queue steps aside for what stands there."""
    old = scenario.ended(State.REJECTED, change_set="change-1", stack="dev")
    asked = []
    enqueue = scenario.queues.enqueue

    def seen(deployment):
        asked.extend(scenario.event_publisher.moved)
        return enqueue(deployment)

    with patch.object(scenario.queues, "enqueue", seen):
        scenario.check(old)
    assert (asked, scenario.event_publisher.moved) == ([], ["change-1"])


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_request_by_the_api_does_what_the_button_does(scenario, is_shown):
    old = scenario.ended(State.APPLY_FAILED)
    ports = scenario.ports if is_shown else changed(scenario.ports, check_runs=MemoryCheckRuns())
    request = request_rerun(ports, old.id, "reviewer")
    rerun_check(scenario.ports, scenario.deliveries.get(request))
    (new,) = scenario.reruns
    assert (new.rerun.of, new.request.by) == (old.id, "reviewer")
    assert scenario.deliveries.outcome(request).deployments == (new.id,)
