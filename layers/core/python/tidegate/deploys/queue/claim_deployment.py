"""Take the first deployment in line, or say what else a worker does next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from tidegate.deploys.rules.queue import ROUNDS_PER_EXECUTION, NextStep, QueueHead, Step, Worked, Worker, next_step
from tidegate.messages import ClaimDeployment, Claimed
from tidegate.ports import Announcements, Clock, DeployQueues
from tidegate.rules.decide_again import deciding_again


@dataclass(frozen=True, slots=True)
class DeploymentClaimer:
    """Claims deployments. The same claim again gives the deployment that is in flight.

    A worker hands over after ``most_rounds`` claims, or at its age.
    """

    queues: DeployQueues
    announcements: Announcements
    clock: Clock
    most_rounds: int = ROUNDS_PER_EXECUTION

    def claim(self, message: ClaimDeployment) -> Claimed:
        """Decide and commit the worker's next step. Raise Conflict when others keep writing."""
        return deciding_again(lambda: self._claim(message))

    def _claim(self, message: ClaimDeployment) -> Claimed:
        head, first = self.queues.read(message.queue)
        next_ = next_step(head, first, message.execution, self._worked(message), self.most_rounds)
        after = _after(head, next_)
        if after != head:
            head = self.queues.commit(head, after, take=next_.take)
        if next_.step is Step.DEPLOY:
            self.announcements.line_changed(message.queue)
        deployment = head.in_flight if next_.step is Step.DEPLOY else None
        return Claimed(step=next_.step.value, reason=next_.reason, version=head.version, deployment=deployment)

    def _worked(self, message: ClaimDeployment) -> Worked:
        age = datetime.fromisoformat(self.clock.now()) - datetime.fromisoformat(message.started)
        return Worked(message.rounds, age)


def _after(head: QueueHead, next_: NextStep) -> QueueHead:
    """Return the head after the step: the worker has begun.

    The token stays, although a worker that claims waits no more: should this be a late repetition of an
    earlier claim, the worker does wait, and the next signal must reach it.
    """
    if next_.step is Step.STOP or head.worker is None:
        return head
    worker = Worker(head.worker.execution, head.worker.generation, started=True)
    in_flight = next_.take.deployment if next_.take else head.in_flight
    return replace(head, worker=worker, in_flight=in_flight)
