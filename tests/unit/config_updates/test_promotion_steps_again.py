"""Steps of promotions that come twice, too late, or between each other, and records that are gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_deployment, deployment_in
from tests.unit.config_updates.promotion_scenario import REPOSITORY, THREE, Promotions, about
from tidegate.config_updates.promotions.find_waits import find_waits
from tidegate.config_updates.promotions.follow_update import follow_update
from tidegate.config_updates.promotions.promote_entry import promote_entry
from tidegate.config_updates.promotions.promotion_steps import end_soak, fail_promotion
from tidegate.config_updates.promotions.review_promotions import review_promotion, review_promotions
from tidegate.config_updates.reports import DeployedTarget, report_target
from tidegate.config_updates.rules.entry import EntryState
from tidegate.config_updates.rules.promotion import Stage
from tidegate.deploys.rules.state import State
from tidegate.messages.config_updates import EndSoak, FailPromotion, PromoteEntry
from tidegate.messages.queues import FollowUpdate
from tidegate.ports import KnownRepository
from tidegate.rules.errors import CloudUnavailable

INFRA = "acme/infra"
AFTER = THREE.replace(
    "targets: [{name: i1}]", f"targets: [{{name: i1}}], after: [{{repository: {INFRA}, stack: network}}]"
)
LISTED = {"TIDEGATE_UPDATE_REPOSITORIES": INFRA}


@pytest.fixture
def shop():
    return Promotions()


def test_a_promotion_that_ended_is_not_promoted_again(shop):
    entry = shop.complete()
    before = shop.promotion(entry)
    moved = promote_entry(shop.ports, PromoteEntry(**about(entry)))
    assert (moved.full, moved.reason) == (False, before.reason)
    assert shop.promotion(entry) == before
    assert len(shop.waiting("internal")) == 1


def test_a_promotion_whose_end_was_not_saved_ends_without_a_second_entry(shop):
    shop.hold("shop")
    entry = shop.complete()
    unsaved = shop.promotion(entry)
    shop.hold("shop", hold=False)
    review_promotions(shop.ports, REPOSITORY)
    shop.go_on()
    (promoted,) = shop.waiting("internal")
    shop.store._promotions[REPOSITORY, entry.id, 1] = unsaved
    promote_entry(shop.ports, PromoteEntry(**about(entry)))
    assert shop.is_ended(entry)
    assert shop.waiting("internal") == [promoted]


def test_targets_that_are_late_twice_are_recorded_once(shop):
    entry = shop.announce("one")
    shop.land(entry, "one")
    shop.ports.clock.advance(2 * 3600)
    shop.stall(entry)
    before = shop.promotion(entry)
    shop.stall(entry)
    assert before.stalled
    assert shop.promotion(entry) == before


def test_a_soak_that_is_over_ends_once(shop):
    shop.hold("shop")
    entry = shop.complete()
    before = shop.promotion(entry)
    moved = end_soak(shop.ports, EndSoak(**about(entry)))
    assert (moved.next, before.stage) == ("after", Stage.AFTER)
    assert shop.promotion(entry) == before


def test_an_internal_error_after_the_end_changes_nothing(shop):
    entry = shop.complete()
    before = shop.promotion(entry)
    fail_promotion(shop.ports, FailPromotion(**about(entry), error="Boom", cause="it broke"))
    assert shop.promotion(entry) == before


def test_a_promotion_without_an_environment_that_follows_waits_for_nothing(shop):
    shop.hold("shop")
    entry = shop.complete()
    assert find_waits(shop.ports, replace(shop.promotion(entry), following=None)) == ""


def test_a_promotion_whose_entry_has_expired_ends(shop):
    entry = shop.announce("one")
    del shop.store._entries[REPOSITORY, entry.id]
    assert review_promotions(shop.ports, REPOSITORY) == 1
    assert shop.is_ended(entry)
    assert "expired" in shop.promotion(entry).reason


def test_a_promotion_that_cannot_be_evaluated_does_not_hold_the_others_back(shop, monkeypatch):
    for each in ("shop", "blog"):
        shop.hold(each)
    shop.complete()
    shop.land(shop.announce("blog", "blog", "test"), "blog")
    shop.report("t1", image_set="blog")
    for each in ("shop", "blog"):
        shop.hold(each, hold=False)
    first, other = shop.store.open_promotions(REPOSITORY)
    settle = type(shop.workflows).settle

    def refuse_the_first(workflows, token, output):
        if token == first.token:
            raise CloudUnavailable("Step Functions", "throttled")
        settle(workflows, token, output)

    monkeypatch.setattr(type(shop.workflows), "settle", refuse_the_first)
    with pytest.raises(ExceptionGroup) as failed:
        review_promotions(shop.ports, REPOSITORY)
    (error,) = failed.value.exceptions
    assert isinstance(error, CloudUnavailable)
    assert first.entry in error.__notes__[0]
    assert other.token in shop.workflows.settled
    assert shop.store.open_promotions(REPOSITORY)[0] == first


def test_a_promotion_that_changed_since_it_was_read_is_evaluated_as_it_is_now(shop):
    shop.hold("shop")
    entry = shop.complete()
    read = shop.promotion(entry)
    shop.store.save_promotion(replace(read, approved_by="rhea"))
    shop.hold("shop", hold=False)
    reviewed = review_promotion(shop.ports, read)
    assert (reviewed.approved_by, reviewed.reason) == ("rhea", "")
    assert shop.promotion(entry) == reviewed


def test_an_entry_that_waits_for_a_commit_gets_a_worker_and_no_promotion(shop):
    entry = shop.announce("one")
    queued = replace(entry, id="queued", state=EntryState.QUEUED)
    head = shop.store.head(REPOSITORY)
    shop.store.commit(head, replace(head, waiting=(*head.waiting, queued.id)), [queued])
    follow_update(shop.ports, FollowUpdate(repository=REPOSITORY, entry=queued.id))
    assert [repository for _, repository in shop.ports.update_workflows.workers] == [REPOSITORY]
    assert shop.promotion(queued) is None


def test_a_report_of_the_same_operation_is_a_repeated_one_whatever_it_says(shop):
    shop.land(shop.announce("one"), "one")
    first = DeployedTarget("shop", "s1", shop.tip, succeeded=True, operation_id="sync-1")
    assert not report_target(shop.ports, REPOSITORY, first).repeated
    before = shop.store.environment(REPOSITORY, "shop", "staging")
    assert report_target(shop.ports, REPOSITORY, replace(first, succeeded=False)).repeated
    assert shop.store.environment(REPOSITORY, "shop", "staging") == before


def test_a_stack_of_a_repository_without_known_commits_is_waited_for_as_it_is_now():
    shop = Promotions(AFTER, settings=LISTED)
    entry = shop.announce("one")
    (stack,) = shop.promotion(entry).following.stacks
    assert (stack.repository, stack.head, stack.seen_at) == (INFRA, "", None)
    shop.ports.queues.enqueue(deployment_in(State.QUEUED, repository=INFRA, stack="network"))
    shop.land(entry, "one")
    for each in ("s1", "s2", "s3"):
        shop.report(each)
    assert "network" in shop.promotion(entry).reason
    assert shop.waiting("internal") == []


def test_a_stack_with_a_deployment_in_flight_is_waited_for():
    shop = Promotions(AFTER, settings=LISTED)
    at = any_deployment().request.at
    shop.ports.repository_index.remember(KnownRepository(INFRA, "main", "c" * 40, at))
    queued = deployment_in(State.QUEUED, repository=INFRA, stack="network")
    shop.ports.queues.enqueue(queued)
    head, first = shop.ports.queues.read(queued.queue)
    shop.ports.queues.commit(head, replace(head, in_flight=queued.id), take=first)
    entry = shop.complete()
    assert "is not finished" in shop.promotion(entry).reason
    assert shop.waiting("internal") == []
