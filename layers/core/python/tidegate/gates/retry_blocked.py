"""Run again what blocks deployments at a gate, under the rules of now: they are in git, so a queue carries the request.

The source of the rule is decision 210.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tidegate.deploys.authorize import Authorizer, Where
from tidegate.deploys.queue.enqueue_all import enqueue_all
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.rerun import run_again
from tidegate.ports import (
    Announcements,
    ChangeSets,
    Deliveries,
    Delivery,
    DeliveryOutcome,
    Deployments,
    Enrolled,
    EventQueue,
    Forge,
)
from tidegate.rules.errors import NotFound
from tidegate.vcs.conclude import conclude

#: The kind of delivery that asks for a retry.
RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Retry:
    """Somebody's request at ``at`` (ISO 8601 in UTC) to run ``failed`` again, by ids, which block ``blocked``."""

    blocked: Deployment
    failed: tuple[str, ...]
    by: str
    at: str


def repeated(retry: Retry, old: Deployment, branch: str) -> Deployment:
    """Return the deployment of ``branch`` that runs ``old`` again: the same for the same request."""
    return run_again(old, branch, retry.by, retry.at, f"gate {retry.blocked.id} {old.stack} {retry.at}")


@dataclass(frozen=True, slots=True)
class RetryHandover:
    """Hands retries over to where git is. The same retry once more is handed over once more, and carried out once."""

    deliveries: Deliveries
    events: EventQueue

    def hand_over(self, retry: Retry) -> None:
        """Store the retry as a delivery, and queue it. Raise CloudUnavailable; the reconciler queues what is stored."""
        fields = {
            "repository": retry.blocked.repository,
            "installation": retry.blocked.installation,
            "blocked": retry.blocked.id,
            "failed": list(retry.failed),
            "sender": retry.by,
        }
        delivery = Delivery(f"retry-{retry.blocked.id}-{retry.at}", RETRY, fields, retry.at)
        self.deliveries.store(delivery)
        self.events.send(delivery)
        self.deliveries.mark_queued(delivery.id)


@dataclass(frozen=True, slots=True)
class BlockedRetrier:
    """Carries retries out. Asked once more, it does nothing more.

    ``rules`` puts deployments under what the default branch grants now, or says by their ids why one is not run.
    ``enqueue`` is as for pushes.
    """

    deliveries: Deliveries
    deployments: Deployments
    change_sets: ChangeSets
    forge: Forge
    announcements: Announcements
    authorizer: Authorizer
    rules: Callable[[Where, Sequence[Deployment]], Mapping[str, Deployment | str]]
    enqueue: Callable[[Deployment], object]

    def receive(self, delivery: Delivery) -> str:
        """Run again what was asked for. Return, and store with the delivery, what became of it."""
        return conclude(self.deliveries, delivery.id, lambda: self._retry(delivery))

    def _retry(self, delivery: Delivery) -> DeliveryOutcome:
        fields = delivery.fields
        where = fields["installation"], fields["repository"]
        try:
            blocked = self.deployments.get(fields["blocked"])
        except NotFound as error:
            return DeliveryOutcome(str(error))
        retry = Retry(blocked, tuple(fields["failed"]), fields["sender"], delivery.received_at)
        known = self.deployments.many(retry.failed)
        branch = self.forge.default_branch(*where)
        made = [(known[each], repeated(retry, known[each], branch)) for each in retry.failed if each in known]
        judged = self._judged(where, retry.by, [new for _, new in made])
        told, again = [], []
        for old, new in made:
            found = judged[new.id]
            told.append(f"{_name(old)}: {found if isinstance(found, str) else 'runs again.'}")
            if isinstance(found, Deployment):
                again.append((old, found))
        self._run(blocked.change_set, again)
        if len(again) < len(made):
            self.announcements.answered(blocked.id, " ".join(told))
        return DeliveryOutcome("\n".join(told), tuple(new.id for _, new in again))

    def _judged(self, where: Where, by: str, made: Sequence[Deployment]) -> Mapping[str, Deployment | str]:
        """Return by their ids what runs again, or why not. What is known was made by this retry before."""
        before = self.deployments.many([each.id for each in made])
        asking = self.authorizer.asking(where, by)
        ruled = self.rules(where, [each for each in made if each.id not in before])
        return {**before, **{key: asking.applies(each) for key, each in ruled.items()}}

    def _run(self, change_set: str, again: Sequence[tuple[Deployment, Deployment]]) -> None:
        """Enqueue what runs again, and only then let it stand for the root: who dies before is asked once more."""
        enqueue_all([new for _, new in again], self.enqueue)
        self.change_sets.enroll(
            change_set, [Enrolled(new.root.name, new.stack, new.id, new.requested_at) for _, new in again]
        )
        for old, new in again:
            self.announcements.repeated(old.id, new.id)
        self.announcements.change_moved(change_set)


def _name(deployment: Deployment) -> str:
    return f"{deployment.root.name} ({deployment.stack})"
