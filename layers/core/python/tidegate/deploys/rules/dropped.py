"""Merges that left their queue without being judged: what contains them brings what they were to change.

One that is cancelled while queued, or that is too large to be let in, is no attempt. Its commits stay on the branch,
and in the next plan: so do the pushes that are judged for it, the rules that it changes, and what it was to wait for.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.oversized import is_reduced
from tidegate.deploys.rules.queue import NOT_LET_IN, QueueHead, status_of
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import moves_baseline

#: Merges that are remembered of a queue: many more than pushes that are judged.
_MOST = 100


def with_dropped(head: QueueHead, deployment: Deployment) -> QueueHead:
    """Return the head of a queue once a deployment has left its line for good."""
    if deployment.request.trigger is not Trigger.MERGE:
        return head
    return replace(head, dropped=tuple(dict.fromkeys((*head.dropped, deployment.id)))[:_MOST])


def after_end(before: QueueHead, after: QueueHead, ended: Deployment) -> QueueHead:
    """Return the head ``after`` a deployment has ended that was in flight, with what was dropped until now.

    What it carried began to be applied with it. One that was not admitted, and does not count as undone, is dropped.
    """
    after = replace(after, dropped=before.dropped)
    if moves_baseline(ended.state):
        return replace(after, dropped=tuple(each for each in before.dropped if each not in ended.lineage.carries))
    undone = status_of(after, ended).undone
    is_undone = undone is not None and undone.deployment == ended.id
    was_to_be = ended.state not in NOT_LET_IN or ended.gate is not None or is_reduced(ended)
    return with_dropped(after, ended) if was_to_be and not is_undone else after
