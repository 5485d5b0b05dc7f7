"""Running again: one failed check, all checks of a commit, and what is answered on the check runs that are not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

import pytest

from tests.builders import NOW, any_deployed, any_deployment, sha
from tests.instants import utc
from tests.unit.usecases.rerun_world import EARLIER, FAILED, RerunWorld
from tests.unit.usecases.shown_check_runs import publish
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State, is_final
from tidegate.ports import DeliveryOutcome, Enrolled
from tidegate.rules.access import Access
from tidegate.vcs.rules.comparison import Comparison


@pytest.fixture
def world():
    return RerunWorld()


@pytest.mark.parametrize("state", FAILED)
def test_a_failed_one_is_run_again_as_a_deployment_of_its_own(world, state):
    old = world.ended(state, authors=("author",))
    outcome = world.check(old)
    (new,) = world.reruns
    assert (new.rerun.of, new.revision.sha, new.root) == (old.id, old.revision.sha, old.root)
    assert (new.request.by, new.request.at, new.state) == (
        "reviewer",
        old.request.at + timedelta(microseconds=1),
        State.QUEUED,
    )
    assert (new.commits.authors, new.commits.authors_known) == (("author", "maintainer"), True)
    assert new.settings.review_rule == old.settings.review_rule
    assert world.event_publisher.repeats == [(old.id, new.id)]
    assert world.deliveries.outcome("demand-1") == DeliveryOutcome(outcome, (new.id,))


@pytest.mark.parametrize("trigger", [Trigger.MANUAL, Trigger.MERGE])
def test_it_is_known_of_a_re_run_whether_the_first_was_asked_for_by_hand(world, trigger):
    world.check(world.ended(State.APPLY_FAILED, trigger=trigger))
    (new,) = world.reruns
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
def test_what_has_not_failed_is_answered_with_the_reason_on_its_check_run(world, state, words):
    old = world.ended(state, attempted=is_final(state))
    outcome = world.check(old)
    assert words in outcome
    assert words in world.shown(old)
    assert world.reruns == []
    assert world.deliveries.outcome("demand-1").deployments == ()


def test_only_the_latest_attempts_revision_is_run_again(world):
    old = world.ended(State.PLAN_FAILED, attempted=False)
    world.attempt(old, deployment="other", revision=any_deployed(2).revision)
    world.check(old)
    assert sha(2)[:7] in world.shown(old)
    assert world.reruns == []


def test_without_an_attempt_everything_may_be_run_again(world):
    old = world.ended(State.ENGINE_FAULT, attempted=False)
    world.check(old)
    assert len(world.reruns) == 1


def test_an_attempt_that_was_run_again_already_is_not(world):
    old = world.ended(State.PLAN_FAILED)
    world.attempt(old, deployment="a later one")
    assert "run again already" in world.check(old)
    assert world.reruns == []


@pytest.mark.parametrize("comparison", [Comparison.BEHIND, Comparison.DIVERGED, Comparison.BASE_MISSING])
def test_what_is_not_on_the_default_branch_is_not_run_again(world, comparison):
    old = world.ended(State.PLAN_FAILED)
    world.forge.comparisons[old.revision.sha, "main"] = comparison
    outcome = world.check(old)
    assert "default branch" in outcome or "no longer exists" in outcome
    assert world.reruns == []


def test_who_may_not_write_runs_nothing_again(world):
    old = world.ended(State.PLAN_FAILED)
    assert "visitor needs write access" in world.check(old, by="visitor")
    assert "write access" in world.shown(old)
    assert world.reruns == []


CONTROLLED = "access_control: {policies: [{tag_query: 'dir:prod', apply: ['team:sre']}, {tag_query: ''}]}\n"


def test_only_who_is_granted_deploys_of_a_root_now_runs_it_again(world):
    guarded = Access(apply=("team:sre",), review=("team:sre",))
    world.branch.file += CONTROLLED
    prod = world.ended(State.PLAN_FAILED, "prod", access=Access(), stack="prod")
    dev = world.ended(State.PLAN_FAILED, "dev", access=guarded)
    told = "Only team:sre can deploy stack prod, and reviewer is not among them."
    assert world.suite(prod.revision.sha) == f"prod: {told}\ndev: enqueued"
    assert "Only team:sre can deploy stack prod" in world.shown(prod)
    assert [each.rerun.of for each in world.reruns] == [dev.id]
    world.forge.teams["acme/sre"] = {"maintainer"}
    assert world.check(prod, by="maintainer") == "prod: enqueued"
    assert world.reruns[-1].settings.access == guarded


def test_what_the_default_branch_says_nothing_of_is_not_run_again(world):
    world.branch.file = "["
    old = world.ended(State.PLAN_FAILED)
    assert world.check(old).startswith(
        "network: Tidegate cannot tell what the default branch's tidegate.yaml grants now"
    )
    assert "cannot tell what the default branch" in world.shown(old)
    assert world.reruns == []


def test_a_demand_that_was_met_and_comes_again_stays_as_it_was_judged(world):
    old = world.ended(State.PLAN_FAILED)
    world.check(old, delivery="once")
    world.branch.file = "["
    assert world.check(old, delivery="once") == "network: enqueued"
    assert len(world.reruns) == 1


class TestStacks:
    """Roots that are in several stacks, and in a change with others that wait for them."""

    def test_what_runs_again_takes_its_place_in_the_change_and_gates_are_looked_at(self, world):
        waits = Waits(apply_after=("dev",))
        place = {"stack": "prod", "change_set": "change-1", "waits": waits, "layer": 2, "layers": 2}
        old = world.ended(State.PLAN_FAILED, **place, requested_at=EARLIER)
        world.change_sets.enroll("change-1", [Enrolled("network", "prod", old.id, old.request.at)])
        world.check(old)
        (new,) = world.reruns
        assert (new.stack, new.change.id, new.change.waits, new.change.layer, new.change.layers) == (
            "prod",
            "change-1",
            waits,
            2,
            2,
        )
        assert list(world.change_sets.deployments("change-1")) == [Enrolled("network", "prod", new.id, NOW)]
        assert world.event_publisher.moved == ["change-1"]

    def test_a_root_of_no_change_moves_none(self, world):
        world.check(world.ended(State.PLAN_FAILED))
        assert world.event_publisher.moved == []

    @pytest.fixture
    def both(self, world):
        """Put one root that failed in two stacks of one change; the queue's latest attempt is the second."""
        shared = {"shared": True, "change_set": "change-1", "requested_at": EARLIER}
        named = [world.ended(State.PLAN_FAILED, id=f"network-{stack}", stack=stack, **shared) for stack in ("a", "b")]
        for each in named:
            world.change_sets.enroll("change-1", [Enrolled("network", each.stack, each.id, each.request.at)])
        return named

    def named(self, world, deployment, **fields):
        return world.check(deployment, name=f"tidegate/deploy: network ({deployment.stack})", **fields)

    def test_each_stack_has_an_attempt_of_its_own(self, world, both):
        first, second = both
        assert self.named(world, first) == "network: enqueued"
        assert "This revision is already being re-run" in self.named(world, first)
        assert self.named(world, second) == "network: enqueued"
        assert {(each.stack, each.rerun.of) for each in world.reruns} == {("a", first.id), ("b", second.id)}

    def test_one_that_ran_again_is_not_run_again_from_its_old_check_run(self, world, both):
        first, _ = both
        self.named(world, first)
        (again,) = world.reruns
        world.deployments.save(replace(again, state=State.PLAN_FAILED))
        head, waiting = world.queues.read(first.queue)
        world.queues.commit(head, head, take=waiting)
        assert "run again already" in self.named(world, first)

    def test_all_stacks_of_a_root_are_run_again_at_once(self, world, both):
        world.suite(both[0].revision.sha)
        assert sorted(each.stack for each in world.reruns) == ["a", "b"]
        assert len({each.id for each in world.reruns}) == 2

    def test_a_shared_root_that_was_deployed_alone_is_run_again(self, world):
        alone = world.ended(State.PLAN_FAILED, stack="a", shared=True)
        world.attempt(alone, deployment="of another stack")
        assert self.named(world, alone) == "network: enqueued"


