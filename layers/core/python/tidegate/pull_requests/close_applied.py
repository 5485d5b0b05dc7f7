"""Close a pull request that is to be applied: a merge unlocks its queues; else what waits is cancelled, and it is said
what of it stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tidegate.deploys.rules.deployment import Deployment, Unlocking, is_final, moves_baseline
from tidegate.deploys.rules.queue import standing_of
from tidegate.ports import Clock, Deployments, DeployQueues, Forge
from tidegate.pull_requests.rules.apply_replies import closed_unmerged
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.roots.rules.root import queue_id
from tidegate.rules.actor import TIDEGATE
from tidegate.rules.decision import Decision
from tidegate.rules.errors import ForgeRefused


@dataclass(frozen=True, slots=True)
class AppliedCloser:
    """Ends what an apply left open. Once more is harmless. ``unlock`` unlocks a queue, and says what came of it.

    ``cancel`` cancels what is not applied yet.
    """

    queues: DeployQueues
    deployments: Deployments
    forge: Forge
    unlock: Callable[[str, Unlocking], Decision]
    cancel: Callable[[PullRequestRecord], None]
    clock: Clock

    def close(self, record: PullRequestRecord, *, merged: bool) -> None:
        """Do what is to be done once a pull request is closed. Raise ForgeUnavailable, Conflict or CloudUnavailable."""
        if merged:
            self._unlock(record)
        else:
            self.cancel(record)
            self._tell(record)

    def _unlock(self, record: PullRequestRecord) -> None:
        """Unlock what it locked: the branch has what was tried by now."""
        for queue in dict.fromkeys(queue_id(record.spec.repository, each.root) for each in record.applies):
            lock = self.queues.read(queue)[0].lock
            if lock is not None and lock.pull_request == record.spec.number:
                self.unlock(queue, Unlocking(TIDEGATE, self.clock.now()))

    def _tell(self, record: PullRequestRecord) -> None:
        """Say once what stays, and what does not come any more.

        That it cannot be said, as the conversation is locked, is no reason to go on trying.
        """
        spec, found = record.spec, list(self.deployments.many([each.deployment for each in record.applies]).values())
        kinds = (
            self._stays(found),
            [each for each in found if each.withdrawn],
            [each for each in found if _goes_on(each)],
        )
        applied, cancelled, going_on = ([(each.root.name, each.revision.sha) for each in kind] for kind in kinds)
        if not (applied or cancelled or going_on):
            return
        text = closed_unmerged(applied, cancelled, going_on)
        try:
            if not self.forge.our_comments(*spec.where, spec.number, text.partition("\n")[0]):
                self.forge.comment(*spec.where, spec.number, text)
        except ForgeRefused:
            return

    def _stays(self, found: Iterable[Deployment]) -> Iterator[Deployment]:
        """Yield what it applied, as far as nothing else was deployed since."""
        for deployment in found:
            head = self.queues.read(deployment.queue)[0]
            deployed = standing_of(head, deployment).deployed
            # What has just ended is in flight until its queue says that it is deployed.
            is_there = head.in_flight == deployment.id or (
                deployed is not None and deployed.deployment == deployment.id
            )
            if is_there and moves_baseline(deployment.state):
                yield deployment


def _goes_on(deployment: Deployment) -> bool:
    return not (deployment.withdrawn or is_final(deployment.state))
