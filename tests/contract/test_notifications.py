"""What every store of notifications does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW, REPOSITORY, deployment_in
from tests.contract.stores import dynamodb_client, new_table
from tests.fakes.notifications import MemoryNotifications
from tidegate.deploys.rules.state import State
from tidegate.notifications.adapters.store import DynamoNotifications
from tidegate.notifications.rules.delivery import single
from tidegate.notifications.rules.notice import notice_of
from tidegate.notifications.rules.subscription import NotificationKind, Subscription, Subscriptions
from tidegate.rules.errors import Conflict

SUBSCRIPTION = Subscription(("deploys",), (NotificationKind.REVIEW_WAITS, NotificationKind.DRIFT), "prod", 0, plan=True)


def delivery(minute=0):
    at = NOW + timedelta(minutes=minute)
    deployment = deployment_in(State.AWAITING_REVIEW)
    return single(notice_of(deployment, NotificationKind.REVIEW_WAITS, at), SUBSCRIPTION).delivery


@pytest.fixture(params=["memory", "dynamodb"])
def notifications(request):
    if request.param == "memory":
        yield MemoryNotifications()
        return
    with dynamodb_client() as client:
        yield DynamoNotifications(client, new_table(client))


def test_subscriptions_are_replaced(notifications):
    assert notifications.subscriptions(REPOSITORY) == Subscriptions(REPOSITORY)
    for listed in ((SUBSCRIPTION,), ()):
        notifications.keep_subscriptions(Subscriptions(REPOSITORY, listed))
        assert notifications.subscriptions(REPOSITORY) == Subscriptions(REPOSITORY, listed)


def test_a_delivery_is_read_as_it_was_saved_and_a_stale_one_is_refused(notifications):
    new = delivery()
    assert notifications.delivery(REPOSITORY, new.id) is None
    saved = notifications.save(new)
    assert notifications.delivery(REPOSITORY, new.id) == saved == replace(new, version=1)
    again = notifications.save(saved.delivered(NOW))
    for stale in (new, saved):
        with pytest.raises(Conflict):
            notifications.save(stale)
    assert notifications.delivery(REPOSITORY, new.id) == again


def test_the_newest_deliveries_of_a_repository_come_first(notifications):
    saved = [notifications.save(delivery(minute)) for minute in (2, 1, 3)]
    notifications.save(replace(delivery(4), repository="acme/other"))
    assert list(notifications.deliveries(REPOSITORY, 2)) == [saved[2], saved[0]]


def test_messages_are_counted_by_repository_destination_and_window(notifications):
    later = NOW + timedelta(minutes=15)
    assert [notifications.count_message(REPOSITORY, "deploys", NOW) for _ in range(3)] == [1, 2, 3]
    for other in (("acme/other", "deploys", NOW), (REPOSITORY, "owners", NOW), (REPOSITORY, "deploys", later)):
        assert notifications.count_message(*other) == 1
    assert list(notifications.deliveries(REPOSITORY, 10)) == []
