"""Plan a pull request again, as somebody asked for on one of its check runs, or for all checks of its head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidegate.comments.answer_comment import tell
from tidegate.comments.texts.replies import ANSWERED, why_not
from tidegate.ports import Deliveries, Delivery, DeliveryOutcome, Forge
from tidegate.pull_requests.receive_pull_request import PullRequestFollower
from tidegate.pull_requests.rules.record import PullRequestState
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.vcs.conclude import conclude
from tidegate.vcs.rules.pull_request import SeenPullRequest


class Refusing(Protocol):
    """Returns why nothing of a request is planned, in Markdown, or an empty text. Raises as ``CommentWork`` does."""

    def __call__(self, where: tuple[int, str], request: PlanRequest, seen: SeenPullRequest) -> str: ...


@dataclass(frozen=True, slots=True)
class RerunPlanner:
    """Plans again what ``tidegate plan`` in a comment would. The same demand once more plans nothing again.

    A refusal is told in the pull request. ``refusal`` judges as for comments.
    """

    deliveries: Deliveries
    forge: Forge
    refusal: Refusing
    follower: PullRequestFollower

    def receive(self, delivery: Delivery) -> str:
        """Return, and store with the delivery, what became of it. Raise ForgeUnavailable, ForgeRefused, Conflict."""
        return conclude(self.deliveries, delivery.id, lambda: self._all(delivery))

    def _all(self, delivery: Delivery) -> DeliveryOutcome:
        told = [self._planned(delivery, number) for number in delivery.fields["pull_requests"]]
        return DeliveryOutcome("\n".join(told) or "The commit is the head of no open pull request.")

    def _planned(self, delivery: Delivery, number: int) -> str:
        where = delivery.fields["installation"], delivery.fields["repository"]
        try:
            seen = self.forge.seen_pull_request(*where, number)
            if seen.spec.head_sha != delivery.fields["head_sha"]:
                return f"Pull request {number} has another commit by now, which is planned."
            known = self.follower.known(where[1], number)
            if known is not None and known.state is not PullRequestState.IDLE:
                return f"Pull request {number} is being planned."
            request = PlanRequest(delivery.id, delivery.fields["sender"])
            refusal = self.refusal(where, request, seen)
        except ANSWERED as error:
            refusal = why_not(error)
        if refusal:
            return " ".join(filter(None, (refusal, tell(self.forge, where, number, refusal))))
        return self.follower.follow(*where, number, request=request)
