"""End the deployment in flight: its record, the queue's baseline and lock, and the announcements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from tidegate.deploys.jobs.finish import Finisher
from tidegate.deploys.rules.deployment import DONE, Deployment, Ending, State, is_final
from tidegate.deploys.rules.dropped import after_end
from tidegate.deploys.rules.queue import QueueHead, Worker, head_after, lock_at_end, locks_queue
from tidegate.ports import Announcements, Clock, DeployQueues, Jobs
from tidegate.rules.decide_again import deciding_again


@dataclass(frozen=True, slots=True)
class DeploymentEnder:
    """Ends deployments in flight."""

    queues: DeployQueues
    jobs: Jobs
    finisher: Finisher
    announcements: Announcements
    clock: Clock

    def end(self, head: QueueHead, deployment: Deployment, error: str | None, worker: Worker | None) -> Deployment:
        """End ``head``'s deployment in flight, leave the queue to ``worker``, and return the final record.

        A deployment without a result gets one now: after this no runner takes its apply any more. Raise
        Conflict, or CloudUnavailable when the audit topic does not take the message: nothing was ended then.
        """
        at = self.clock.now()
        ended = deployment
        if not is_final(deployment.state):
            ended = self.finisher.ended(deployment, self._without_result(deployment, error, at))
        after = replace(
            after_end(head, head_after(head, ended), ended),
            in_flight=None,
            last=ended.id,
            worker=worker,
            token=None,
            lock=lock_at_end(ended, head.lock, at),
        )
        if ended is deployment:
            self.queues.commit(head, after)
        else:
            self.queues.commit(head, after, deployment=ended)
            ended = replace(ended, version=ended.version + 1)
        self.announce(ended, after)
        return ended

    def end_orphan(self, head: QueueHead, deployment: Deployment, error: str) -> None:
        """End a deployment that its queue does not know. The queue goes on as before, but for its lock.

        What it may have applied counts as deployed, as nobody can tell whether that was before or after what the
        queue did meanwhile. Raise Conflict, or CloudUnavailable when the audit topic does not take the message.
        """
        at = self.clock.now()
        ended = self.finisher.ended(deployment, self._without_result(deployment, error, at))
        after = replace(head, lock=lock_at_end(ended, head.lock, at))
        if ended.state is State.OUTCOME_UNKNOWN:
            after = head_after(after, ended)
        self.queues.commit(head, after, deployment=ended)
        self.announce(replace(ended, version=ended.version + 1), after)

    def announce(self, ended: Deployment, head: QueueHead) -> None:
        """Announce the deployment's end, and that the line and the change moved on. More than once is harmless.

        The deployment that locks may be shown already, without the button that its lock brings: it is drawn again.
        """
        self.announcements.changed(ended)
        if locks_queue(ended, head):
            self.announcements.refresh(ended.id)
        self.announcements.line_changed(head.queue)
        if ended.base_sha:
            self.announcements.pull_request_applied(f"{ended.repository}#{ended.pull_request}")
        changes = {ended.change_set, *(self._contained(ended) if ended.state in DONE else ())}
        for change_set in sorted(changes - {""}):
            self.announcements.change_moved(change_set)

    def _contained(self, done: Deployment) -> Iterator[str]:
        """Say of each before it that came to a bad end that its changes are applied; yield their change sets."""
        ahead = _before(done)
        while ahead:
            older = deciding_again(partial(self._mark, ahead.pop(0), done))
            yield older.change_set
            ahead += _before(older)

    def _mark(self, identifier: str, done: Deployment) -> Deployment:
        older = self.finisher.deployments.get(identifier)
        if older.contained_by is not None or older.state in DONE:
            return older
        marked = replace(older, contained_by=done.id, contained_at=done.changed_at)
        saved = self.finisher.deployments.save(marked)
        self.announcements.changed(saved)
        return saved

    def _without_result(self, deployment: Deployment, error: str | None, at: str) -> Ending:
        taken = deployment.apply_job is not None and self.jobs.close(deployment.apply_job)
        return deployment.ending_without_result(error, at, apply_was_taken=taken)


def _before(deployment: Deployment) -> list[str]:
    return [*([deployment.contains] if deployment.contains else []), *deployment.carries]
