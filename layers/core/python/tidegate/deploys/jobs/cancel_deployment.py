"""Cancel a deployment that waits, plans or applies: the one way for buttons, comments, pages, the API and the CLI."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from tidegate.deploys.audit_first import audit_first
from tidegate.deploys.jobs.finish import Finisher
from tidegate.deploys.rules.audit import CANCELLING, audit_message, with_audited
from tidegate.deploys.rules.cancelling import (
    CancelStep,
    answer_given,
    cancelled,
    interrupted,
    is_cancelled,
    judge_cancelling,
)
from tidegate.deploys.rules.deployment import Deployment, is_final
from tidegate.deploys.rules.dropped import with_dropped
from tidegate.deploys.rules.queue import QueueHead
from tidegate.ports import Announcements, AuditLog, Deployments, DeployQueues, Jobs, Runners, Workflows
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision
from tidegate.rules.errors import DeploymentCancelled, NotFound, TooLate


@dataclass(frozen=True, slots=True)
class DeploymentCanceller:
    """Cancels deployments. Who may, the caller has looked up before. Once more is harmless, and repairs.

    That it ends as cancelled is decided by a conditional write to its record, which *Begin the apply* makes as well:
    so one of the two fails. Whatever waits for it is told after that. ``announce`` tells of one that left the line,
    ``slot_token`` returns the token with which one waits for a concurrency slot, or raises NotFound.
    """

    queues: DeployQueues
    deployments: Deployments
    jobs: Jobs
    runners: Runners
    workflows: Workflows
    announcements: Announcements
    audit: AuditLog
    finisher: Finisher
    announce: Callable[[Deployment, QueueHead], None]
    slot_token: Callable[[str], str]

    def cancel(self, deployment: str, by: str, at: str, *, is_apply: bool = False) -> Decision:
        """Cancel it for ``by``, who asked at ``at`` (ISO 8601 in UTC); an apply only if that is what they mean.

        Raise NotFound; Conflict or CloudUnavailable: call it again then.
        """
        return deciding_again(lambda: self._cancel(deployment, by, at, is_apply=is_apply))

    def go_on(self, identifier: str) -> bool:
        """Do the rest for a deployment that is cancelled and has not ended; return whether it was one.

        Raise as ``cancel``.
        """
        with suppress(NotFound):
            deployment = self.deployments.get(identifier)
            if is_cancelled(deployment) and not is_final(deployment.state):
                self._end(deployment)
                return True
        return False

    def _cancel(self, identifier: str, by: str, at: str, *, is_apply: bool) -> Decision:
        deployment = self.deployments.get(identifier)
        verdict = judge_cancelling(deployment, is_apply=is_apply)
        match verdict.step:
            case CancelStep.REFUSE:
                return Decision(False, verdict.reason)
            case CancelStep.END:
                deployment = self.deployments.save(cancelled(deployment, by, at))
            case CancelStep.INTERRUPT:
                deployment = self.deployments.save(self._audited(interrupted(deployment, by, at), at))
        ended = self._end(deployment) if is_cancelled(deployment) else self._interrupt(deployment)
        return Decision(True, answer_given(ended))

    def _end(self, deployment: Deployment) -> Deployment:
        """End the record, let the deployment leave the line, and tell whoever waits for it."""
        ending = deployment.ending
        assert ending is not None  # noqa: S101  # It is cancelled.
        if not is_final(deployment.state):
            deployment = self._left(self.finisher.ended(deployment, ending))
        self._release(deployment)
        self.announcements.changed(deployment)
        self.announcements.line_changed(deployment.queue)
        return deployment

    def _left(self, ended: Deployment) -> Deployment:
        """Save the final record; what is in line leaves it in the same write. Whoever is in flight ends its own."""
        head, line = self.queues.line(ended.queue)
        place = next((each for each in line if each.deployment == ended.id), None)
        if place is None:
            return self.deployments.save(ended)
        after = self.queues.commit(head, with_dropped(head, ended), take=place, deployment=ended)
        saved = self.deployments.get(ended.id)
        self.announce(saved, after)
        return saved

    def _release(self, deployment: Deployment) -> None:
        """Fail the tokens that may wait: for the runner, which is stopped, for others, or for people."""
        gate, review = deployment.gate, deployment.review
        for job in filter(None, (deployment.plan_job, deployment.apply_job)):
            with suppress(NotFound):  # Records of jobs expire.
                self._give_up(job)
        with suppress(NotFound):
            self._fail(self.deployments.gate_token(deployment.id, gate.id) if gate else None)
        with suppress(NotFound):
            self._fail(self.deployments.review_token(deployment.id, review.id) if review else None)
        with suppress(NotFound):
            self._fail(self.slot_token(deployment.id))

    def _give_up(self, job: str) -> None:
        """Let nobody take the job any more, fail the token that waits for its result, and stop who has taken it."""
        is_taken = self.jobs.close(job)
        self._fail(self.jobs.token(job))
        if is_taken:
            self._stop(job)

    def _fail(self, token: str | None) -> None:
        with suppress(TooLate):
            if token:
                self.workflows.fail(token, DeploymentCancelled.__name__, "Somebody cancelled the deployment.")

    def _interrupt(self, deployment: Deployment) -> Deployment:
        """Interrupt the runner that has the apply. Where none has it, none takes it any more: nothing is applied."""
        job = deployment.apply_job or ""
        if self.jobs.close(job):
            self._stop(job)
            self.announcements.changed(deployment)
            return deployment
        by = deployment.cancelled
        assert by is not None  # noqa: S101  # Whoever comes here has just set it.
        return self._end(self.deployments.save(cancelled(deployment, by.by, by.at)))

    def _stop(self, job: str) -> None:
        task = self.jobs.runner(job)
        assert task is not None  # noqa: S101  # Whoever took it said who they are.
        self.runners.stop(task, f"Somebody cancelled {job}.")

    def _audited(self, deployment: Deployment, at: str) -> Deployment:
        message = audit_message(deployment, CANCELLING, at)
        audit_first(self.audit, message)
        return with_audited(deployment, message)
