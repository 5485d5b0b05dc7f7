"""Run again what blocks deployments at a gate. A queue carries the request, because the current rules are in git.

Decision 210 has the source of the rules.

A repeated request is queued again and carried out once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from tidegate.deploys.authorize import person_asking
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.enqueue_all import enqueue_all
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.rerun import run_again
from tidegate.discovery.current_rules import under_current_rules
from tidegate.ports import (
    Delivery,
    DeliveryOutcome,
    Enrolled,
    Ports,
)
from tidegate.rules.errors import NotFound
from tidegate.rules.timestamp import timestamp_text
from tidegate.vcs.conclude import conclude

#: The kind of delivery that asks for a retry.
RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Retry:
    """Somebody's request at ``at`` to run ``failed`` again, by ids, which block ``blocked``."""

    blocked: Deployment
    failed: tuple[str, ...]
    by: str
    at: datetime


def repeated(retry: Retry, old: Deployment, branch: str) -> Deployment:
    """Return the deployment of ``branch`` that runs ``old`` again: the same for the same request."""
    return run_again(old, branch, retry.by, retry.at, f"gate {retry.blocked.id} {old.stack} {timestamp_text(retry.at)}")


def hand_over_retry(ports: Ports, retry: Retry) -> None:
    """Store the retry as a delivery, and queue it. On CloudUnavailable, the reconciler queues the stored delivery."""
    fields = {
        "repository": retry.blocked.repository,
        "blocked": retry.blocked.id,
        "failed": list(retry.failed),
        "sender": retry.by,
    }
    delivery = Delivery(f"retry-{retry.blocked.id}-{timestamp_text(retry.at)}", RETRY, fields, retry.at)
    ports.deliveries.store(delivery)
    ports.events.send(delivery)
    ports.deliveries.mark_queued(delivery.id)


def retry_blocked(ports: Ports, delivery: Delivery) -> str:
    """Carry out the retry. Return the result, and store it with the delivery."""
    return conclude(ports.deliveries, delivery.id, lambda: _retry(ports, delivery))


def _retry(ports: Ports, delivery: Delivery) -> DeliveryOutcome:
    fields = delivery.fields
    repository = fields["repository"]
    try:
        blocked = ports.deployments.get(fields["blocked"])
    except NotFound as error:
        return DeliveryOutcome(str(error))
    retry = Retry(blocked, tuple(fields["failed"]), fields["sender"], delivery.received_at)
    known = ports.deployments.many(retry.failed)
    branch = ports.commits.default_branch(repository)
    made = [(known[each], repeated(retry, known[each], branch)) for each in retry.failed if each in known]
    judged = _judged(ports, repository, retry.by, [new for _, new in made])
    told, again = [], []
    for old, new in made:
        found = judged[new.id]
        told.append(f"{_name(old)}: {found if isinstance(found, str) else 'runs again.'}")
        if isinstance(found, Deployment):
            again.append((old, found))
    _run(ports, blocked.change.id, again)
    if len(again) < len(made):
        ports.event_publisher.answered(blocked.id, " ".join(told))
    return DeliveryOutcome("\n".join(told), tuple(new.id for _, new in again))


def _judged(ports: Ports, repository: str, by: str, made: Sequence[Deployment]) -> Mapping[str, Deployment | str]:
    """Return by id what is run again, or why not. Known deployments come from an earlier call of this retry."""
    before = ports.deployments.many([each.id for each in made])
    asking = person_asking(ports, repository, by)
    ruled = under_current_rules(ports, repository, [each for each in made if each.id not in before])
    return {**before, **{key: asking.applies(each) for key, each in ruled.items()}}


def _run(ports: Ports, change_set: str, again: Sequence[tuple[Deployment, Deployment]]) -> None:
    """Enqueue the re-run, and only then add it to the change: after a crash in between, the request is repeated."""
    enqueue_all([new for _, new in again], partial(enqueue, ports))
    ports.change_sets.enroll(
        change_set, [Enrolled(new.root.name, new.stack, new.id, new.request.at) for _, new in again]
    )
    for old, new in again:
        ports.event_publisher.repeated(old.id, new.id)
    ports.event_publisher.change_moved(change_set)


def _name(deployment: Deployment) -> str:
    return f"{deployment.root.name} ({deployment.stack})"
