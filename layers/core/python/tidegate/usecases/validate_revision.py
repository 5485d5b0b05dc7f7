"""Compare a claimed deployment's revision with the one deployed last, and refuse it if it goes backwards."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.domain.deployment import Deployment, State, is_final
from tidegate.domain.queue import Deployed, QueueHead
from tidegate.domain.revision import Comparison, RevisionVerdict, judge_revision
from tidegate.messages import RevisionValidated, ValidateRevision
from tidegate.ports import Clock, Deployments, DeployQueues, Forge
from tidegate.usecases.decide_again import deciding_again

#: A deployment in one of these may have been judged already, but nothing of it has begun.
_NOT_BEGUN = frozenset({State.QUEUED, State.PLANNING})


@dataclass(frozen=True, slots=True)
class RevisionValidator:
    """Validates revisions. Validated once more, a deployment gets the same answer."""

    queues: DeployQueues
    deployments: Deployments
    forge: Forge
    clock: Clock

    def validate(self, message: ValidateRevision) -> RevisionValidated:
        """Judge the revision and record the verdict: a deployment that is allowed goes on to planning.

        From then on it is never put back in line, as its Terraform execution may have begun. Raise
        ForgeUnavailable, ForgeRefused, or Conflict when others keep writing.
        """
        return deciding_again(lambda: self._validate(message))

    def _validate(self, message: ValidateRevision) -> RevisionValidated:
        head, _ = self.queues.read(message.queue)
        deployment = self.deployments.get(message.deployment)
        if head.in_flight != deployment.id:
            return RevisionValidated(allowed=False, reason="This deployment is not in flight.")
        if deployment.state not in _NOT_BEGUN:
            return RevisionValidated(allowed=not is_final(deployment.state), reason=deployment.reason)
        verdict = judge_revision(deployment.revision, head.deployed, self._compared(deployment, head.deployed))
        self._record(head, deployment, verdict)
        return RevisionValidated(allowed=verdict.allowed, reason=verdict.reason)

    def _compared(self, deployment: Deployment, deployed: Deployed | None) -> Comparison | None:
        if deployed is None:
            return None
        if deployed.revision.sha == deployment.revision.sha:
            return Comparison.IDENTICAL
        return self.forge.compare(
            deployment.installation, deployment.repository, deployed.revision.sha, deployment.revision.sha
        )

    def _record(self, head: QueueHead, deployment: Deployment, verdict: RevisionVerdict) -> None:
        """Save the verdict while the deployment is in flight. A refusal is announced with the outcome."""
        judged = replace(deployment, must_review=verdict.must_review)
        if not verdict.allowed:
            judged = judged.moved(State.REFUSED, self.clock.now(), verdict.reason)
        elif judged.state is State.QUEUED:
            judged = judged.moved(State.PLANNING, self.clock.now())
        if judged != deployment:
            self.queues.commit(head, head, deployment=judged)