def test_a_second_demand_while_the_first_waits_is_answered(world):
    old = world.ended(State.PLAN_FAILED)
    world.check(old)
    assert "This revision is already being re-run" in world.check(old)
    assert len(world.reruns) == 1


def test_a_second_demand_while_the_first_runs_is_answered(world):
    old = world.ended(State.PLAN_FAILED)
    world.check(old)
    head, first = world.queues.read(old.queue)
    world.queues.commit(head, replace(head, in_flight=first.deployment), take=first)
    assert "This revision is already being re-run" in world.check(old)
    assert len(world.reruns) == 1


def test_another_deployment_in_flight_holds_no_demand_back(world):
    old = world.ended(State.PLAN_FAILED)
    other = world.put(any_deployment(2, root=old.root))
    head, _ = world.queues.read(old.queue)
    world.queues.commit(head, replace(head, in_flight=other.id))
    world.check(old)
    assert len(world.reruns) == 1


def test_the_same_demand_again_changes_nothing(world):
    old = world.ended(State.PLAN_FAILED)
    first = world.check(old, delivery="again")
    assert world.check(old, delivery="again") == first
    assert len(world.reruns) == 1


@pytest.mark.parametrize(
    "foreign",
    [
        {"external_id": "unknown"},
        {"repository": "acme/other"},
        {"head_sha": sha(9)},
        {"name": "tidegate/deploy: other"},
    ],
)
def test_a_foreign_check_run_is_told_so(world, foreign):
    old = world.ended(State.PLAN_FAILED)
    assert "belongs to no deployment" in world.check(old, **foreign)
    assert world.reruns == []


