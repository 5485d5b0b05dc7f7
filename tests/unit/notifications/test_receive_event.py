"""Events become deliveries to those who are notified of them, each once, and few to people."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, REPOSITORY, any_root, deployment_in, sha
from tests.unit.notifications.told import Told
from tidegate.deploys.rules.state import State
from tidegate.messages.queues import DriftFound, QueueLocked, ReviewExpiresSoon
from tidegate.notifications.keep_subscriptions import keep_subscriptions
from tidegate.notifications.receive_event import receive_drift, receive_expiring, receive_lock
from tidegate.notifications.rules.delivery import (
    MESSAGES_SECONDS,
    MOST_MESSAGES,
    MOST_NOTICES,
    DeliveryState,
    rest_of_flood,
    rest_of_window,
    window,
)
from tidegate.notifications.rules.notice import notice_of
from tidegate.notifications.rules.subscription import NotificationKind, Subscription, Subscriptions
from tidegate.ports import KnownRepository
from tidegate.rules.timestamp import timestamp_text


def waiting(number=1, root="network", **values):
    deployment = deployment_in(State.AWAITING_REVIEW, number, root=any_root(name=root, dir=f"roots/{root}"), **values)
    return replace(deployment, id=f"{root}-{number}")


def states(told):
    return [each.state for each in told.notifications.deliveries(REPOSITORY, 100)]


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (State.AWAITING_REVIEW, NotificationKind.REVIEW_WAITS),
        (State.PLAN_FAILED, NotificationKind.FAILED),
        (State.APPLIED, NotificationKind.APPLIED),
        (State.OUTCOME_UNKNOWN, NotificationKind.OUTCOME_UNKNOWN),
    ],
)
def test_a_destination_is_told_of_the_kinds_that_it_is_to_be_told_of(state, kind):
    told, others = Told("hooks", on=(kind,)), Told("hooks", on=tuple(each for each in NotificationKind if each != kind))
    assert told.put(deployment_in(state)) == "Notified: hooks."
    assert told.deliver() == [0]
    assert [name for name, _ in told.bodies] == ["hooks"]
    assert others.put(deployment_in(state)) == "Nobody is notified of it."
    assert others.queue.sent == []


def test_nobody_is_told_of_a_state_that_is_no_news_or_has_passed_or_of_what_does_not_exist():
    told = Told("hooks")
    assert "Nobody" in told.put(deployment_in(State.PLANNING, 1))
    approved = deployment_in(State.APPROVED, 2)
    told.put(approved)
    assert "approved by now" in told.event(approved, state="awaiting_review")
    assert "does not exist" in told.event(waiting(3))
    assert told.queue.sent == []


def test_a_tag_query_selects_roots_by_their_stack():
    told = Told("hooks", query="stack_name:prod")
    assert "Nobody" in told.put(waiting(1, stack="dev"))
    assert "hooks" in told.put(waiting(2, stack="prod"))


def test_the_first_subscription_that_matches_decides_for_a_destination():
    first = Subscription(("a",), (NotificationKind.DRIFT,), digest=0)
    second = Subscription(("a", "b"), (NotificationKind.DRIFT,), digest=300)
    chosen = Subscriptions(REPOSITORY, (first, second)).of(NotificationKind.DRIFT, ())
    assert [(each.destinations, each.digest) for each in chosen] == [(("a",), 0), (("b",), 300)]


def test_many_events_of_one_change_become_two_messages_to_people_and_one_each_to_programs():
    told = Told("deploys", "hooks")
    for root in ("network", "database", "cluster", "app"):
        told.put(waiting(1, root))
    pauses = told.deliver()
    assert sorted(set(pauses)) == [0, 60]
    bodies = told.bodies
    assert len([name for name, _ in bodies if name == "hooks"]) == 4
    first, rest = (body for name, body in bodies if name == "deploys")
    assert "network" in first
    assert "3 notifications" in rest
    assert all(root in rest for root in ("database", "cluster", "app"))


@given(st.integers(0, 2_000_000), st.sampled_from([1, 60, 899, 900]))
def test_a_digest_is_sent_once_its_window_is_over_and_the_queue_takes_no_longer_delay(milliseconds, digest):
    notice, now = notice_of(waiting(), NotificationKind.REVIEW_WAITS, NOW), NOW + timedelta(milliseconds=milliseconds)
    subscription = Subscription(("deploys",), (NotificationKind.REVIEW_WAITS,), digest=digest)
    for placed, length in (
        (rest_of_window(notice, subscription, now), digest),
        (rest_of_flood(notice, subscription, now), MESSAGES_SECONDS),
    ):
        assert 1 <= placed.seconds <= 900
        assert now + timedelta(seconds=placed.seconds) >= window(now, length) + timedelta(seconds=length)


def test_changes_do_not_share_messages():
    told = Told("deploys")
    told.put(waiting(1))
    told.put(waiting(2))
    assert told.deliver() == [0, 0]


def test_a_digest_shows_a_limited_number_and_counts_the_others():
    told = Told("deploys")
    for number in range(MOST_NOTICES + 4):
        told.put(waiting(1, f"root-{number}"))
    told.deliver()
    assert f"{MOST_NOTICES + 3} notifications" in told.bodies[1][1]
    assert "3 more are not shown." in told.bodies[1][1]


def test_an_unknown_outcome_is_shown_however_much_else_there_is():
    told = Told("deploys")
    for number in range(MOST_NOTICES + 4):
        told.put(waiting(1, f"root-{number}"))
    told.put(replace(waiting(1, "lost"), state=State.OUTCOME_UNKNOWN))
    told.deliver()
    assert "Outcome unknown: lost" in told.bodies[1][1]
    assert "4 more are not shown." in told.bodies[1][1]


@pytest.mark.parametrize("digest", [0, 60])
def test_a_repository_that_floods_people_sends_one_message_more_at_the_end_of_the_window(digest):
    told = Told("deploys", "owners", digest=digest)
    for number in range(MOST_MESSAGES + 5):
        told.put(waiting(number + 1, f"root-{number}"))
    pauses = told.deliver()
    assert len([each for each in pauses if not each]) == 2 * MOST_MESSAGES
    bodies = [body for name, body in told.bodies if name == "deploys"]
    assert len(bodies) == MOST_MESSAGES + 1
    assert "5 notifications" in bodies[-1]
    assert f"root-{MOST_MESSAGES + 4}" in bodies[-1]


def test_other_windows_and_programs_are_not_limited():
    told = Told("deploys", "hooks")
    for number in range(MOST_MESSAGES + 2):
        told.put(waiting(number + 1, f"root-{number}"))
    told.clock.advance(MESSAGES_SECONDS)
    told.put(waiting(900, "later"))
    told.deliver()
    assert len([name for name, _ in told.bodies if name == "hooks"]) == MOST_MESSAGES + 3
    assert "Review waits: later" in [body for name, body in told.bodies if name == "deploys"][-1]


def test_what_floods_is_told_once_and_nothing_of_it_is_lost():
    told = Told("deploys", digest=0)
    flood = [waiting(number + 1, f"root-{number}") for number in range(MOST_MESSAGES + 3)]
    for each in flood[:-1]:
        told.put(each)
    told.event(flood[-2])
    told.deliver()
    told.put(flood[-1])
    told.deliver()
    assert [f"root-{MOST_MESSAGES + 1}" in body for _, body in told.bodies].count(True) == 1
    assert "Review waits: root-" in told.bodies[-1][1]


def test_what_comes_after_its_digest_was_sent_is_sent_by_itself():
    told = Told("deploys", digest=900)
    told.put(waiting(1, "network"))
    told.put(waiting(1, "database"))
    told.deliver()
    told.put(waiting(1, "late"))
    assert told.deliver() == [0]
    assert "late" in told.bodies[-1][1]


def test_an_event_that_arrives_again_tells_nobody_twice():
    told = Told()
    one, other = waiting(1, "network"), waiting(1, "database")
    for each in (one, other):
        told.put(each)
        told.event(each)
    told.deliver()
    count = len(told.bodies)
    told.event(one)
    told.event(other)
    told.deliver()
    assert len(told.bodies) == count == 2 * 4


def test_a_new_commit_replaces_who_is_told_and_an_older_one_does_not():
    told = Told()
    listed = (Subscription(("hooks",), (NotificationKind.APPLIED,)),)
    told.ports.repository_index.remember(KnownRepository(REPOSITORY, "main", sha(2), NOW))
    keep_subscriptions(told.ports, KnownRepository(REPOSITORY, "main", sha(1), NOW), ())
    assert told.notifications.subscriptions(REPOSITORY).listed[0].destinations == (
        "hooks",
        "deploys",
        "office",
        "owners",
    )
    keep_subscriptions(told.ports, KnownRepository(REPOSITORY, "main", sha(2), NOW), listed)
    assert told.notifications.subscriptions(REPOSITORY).listed == listed


def drift(*roots):
    found = [{"root": name, "stack": stack, "state": state, "reason": ""} for name, stack, state in roots]
    event = {"repository": REPOSITORY, "schedule": "nightly", "revision": sha(1), "branch": "main", "roots": found}
    return DriftFound(detail={**event, "at": timestamp_text(NOW)})


def test_a_run_that_found_drift_is_one_message_with_the_drifted_roots():
    told = Told("owners", query="stack_name:prod")
    roots = [(f"root-{number}", "prod", "drifted") for number in range(25)]
    assert receive_drift(told.ports, drift(*roots, ("fine", "prod", "failed"))) == "Notified: owners."
    told.deliver()
    [(_, body)] = told.bodies
    assert "root-0 in prod" in body
    assert "5 more" in body
    assert "fine" not in body
    assert "/drift?repository=acme%2Finfra" in body


@pytest.mark.parametrize("roots", [(), (("a", "prod", "failed"),), (("a", "dev", "drifted"),)])
def test_a_run_without_drift_of_interest_tells_nobody(roots):
    told = Told("owners", query="stack_name:prod")
    receive_drift(told.ports, drift(*roots))
    assert told.queue.sent == []


def test_deliveries_collect_until_they_are_due():
    told = Told("deploys")
    told.put(waiting(1, "network"))
    told.put(waiting(1, "database"))
    assert set(states(told)) == {DeliveryState.SENDING, DeliveryState.COLLECTING}
    told.deliver()
    assert set(states(told)) == {DeliveryState.DELIVERED}


def lock(root="network", scope="", **fields):
    event = {"repository": REPOSITORY, "root": root, "scope": scope, "stacks": (), "deployment": "", "revision": ""}
    event |= {"by": "maintainer", "reason": "An incident.", "at": timestamp_text(NOW)}
    return QueueLocked(detail={**event, **fields})


@pytest.mark.parametrize(
    ("event", "subject"),
    [
        (lock(stacks=("dev", "prod")), "network"),
        (lock("", "prod"), "stack prod"),
        (lock("", "*"), "all roots"),
    ],
)
def test_a_lock_by_hand_is_told_with_who_locked_what_and_why(event, subject):
    told = Told("owners", query="stack_name:prod")
    assert receive_lock(told.ports, event) == receive_lock(told.ports, event) == "Notified: owners."
    told.deliver()
    [(_, body)] = told.bodies
    assert f"Locked: {subject}" in body
    assert "locked by maintainer" in body
    assert "An incident." in body
    assert f"/repositories/{REPOSITORY}" in body


@pytest.mark.parametrize("event", [lock(), lock(stacks=("dev",)), lock("", "dev")])
def test_a_lock_of_other_stacks_tells_nobody(event):
    assert "Nobody" in receive_lock(Told("owners", query="stack_name:prod").ports, event)


def test_the_lock_of_a_deployment_is_about_its_root_in_its_stack():
    told = Told("owners", query="stack_name:prod")
    one = waiting(1, stack="prod")
    told.ports.deployments.add(one)
    assert receive_lock(told.ports, lock(deployment=one.id, revision=one.revision.sha)) == "Notified: owners."
    told.deliver()
    assert f"/deployments/{one.id}" in told.bodies[0][1]


def expiring(deployment):
    at = timestamp_text(NOW)
    detail = {"deployment": deployment.id, "repository": REPOSITORY, "state": "awaiting_review", "changed_at": at}
    return ReviewExpiresSoon(detail=detail)


def test_a_review_that_expires_soon_is_told_with_its_buttons_unless_it_was_decided():
    told = Told("deploys")
    told.receivers.answered = {"deploys"}
    told.ports.deployments.add(waiting(1))
    assert receive_expiring(told.ports, expiring(waiting(1))) == "Notified: deploys."
    told.deliver()
    assert "Review expires within a day" in told.bodies[0][1]
    assert '"approve"' in told.bodies[0][1]
    approved = deployment_in(State.APPROVED, 2)
    told.ports.deployments.add(approved)
    assert "approved by now" in receive_expiring(told.ports, expiring(approved))
    assert "does not exist" in receive_expiring(told.ports, expiring(waiting(3)))


def test_without_subscriptions_nothing_is_read():
    told = Told("deploys")
    told.notifications.keep_subscriptions(Subscriptions(REPOSITORY))
    assert receive_expiring(told.ports, expiring(waiting(1))) == "Nobody is notified of it."
    assert receive_lock(told.ports, lock()) == "Nobody is notified of it."
