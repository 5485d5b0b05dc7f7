"""Merges dropped from their queue before validation: a later revision that contains one also brings its changes.

A merge that is cancelled while queued, or too large to be admitted, is no attempt. Its commits stay on the branch and
in the next plan, and so do its pushes, its rule changes and its dependencies.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.oversized import is_reduced
from tidegate.deploys.rules.queue import NOT_LET_IN, QueueHead, status_of
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import moves_baseline

#: Dropped merges that a queue remembers: many more than the pushes that are evaluated.
_MOST = 100


def with_dropped(head: QueueHead, deployment: Deployment) -> QueueHead:
    """Return a queue's head after a deployment left the queue for good."""
    if deployment.request.trigger is not Trigger.MERGE:
        return head
    return replace(head, dropped=tuple(dict.fromkeys((*head.dropped, deployment.id)))[:_MOST])


def after_end(before: QueueHead, after: QueueHead, ended: Deployment) -> QueueHead:
    """Return the head ``after`` the deployment in flight has ended, with the merges dropped until now.

    Once its apply began, the dropped merges that it contains are no longer remembered. A deployment that was neither
    admitted nor counts as not applied is dropped.
    """
    after = replace(after, dropped=before.dropped)
    if moves_baseline(ended.state):
        return replace(after, dropped=tuple(each for each in before.dropped if each not in ended.lineage.carries))
    undone = status_of(after, ended).undone
    is_undone = undone is not None and undone.deployment == ended.id
    was_to_be = ended.state not in NOT_LET_IN or ended.gate is not None or is_reduced(ended)
    return with_dropped(after, ended) if was_to_be and not is_undone else after
