"""Promotion from environment to environment. Names with numbers are those of the specification's edge cases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.config_updates.promotion_scenario import REPOSITORY, STAGING, THREE, Promotions, about
from tidegate.config.model.file import FILE
from tidegate.config_updates.promotions.begin_promotion import start_promotion
from tidegate.config_updates.promotions.promote_entry import promote_entry
from tidegate.config_updates.promotions.promotion_steps import (
    end_soak,
    fail_promotion,
    find_promotion,
    wait_in_promotion,
)
from tidegate.config_updates.promotions.review_promotions import review_promotions
from tidegate.config_updates.rules.entry import EntryKind, EntryState
from tidegate.config_updates.rules.environment import MOST_LANDED, ImageSetStatus
from tidegate.config_updates.rules.fan_in import Rollout
from tidegate.config_updates.rules.promotion import STALLED_AFTER, Stage
from tidegate.config_updates.rules.queue import MOST_OPEN
from tidegate.config_updates.rules.refusals import (
    NoFileAtCommit,
    NotOnDefaultBranch,
    UnknownImageSet,
    UnknownTarget,
)
from tidegate.messages.config_updates import EndSoak, FailPromotion, OfPromotion, PromoteEntry, WaitInPromotion
from tidegate.rules.errors import NotFound


@pytest.fixture
def shop():
    return Promotions()


def test_43_two_of_three_targets_are_not_enough(shop):
    entry = shop.announce("one")
    shop.land(entry, "one")
    for each in ("s1", "s2"):
        found = shop.report(each)
    assert (found.progress.rollout, found.progress.open) == (Rollout.WAITING, ("s3",))
    assert shop.promotion(entry).stage is Stage.TARGETS
    assert shop.waiting("internal") == []


def test_44_the_third_target_at_a_later_commit_with_the_same_image_set_promotes(shop):
    entry = shop.announce("one")
    sha = shop.land(entry, "one")
    for each in ("s1", "s2"):
        shop.report(each)
    shop.push({"README.md": b"unrelated"})
    shop.report("s3")
    (promoted,) = shop.waiting("internal")
    assert (promoted.kind, promoted.source_sha, promoted.source_environment) == (EntryKind.PROMOTION, sha, "staging")
    assert (promoted.app_sha, promoted.by) == (entry.app_sha, "ci")
    assert "to internal" in shop.promotion(entry).reason
    assert shop.ports.update_workflows.workers


def test_45_a_target_with_a_newer_image_set_waits_for_it_on_all(shop):
    first = shop.announce("one")
    old = shop.land(first, "one")
    shop.report("s1", old)
    shop.report("s2", old)
    second = shop.announce("two", number=1)
    shop.land(second, "two")
    shop.report("s3")
    assert shop.waiting("internal") == []
    assert "before all targets" in shop.promotion(first).reason
    shop.report("s1")
    shop.report("s2")
    assert [each.source_sha for each in shop.waiting("internal")] == [shop.tip]


def test_46_two_last_targets_that_report_at_once_promote_once(shop, monkeypatch):
    entry = shop.announce("one")
    shop.land(entry, "one")
    shop.report("s1")
    reading, done = shop.store.environment, []

    def beside(*what):
        """Let the other target report between the read and the write of this one."""
        state = reading(*what)
        if not done:
            done.append(True)
            shop.report("s3")
        return state

    monkeypatch.setattr(shop.store, "environment", beside)
    shop.report("s2")
    assert len(shop.waiting("internal")) == 1
    assert shop.store.environment(REPOSITORY, "shop", "staging").is_complete


def test_47_a_late_report_of_an_older_image_set_brings_nothing_back(shop):
    first = shop.announce("one")
    old = shop.land(first, "one")
    second = shop.announce("two", number=1)
    shop.land(second, "two")
    for each in STAGING:
        shop.report(each)
    (promoted,) = shop.waiting("internal")
    shop.land(shop.test(promoted))
    found = [shop.report(each, old) for each in STAGING]
    assert all(each.outdated for each in found)
    reports = shop.store.environment(REPOSITORY, "shop", "staging").reports
    assert {each.identity for each in reports} == {shop.promotion(second).identity}
    assert shop.waiting("internal") == []
    assert shop.store.environment(REPOSITORY, "shop", "staging").complete == shop.promotion(second).identity


def test_47_an_older_image_set_that_was_held_does_not_follow_a_newer_one(shop):
    shop.hold("shop")
    first, second = shop.complete(), shop.complete("two", 1)
    shop.hold("shop", hold=False)
    review_promotions(shop.ports, REPOSITORY)
    shop.go_on()
    assert "newer" in shop.promotion(first).reason
    (promoted,) = shop.waiting("internal")
    assert promoted.source_sha == shop.promotion(second).commit


def test_47_an_older_image_set_adds_nothing_behind_a_newer_one_on_its_way(shop):
    shop.hold("shop")
    first = shop.complete()
    late = shop.promotion(first)
    second = shop.complete("two", 1)
    shop.hold("shop", hold=False)
    review_promotions(shop.ports, REPOSITORY)
    shop.go_on()
    assert [each.source_sha for each in shop.waiting("internal")] == [shop.promotion(second).commit]
    shop.store._promotions[REPOSITORY, first.id, 1] = late
    moved = promote_entry(shop.ports, PromoteEntry(**about(first)))
    assert "newer" in moved.reason
    assert len(shop.waiting("internal")) == 1


def test_48_a_target_that_failed_blocks_until_it_succeeds(shop):
    entry = shop.announce("one")
    shop.land(entry, "one")
    shop.report("s1")
    shop.report("s2")
    assert shop.report("s3", succeeded=False).progress.rollout is Rollout.FAILED
    assert (shop.promotion(entry).failed, shop.promotion(entry).reason) == (True, "It failed on s3.")
    assert shop.waiting("internal") == []
    shop.report("s3")
    assert len(shop.waiting("internal")) == 1
    assert not shop.promotion(entry).failed


def test_49_a_sync_of_a_commit_with_the_same_images_promotes_nothing(shop):
    shop.complete()
    (promoted,) = shop.waiting("internal")
    shop.land(shop.test(promoted))
    shop.push({"template.yaml": b"changed"})
    for each in STAGING:
        shop.report(each)
    assert shop.waiting("internal") == []
    assert shop.store.head(REPOSITORY).waiting == ()


def test_50_a_target_that_never_reports_stalls_its_environment_and_a_late_report_completes_it(shop):
    entry = shop.announce("one")
    shop.land(entry, "one")
    shop.report("s1")
    shop.report("s2")
    shop.ports.clock.advance(STALLED_AFTER.total_seconds() + 1)
    shop.stall(entry)
    assert (shop.promotion(entry).stalled, shop.promotion(entry).stage) == (True, Stage.TARGETS)
    assert shop.promotion(entry).reason == "s3 did not report within 60 minutes."
    assert not shop.store.environment(REPOSITORY, "shop", "staging").is_complete
    shop.report("s3")
    assert not shop.promotion(entry).stalled
    assert len(shop.waiting("internal")) == 1


def test_50_a_promotion_that_went_on_meanwhile_is_not_stalled(shop):
    entry = shop.complete()
    shop.stall(entry)
    assert not shop.promotion(entry).stalled


def test_51_a_promotion_that_waits_copies_its_own_image_set_while_newer_ones_arrive(shop):
    first = shop.complete()
    (promoted,) = shop.waiting("internal")
    second = shop.announce("two", number=1)
    shop.land(second, "two")
    assert promoted.source_sha == shop.promotion(first).commit
    shop.land(shop.test(promoted))
    assert shop.store.environment(REPOSITORY, "shop", "internal").newest.identity == shop.promotion(first).identity


def test_52_an_evicted_promotion_changes_nothing_and_may_be_retried(shop):
    shop.complete()
    (promoted,) = shop.waiting("internal")
    testing = shop.test(promoted)
    shop.end(testing, EntryState.EVICTED, "build failed.")
    assert "build failed" in shop.promotion(promoted).reason
    assert shop.store.environment(REPOSITORY, "shop", "internal").newest is None
    again = replace(promoted, attempt=2)
    shop.land(shop.test(again))
    shop.report("i1")
    assert len(shop.waiting("production")) == 1


def test_52_an_attempt_that_was_put_into_the_queue_again_has_a_promotion_of_its_own(shop):
    entry = shop.announce("one")
    shop.test(replace(entry, attempt=2))
    assert "queue again" in shop.promotion(entry).reason


def test_53_an_image_set_keeps_the_chain_that_it_started_with(shop):
    entry = shop.announce("one")
    shop.push({FILE: THREE.replace("{name: internal,", "{name: canary,").replace(", {name: s3}]", "]").encode()})
    shop.land(entry, "one")
    shop.report("s1")
    shop.report("s2")
    assert shop.promotion(entry).stage is Stage.TARGETS
    shop.push({FILE: THREE.encode()})
    shop.report("s3")
    assert len(shop.waiting("internal")) == 1


def test_53_an_environment_that_is_gone_has_no_promotion(shop):
    shop.push({FILE: THREE.replace("name: staging,", "name: qa,").encode()})
    entry = shop.announce("one")
    assert shop.promotion(entry).stage is Stage.ENDED
    assert "does not declare the environment" in shop.promotion(entry).reason


def test_57_two_image_sets_of_one_repository_do_not_wait_for_each_other(shop):
    entry = shop.announce("blog", "blog", "test")
    shop.complete()
    shop.land(entry, "blog")
    shop.report("t1", image_set="blog")
    assert len(shop.waiting("live", "blog")) == len(shop.waiting("internal")) == 1


def test_58_reports_are_ordered_by_their_commits_and_not_by_a_clock(shop):
    entry = shop.announce("one")
    old = shop.tip
    shop.push({"staging.json": b"before"})
    before = shop.tip
    shop.land(entry, "one")
    shop.report("s1")
    shop.ports.clock.at = shop.ports.clock.at.replace(year=2020)
    for each in ("s2", "s3"):
        shop.report(each)
    assert shop.report("s1", before).outdated
    assert len(shop.waiting("internal")) == 1
    with pytest.raises(NoFileAtCommit, match=r"has no file staging\.json"):
        shop.report("s1", old)


def test_an_image_set_that_landed_together_with_a_newer_one_ends(shop):
    """The queue records an identity for the newest image set of each environment only."""
    entry = shop.announce("one")
    shop.end(entry, EntryState.LANDED)
    assert shop.promotion(entry).reason.startswith("A newer image set of its environment landed with it")


def test_people_see_what_a_promotion_waits_for(shop):
    shop.hold("shop")
    entry = shop.complete()
    assert (REPOSITORY, entry.id) in shop.ports.event_publisher.news


def test_a_repeated_report_changes_nothing(shop):
    entry = shop.announce("one")
    shop.land(entry, "one")
    assert not shop.report("s1").repeated
    version = shop.store.environment(REPOSITORY, "shop", "staging").version
    assert shop.report("s1").repeated
    assert shop.store.environment(REPOSITORY, "shop", "staging").version == version


def test_the_last_environment_promotes_no_further(shop):
    shop.complete()
    (first,) = shop.waiting("internal")
    shop.land(shop.test(first))
    shop.report("i1")
    (second,) = shop.waiting("production")
    shop.land(shop.test(second))
    shop.report("p1")
    shop.report("p2")
    assert "no further" in shop.promotion(second).reason
    assert shop.store.head(REPOSITORY).waiting == ()


@pytest.mark.parametrize(
    ("target", "image_set", "sha", "refusal"),
    [
        ("s4", "shop", None, UnknownTarget),
        ("s1", "shops", None, UnknownImageSet),
        ("l1", "shop", None, UnknownTarget),
        ("s1", "shop", "f" * 40, NotOnDefaultBranch),
        ("s1", "shop", "main", NotOnDefaultBranch),
    ],
)
def test_a_report_that_cannot_be_right_is_refused(shop, target, image_set, sha, refusal):
    with pytest.raises(refusal):
        shop.report(target, sha, image_set)
    assert shop.store.environments(REPOSITORY) == []


def test_a_held_image_set_waits_until_it_is_released(shop):
    shop.hold("shop")
    entry = shop.complete()
    assert shop.promotion(entry).stage is Stage.AFTER
    assert shop.promotion(entry).reason == "operator holds shop: look at it first"
    assert shop.waiting("internal") == []
    shop.hold("shop", hold=False)
    assert review_promotions(shop.ports, REPOSITORY) == 1
    shop.go_on()
    assert len(shop.waiting("internal")) == 1


def _fill(shop, entries=MOST_OPEN):
    head = shop.store.head(REPOSITORY)
    shop.store.commit(head, replace(head, waiting=tuple(f"other-{number}" for number in range(entries))))


def test_an_image_set_waits_while_the_queue_is_full(shop):
    shop.hold("shop")
    entry = shop.complete()
    _fill(shop)
    shop.hold("shop", hold=False)
    review_promotions(shop.ports, REPOSITORY)
    assert (shop.promotion(entry).stage, shop.waiting("internal")) == (Stage.AFTER, [])
    assert f"{MOST_OPEN} entries" in shop.promotion(entry).reason
    _fill(shop, MOST_OPEN - 1)
    review_promotions(shop.ports, REPOSITORY)
    shop.go_on()
    assert len(shop.waiting("internal")) == 1


def test_an_image_set_waits_on_if_others_have_filled_the_queue_meanwhile(shop):
    shop.hold("shop")
    entry = shop.complete()
    shop.hold("shop", hold=False)
    _fill(shop)
    promoted = promote_entry(shop.ports, PromoteEntry(**about(entry)))
    assert (promoted.full, f"{MOST_OPEN} entries" in promoted.reason) == (True, True)
    assert (shop.promotion(entry).stage, shop.waiting("internal")) == (Stage.AFTER, [])


def test_a_target_that_fails_after_all_had_deployed_it_blocks_as_well(shop):
    shop.hold("shop")
    entry = shop.complete()
    shop.report("s2", succeeded=False)
    shop.hold("shop", hold=False)
    review_promotions(shop.ports, REPOSITORY)
    assert "failed on s2" in shop.promotion(entry).reason
    shop.report("s2")
    assert len(shop.waiting("internal")) == 1


def test_a_person_promotes_where_the_file_says_so():
    shop = Promotions(THREE.replace("targets: [{name: i1}]", "targets: [{name: i1}], promote: manual"))
    shop.complete()
    entry = shop.complete("two", 1)
    assert "Somebody must promote" in shop.promotion(entry).reason
    shop.store.save_promotion(replace(shop.promotion(entry), approved_by="rhea"))
    review_promotions(shop.ports, REPOSITORY)
    shop.go_on()
    (promoted,) = shop.waiting("internal")
    assert (promoted.by, promoted.source_sha) == ("rhea", shop.promotion(entry).commit)


def test_an_image_set_stays_for_its_soak_time():
    shop = Promotions(THREE.replace("{name: s3}]}", "{name: s3}], soak: 2h}"))
    before = shop.ports.clock.now()
    shop.complete()
    assert (shop.ports.clock.now() - before).total_seconds() >= 7200
    assert len(shop.waiting("internal")) == 1


def test_an_image_set_that_is_replaced_while_it_soaks_goes_no_further(monkeypatch):
    shop = Promotions(THREE.replace("{name: s3}]}", "{name: s3}], soak: 2h}"))
    monkeypatch.setattr(shop, "_next", lambda *_: None)
    entry = shop.announce("one")
    shop.land_by_hand("staging", "one")
    identity = shop.store.environment(REPOSITORY, "shop", "staging").newest.identity
    soaking = replace(shop.promotion(entry), stage=Stage.SOAK, identity=identity)
    shop.store.save_promotion(soaking)
    shop.land_by_hand("staging", "two")
    moved = end_soak(shop.ports, EndSoak(**about(entry)))
    assert (moved.next, moved.reason) == ("ended", "Superseded by a newer image set before it had stayed long enough.")


def test_an_image_set_behind_many_newer_ones_is_overtaken(shop):
    for number in range(MOST_LANDED):
        assert shop.store.environment(REPOSITORY, "shop", "staging").status_of("old") is ImageSetStatus.UNKNOWN
        shop.land_by_hand("staging", f"images {number}")
    assert shop.store.environment(REPOSITORY, "shop", "staging").status_of("old") is ImageSetStatus.SUPERSEDED


def test_an_environment_waits_for_another_one():
    after = "targets: [{name: i1}], after: [{environment: blog/test}]"
    shop = Promotions(THREE.replace("targets: [{name: i1}]", after))
    entry = shop.complete()
    assert shop.promotion(entry).reason == "blog/test has not deployed its newest image set."
    blog = shop.announce("blog", "blog", "test")
    shop.land(blog, "blog")
    shop.report("t1", image_set="blog")
    assert len(shop.waiting("internal")) == 1


def test_a_rollback_is_promoted_nowhere(shop):
    entry = shop.announce("one")
    rollback = shop.test(replace(entry, id="rollback-1", kind=EntryKind.ROLLBACK, source_sha=shop.tip))
    shop.land(rollback, "one")
    for each in STAGING:
        shop.report(each)
    assert "no further" in shop.promotion(rollback).reason
    assert shop.waiting("internal") == []


def test_an_environment_that_runs_the_images_already_gets_no_entry(shop):
    shop.land_by_hand("internal", "one")
    entry = shop.complete()
    assert shop.promotion(entry).reason == "internal runs it already."
    assert shop.waiting("internal") == []


def test_a_lost_message_is_made_up_for_by_the_next_one(shop):
    """The execution starts once the entry has landed already, and its waits find how far it is."""
    entry = shop.announce("one")
    shop.machines.clear()
    shop.store._promotions.clear()
    shop.ports.update_workflows.promotions.clear()
    shop.land(entry, "one")
    for each in STAGING:
        shop.report(each)
    assert len(shop.waiting("internal")) == 1


def test_starting_and_beginning_twice_is_harmless(shop):
    entry = shop.announce("one")
    for _ in range(2):
        start_promotion(shop.ports, entry)
        shop.follow(entry)
    assert len(shop.ports.update_workflows.promotions) == 1


def test_a_late_copy_of_an_earlier_wait_leaves_the_token_of_the_later_one(shop):
    entry = shop.announce("one")
    token = shop.promotion(entry).token
    message = about(entry)
    late = WaitInPromotion(**message, stage="checks", token="late", entered="2020-01-01T00:00:00+00:00")
    wait_in_promotion(shop.ports, late)
    assert shop.promotion(entry).token == token


def test_an_internal_error_is_recorded_and_leaves_the_promotion_open(shop):
    entry = shop.announce("one")
    message = about(entry)
    fail_promotion(shop.ports, FailPromotion(**message, error="Boom", cause="it broke"))
    assert (shop.promotion(entry).stage, shop.promotion(entry).reason) == (
        Stage.CHECKS,
        "Internal error: Boom: it broke",
    )
    with pytest.raises(NotFound):
        find_promotion(shop.ports, OfPromotion(**{**message, "entry_attempt": 9}))
