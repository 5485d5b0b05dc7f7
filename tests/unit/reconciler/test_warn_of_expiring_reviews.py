"""Reviews that expire within a day are published, once each."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW, deployment_in
from tests.fakes.ports import memory_ports
from tidegate.deploys.rules.state import State
from tidegate.reconciler.reconcile import reconcile
from tidegate.reconciler.warn_of_expiring_reviews import warn_of_expiring_reviews

SOON = timedelta(days=6)


def warned(*deployments, after=SOON, runs=2):
    """Return whose expiry was published by some runs, so long after the reviews were asked for."""
    ports = memory_ports()
    ports.clock.at = NOW + after
    for each in deployments:
        asked = replace(each.review, asked_at=NOW) if each.review else None
        ports.queues.enqueue(replace(each, review=asked))
    for _ in range(runs):
        reconcile(ports, [warn_of_expiring_reviews])
    return ports.event_publisher.expiring


def test_a_review_is_published_once_when_its_last_day_begins():
    waiting = deployment_in(State.AWAITING_REVIEW)
    assert warned(waiting, after=SOON - timedelta(seconds=1)) == []
    assert warned(waiting) == [waiting.id]


@pytest.mark.parametrize("state", [State.APPROVED, State.PLANNING, State.REVIEW_EXPIRED])
def test_what_does_not_wait_for_a_review_is_not_published(state):
    assert warned(deployment_in(state)) == []


def test_a_decided_review_is_not_published():
    waiting = deployment_in(State.AWAITING_REVIEW)
    assert warned(replace(waiting, review=replace(waiting.review, approved=True))) == []
