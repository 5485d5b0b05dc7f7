"""Compare a claimed deployment's revision with the one deployed last, and refuse it if it goes backwards."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.domain.deployment import Deployment, State, is_final
from tidegate.domain.queue import Deployed
from tidegate.domain.revision import Comparison, RevisionVerdict, judge_revision
from tidegate.messages import RevisionValidated, ValidateRevision
from tidegate.ports import Announcements, Clock, Deployments, DeployQueues, Forge
from tidegate.usecases.decide_again import deciding_again


@dataclass(frozen=True, slots=True)
class RevisionValidator:
    """Validates revisions. A deployment that is past this step is not judged again."""

    queues: DeployQueues
    deployments: Deployments
    forge: Forge
    announcements: Announcements
    clock: Clock

    def validate(self, message: ValidateRevision) -> RevisionValidated:
        """Judge the revision and record the verdict. Raise ForgeUnavailable, ForgeRefused."""
        return deciding_again(lambda: self._validate(message))

    def _validate(self, message: ValidateRevision) -> RevisionValidated:
        deployment = self.deployments.get(message.deployment)
        if deployment.state is not State.QUEUED:
            self.announcements.changed(deployment)
            return RevisionValidated(allowed=not is_final(deployment.state), reason=deployment.reason)
        head, _ = self.queues.read(message.queue)
        verdict = judge_revision(deployment.revision, head.deployed, self._compared(deployment, head.deployed))
        self._record(deployment, verdict)
        return RevisionValidated(allowed=verdict.allowed, reason=verdict.reason)

    def _compared(self, deployment: Deployment, deployed: Deployed | None) -> Comparison | None:
        if deployed is None:
            return None
        if deployed.revision.sha == deployment.revision.sha:
            return Comparison.IDENTICAL
        return self.forge.compare(
            deployment.installation, deployment.repository, deployed.revision.sha, deployment.revision.sha
        )

    def _record(self, deployment: Deployment, verdict: RevisionVerdict) -> None:
        if not verdict.allowed:
            refused = deployment.moved(State.REFUSED, self.clock.now(), verdict.reason)
            self.announcements.changed(self.deployments.save(refused))
        elif verdict.must_review != deployment.must_review:
            self.deployments.save(replace(deployment, must_review=verdict.must_review))