def test_the_check_run_of_a_configuration_stays_as_it_is(world):
    old = world.ended(State.PLAN_FAILED)
    before = dict(world.forge.check_runs)
    assert "corrected file" in world.check(old, name="tidegate/config")
    assert world.forge.check_runs == before


def test_a_refusal_on_an_outdated_check_run_links_to_the_newest(world):
    old = world.ended(State.APPLIED)
    published = world.check_runs.published(old.id)
    world.check_runs.remember(replace(published, id=99))
    world.check(old)
    assert "/runs/99" in world.shown(old)


def test_a_refusal_stays_while_the_check_run_is_drawn_again(world):
    old = world.ended(State.APPLIED)
    world.check(old)
    publish(world, old, again=True)
    assert "Only failed deployments" in world.shown(old)


def test_all_checks_of_a_commit_are_run_again_whatever_their_result(world):
    applied = world.ended(State.APPLIED, "network")
    failed = world.ended(State.PLAN_FAILED, "database")
    refused = world.ended(State.REFUSED, "storage", attempted=False)
    outcome = world.suite(applied.revision.sha)
    assert {each.rerun.of for each in world.reruns} == {applied.id, failed.id, refused.id}
    assert outcome.count("enqueued") == 3


def test_running_all_again_takes_each_roots_newest_deployment(world):
    old = world.ended(State.PLAN_FAILED, "network")
    newer = world.ended(State.REJECTED, "network", id="newer", requested_at=utc("2026-03-02T09:00"))
    world.suite(old.revision.sha)
    assert [each.rerun.of for each in world.reruns] == [newer.id]


def test_running_all_again_answers_on_each_check_run_that_is_not(world):
    applied = world.ended(State.APPLIED, "network")
    running = world.ended(State.APPLYING, "database", attempted=False)
    outcome = world.suite(applied.revision.sha)
    assert [each.rerun.of for each in world.reruns] == [applied.id]
    assert "database: This deployment has not ended yet" in outcome
    assert "has not ended yet" in world.shown(running)


def test_running_all_again_has_the_pull_requests_of_the_commit_planned_again(world):
    applied = world.ended(State.APPLIED, "network")
    world.suite(applied.revision.sha)
    assert world.events.sent == []
    world.suite(applied.revision.sha, pull_requests=[5])
    ((sent),) = world.events.sent
    assert (sent.event, sent.fields["pull_requests"], sent.fields["sender"]) == ("replan", [5], "reviewer")


def test_a_commit_that_nothing_was_deployed_of_has_nothing_to_run_again(world):
    world.ended(State.APPLIED, repository="acme/other")
    assert "so there is nothing to re-run" in world.suite(sha(1))
    assert world.reruns == []


def test_the_stacks_of_one_root_run_again_in_the_order_that_they_had(world):
    shared = {"shared": True, "attempted": False}
    prod = world.ended(
        State.APPLIED, "network", id="prod", stack="prod", requested_at=NOW + timedelta(microseconds=1), **shared
    )
    dev = world.ended(State.APPLIED, "network", id="dev", stack="dev", requested_at=NOW, **shared)
    world.suite(dev.revision.sha)
    again = {each.rerun.of: each.request.at for each in world.reruns}
    assert again.keys() == {dev.id, prod.id}
    assert again[dev.id] < again[prod.id]


def test_what_runs_again_stands_for_its_root_before_it_is_in_line(world):
    old = world.ended(State.REJECTED, change_set="change-1", stack="dev")
    enrolled = []
    enqueue = world.queues.enqueue

    def seen(deployment):
        enrolled.extend(world.change_sets.deployments("change-1"))
        return enqueue(deployment)

    with patch.object(world.queues, "enqueue", seen):
        world.check(old)
    (member,) = enrolled
    assert member.deployment != old.id


def test_gates_are_looked_at_once_what_runs_again_is_in_line(world):
    """Who waits for it in the same queue steps aside for what stands there."""
    old = world.ended(State.REJECTED, change_set="change-1", stack="dev")
    asked = []
    enqueue = world.queues.enqueue

    def seen(deployment):
        asked.extend(world.event_publisher.moved)
        return enqueue(deployment)

    with patch.object(world.queues, "enqueue", seen):
        world.check(old)
    assert (asked, world.event_publisher.moved) == ([], ["change-1"])
