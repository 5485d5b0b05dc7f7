"""End the deployment in flight: its record, the queue's baseline and lock, and the announcements."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.domain.audit import is_audited
from tidegate.domain.deployment import Deployment, is_final
from tidegate.domain.errors import AuditUnavailable, CloudUnavailable
from tidegate.domain.queue import QueueHead, Worker, baseline_after, lock_after, locks_queue
from tidegate.ports import Announcements, AuditLog, Clock, Deployments, DeployQueues, Jobs


@dataclass(frozen=True, slots=True)
class DeploymentEnder:
    """Ends deployments in flight."""

    queues: DeployQueues
    deployments: Deployments
    jobs: Jobs
    audit: AuditLog
    announcements: Announcements
    clock: Clock

    def end(self, head: QueueHead, deployment: Deployment, error: str | None, worker: Worker | None) -> Deployment:
        """End ``head``'s deployment in flight, leave the queue to ``worker``, and return the final record.

        A deployment without a result gets one now: after this no runner takes its apply any more. Raise
        Conflict, or CloudUnavailable when the audit topic does not take the message: nothing was ended then.
        """
        at = self.clock.now()
        ended = deployment if is_final(deployment.state) else self._without_result(deployment, error, at)
        lock = lock_after(ended, at) or head.lock
        deployed = baseline_after(ended, head.deployed)
        after = replace(head, in_flight=None, last=ended.id, worker=worker, token=None, deployed=deployed, lock=lock)
        if ended is deployment:
            self.queues.commit(head, after)
        else:
            self.queues.commit(head, after, deployment=ended)
            ended = self.deployments.get(ended.id)
        self.announce(ended, after)
        return ended

    def announce(self, ended: Deployment, head: QueueHead) -> None:
        """Announce the deployment's end and, where that locked its queue, the lock. More than once is harmless.

        The deployment that locks may be shown already, without the button that its lock brings: it is drawn again.
        """
        self.announcements.changed(ended)
        if locks_queue(ended, head):
            self.announcements.refresh(ended.id)
            for waiting in self.queues.waiting(head.queue):
                self.announcements.refresh(waiting.deployment)

    def _without_result(self, deployment: Deployment, error: str | None, at: str) -> Deployment:
        taken = deployment.apply_job is not None and self.jobs.close(deployment.apply_job)
        ended = deployment.ended_without_result(taken, error, at)
        if is_audited(ended):
            try:
                self.audit.record(ended)
            except AuditUnavailable as failure:
                raise CloudUnavailable("SNS", str(failure)) from failure
        return ended
