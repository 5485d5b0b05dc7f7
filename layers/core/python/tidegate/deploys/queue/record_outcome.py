"""Record in its queue how a deployment ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.deploys.queue.end_deployment import DeploymentEnder
from tidegate.messages import OutcomeRecorded, RecordOutcome
from tidegate.ports import DeployQueues
from tidegate.rules.decide_again import deciding_again


@dataclass(frozen=True, slots=True)
class OutcomeRecorder:
    """Records outcomes. Recorded once more, nothing changes, and all that follows is announced again.

    ``give_back`` gives back the deployment's concurrency slot.
    """

    queues: DeployQueues
    ender: DeploymentEnder
    give_back: Callable[[str], object]

    def record(self, message: RecordOutcome) -> OutcomeRecorded:
        """End the deployment in its queue.

        Raise Conflict, or CloudUnavailable when the audit topic does not take the message: try again.
        """
        recorded = deciding_again(lambda: self._record(message))
        self.give_back(message.deployment)
        return recorded

    def _record(self, message: RecordOutcome) -> OutcomeRecorded:
        head, deployment = self.queues.read_with(message.queue, message.deployment)
        if head.in_flight == deployment.id:
            deployment = self.ender.end(head, deployment, message.error, head.worker)
        else:
            self.ender.announce(deployment, head)
        return OutcomeRecorded(state=deployment.state.value)
