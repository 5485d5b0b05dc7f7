"""Cancel what is not applied yet of a pull request that was closed without being merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from tidegate.deploys.rules.deployment import Deployment, State
from tidegate.deploys.rules.queue import QueueHead, Waiting
from tidegate.ports import Clock, Deployments, DeployQueues
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.pull_requests.rules.withdrawal import is_waiting_for_people, may_be_withdrawn, withdrawal
from tidegate.rules.actor import TIDEGATE
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound

#: Rejects a deployment, for somebody at a moment (ISO 8601 in UTC).
Reject = Callable[[str, str, str], object]


@dataclass(frozen=True, slots=True)
class ApplyCanceller:
    """Cancels deployments of closed pull requests; once more is harmless. What is approved or applying goes on.

    ``announce`` tells of one that left the line, ``reject_review`` and ``reject_gate`` end those that wait for these.
    """

    queues: DeployQueues
    deployments: Deployments
    announce: Callable[[Deployment, QueueHead], None]
    reject_review: Reject
    reject_gate: Reject
    clock: Clock

    def cancel(self, record: PullRequestRecord) -> None:
        """Cancel what ``tidegate apply`` asked for and is not applied yet. Raise Conflict or CloudUnavailable."""
        reason = withdrawal(record.spec.number)
        for each in record.applies:
            deciding_again(partial(self._withdraw, each.deployment, reason))
            self.go_on(each.deployment)

    def go_on(self, identifier: str) -> bool:
        """Reject a withdrawn deployment that waits for people or others; return whether it did."""
        deployment = self._known(identifier)
        if deployment is None or not is_waiting_for_people(deployment):
            return False
        reviewed = deployment.state is State.AWAITING_REVIEW
        reject = self.reject_review if reviewed else self.reject_gate
        reject(deployment.id, TIDEGATE, self.clock.now())
        return True

    def _known(self, identifier: str) -> Deployment | None:
        """Return the record; whoever died while asking for an apply may have left none."""
        try:
            return self.deployments.get(identifier)
        except NotFound:
            return None

    def _withdraw(self, identifier: str, reason: str) -> None:
        """Take a deployment out of the line, or let its record say that it is to end where it waits next."""
        deployment = self._known(identifier)
        if deployment is None or not may_be_withdrawn(deployment):
            return
        withdrawn = replace(deployment, withdrawn=reason, changed_at=self.clock.now())
        head, line = self.queues.line(deployment.queue)
        place = next((each for each in line if each.deployment == deployment.id), None)
        if place is None:
            self.deployments.save(withdrawn)
        else:
            self._leave(head, place, withdrawn.moved(State.REFUSED, withdrawn.changed_at, reason))

    def _leave(self, head: QueueHead, place: Waiting, refused: Deployment) -> None:
        after = self.queues.commit(head, head, take=place, deployment=refused)
        self.announce(replace(refused, version=refused.version + 1), after)
