"""Find roots of a push that its pull request applied before the merge, and end their deployments without work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter

from cachetools import cachedmethod

from tidegate.changes.rules.change_set import Key
from tidegate.config.resolution import configure
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Lock, QueueHead, head_after, lock_after, status_of, waiting_for
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import DONE, State
from tidegate.discovery.discover_roots import Reading, discover_roots
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import CyclicChange, InvalidConfiguration, NotFound
from tidegate.vcs.rules.forge_terms import ForgeTerms


def _commits(_self: object, deployment: Deployment, applied: Deployment) -> tuple[str, ...]:
    """Return the commits of a comparison: roots of one push usually share it."""
    return deployment.repository, applied.revision.sha, applied.request.base_sha, deployment.revision.sha


@dataclass(frozen=True)
class AppliedBefore:
    """Compares applied heads with the merge result, root by root, and caches the comparisons."""

    ports: Ports
    _differing: dict[tuple[str, ...], frozenset[Key] | None] = field(default_factory=dict)

    def enqueue(self, deployment: Deployment) -> None:
        """Enqueue a merge's deployment, or end it immediately if a pull request applied the same before.

        Its files, location, engine and steps must be as applied, and nothing else may have been deployed there since.
        Then it ends without changes, and the queue continues from its revision, unlocked. A repeated call is harmless.
        Raise as for enqueuing, ForgeUnavailable and ForgeRefused.
        """
        seen = self.ports.queues.read(deployment.queue) if deployment.request.trigger is Trigger.MERGE else None
        applied = self._standing(deployment, seen[0]) if seen else None
        if applied is not None and self._is_same(deployment, applied):
            self._settle(deployment, applied)
        else:
            enqueue(self.ports, deployment, seen)

    def _settle(self, deployment: Deployment, applied: Deployment) -> None:
        """Store it and end it. If its root was deployed otherwise meanwhile, it stays queued."""
        deciding_again(partial(self.ports.queues.enqueue, deployment.begun()))
        deciding_again(partial(self._end, deployment.queue, deployment.id, applied))
        self.ports.event_publisher.changed(self.ports.deployments.get(deployment.id))
        self.ports.event_publisher.refresh(applied.id)
        self.ports.event_publisher.queue_changed(deployment.queue)
        if deployment.change.id:
            self.ports.event_publisher.change_moved(deployment.change.id)
        ensure_worker(self.ports, deployment.queue)

    def _standing(self, deployment: Deployment, head: QueueHead) -> Deployment | None:
        """Return the deployment that a pull request applied to the same root, if it is the latest."""
        deployed = status_of(head, deployment).deployed
        if deployed is None or deployed.trigger is not Trigger.MANUAL or deployed.state not in DONE:
            return None
        applied = self.ports.deployments.many([deployed.deployment]).get(deployed.deployment)
        if applied is None or not applied.request.base_sha or applied.request.destroy or deployment.request.destroy:
            return None
        return applied if (applied.root, applied.settings.run) == (deployment.root, deployment.settings.run) else None

    def _is_same(self, deployment: Deployment, applied: Deployment) -> bool:
        differing = self._compared(deployment, applied)
        return differing is not None and (deployment.root.name, deployment.stack) not in differing

    @cachedmethod(attrgetter("_differing"), key=_commits)
    def _compared(self, deployment: Deployment, applied: Deployment) -> frozenset[Key] | None:
        """Return the roots whose merged files differ from the applied ones; None if unknown.

        The applied commit is the head merged with its base then, so changes of the base must not affect the root.
        """
        repository, base = applied.repository, applied.request.base_sha
        try:
            found = self._changed(deployment, applied.revision.sha, deployment.revision.sha)
            common = self.ports.commits.change(repository, base, applied.revision.sha).after
            besides = self._changed(deployment, common, base) if common != base else frozenset()
        except (NotFound, InvalidConfiguration, CyclicChange):
            return None
        return None if found is None or besides is None else found | besides

    def _changed(self, deployment: Deployment, before: str, after: str) -> frozenset[Key] | None:
        """Return the roots that change between two commits, or are pulled in; None if a commit is gone."""
        repository, branch = deployment.repository, deployment.revision.branch
        token = self.ports.clone_tokens.clone_token(repository)
        with self.ports.history.fetch(self.ports.addresses.clone_url(repository), token, before, after) as trees:
            if not trees.before_is_known:
                return None
            configuring = partial(configure, branch=branch, dest_branch=branch)
            found = discover_roots(trees, Reading(repository, self.ports.organization(), configuring), by_hand=True)
            return frozenset(each.member.key for each in found.members)

    def _end(self, queue: str, identifier: str, applied: Deployment) -> None:
        """End a queued deployment, if the root is still as it was applied. Raise Conflict."""
        head, deployment = self.ports.queues.read_with(queue, identifier)
        deployed = status_of(head, deployment).deployed
        stands = deployed is not None and deployed.deployment == applied.id and head.in_flight is None
        if deployment.state is not State.QUEUED or not stands:
            return
        at = self.ports.clock.now()
        ended = deployment.moved(State.NO_CHANGES, at, _reason(applied, self.ports.terms))
        lock = lock_after(head.lock, at) if head.lock and _is_of(applied, head.lock) else head.lock
        after = replace(head_after(head, ended), lock=lock)
        self.ports.queues.commit(head, after, take=waiting_for(deployment), deployment=ended)


def _is_of(applied: Deployment, lock: Lock) -> bool:
    """Tell whether a lock is there because of the pull request that was applied."""
    return lock.pull_request == applied.request.pull_request


def _reason(applied: Deployment, terms: ForgeTerms) -> str:
    return (
        f"{terms.reference(applied.request.pull_request or 0)} applied this before its merge, from "
        f"{applied.revision.short}. The merge has the same files for this root. Nothing was deployed again."
    )
