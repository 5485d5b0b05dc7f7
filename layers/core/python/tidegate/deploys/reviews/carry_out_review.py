"""Go on with the answer to a plan review that is in the deployment's record."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.deploys.jobs.finish import Finisher
from tidegate.deploys.reviews.settle_review import settle_review
from tidegate.deploys.rules.deployment import Deployment, is_final
from tidegate.deploys.rules.review import is_decided
from tidegate.ports import Announcements, Deployments, Workflows


@dataclass(frozen=True, slots=True)
class ReviewCarrier:
    """Carries answers out. Doing so again is harmless, and repairs what the death of whoever recorded one left."""

    deployments: Deployments
    workflows: Workflows
    announcements: Announcements
    finisher: Finisher

    def carry_out(self, deployment: Deployment) -> None:
        """Go on with an answer that decided; do nothing where none did. Raise Conflict or CloudUnavailable."""
        if is_decided(deployment):
            self.go_on(deployment)

    def go_on(self, deployment: Deployment) -> None:
        """Audit and save a rejection, settle the review's token once it is decided, and announce what is so now.

        Raise Conflict or CloudUnavailable.
        """
        deployment = self._finished(deployment)
        if deployment.review is not None and deployment.review.approved is not None:
            settle_review(deployment, self.deployments, self.workflows)
            self.announcements.line_changed(deployment.queue)
        self.announcements.changed(deployment)

    def _finished(self, deployment: Deployment) -> Deployment:
        """Return the record after a rejection was audited and saved; any other as it is."""
        if deployment.ending is None or is_final(deployment.state):
            return deployment
        return self.deployments.save(self.finisher.ended(deployment, deployment.ending))
