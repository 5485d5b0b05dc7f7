"""Decide the reviews of several plans of a change: each as if alone, so that one refusal stops no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.authorize import Asking
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import Answer
from tidegate.ports import Ports
from tidegate.rules.access import Action
from tidegate.rules.decision import Decision
from tidegate.rules.errors import CloudUnavailable, Conflict, ForgeRefused, ForgeUnavailable

#: Plans at most: each asks the VCS provider once, and all must be done within the 29 seconds of a request.
MOST_AT_ONCE = 25


@dataclass(frozen=True, slots=True)
class ManyAnswer:
    """One answer for several plans: by whom and when, why, and whether destruction is meant (``decide_review``)."""

    answer: Answer
    by: str
    at: datetime
    reason: str = ""
    destroys: bool = False


def decide_many(
    ports: Ports, asking: Asking, chosen: Sequence[tuple[Deployment, str]], given: ManyAnswer
) -> list[tuple[Deployment, Decision]]:
    """Decide the reviews of deployments, each with the SHA-256 of the plan that was shown. Return what became of each.

    What may not be decided, or fails, is a refusal with its reason.
    """
    return [(deployment, _decide(ports, asking, deployment, seen, given)) for deployment, seen in chosen]


def _decide(ports: Ports, asking: Asking, deployment: Deployment, seen: str, given: ManyAnswer) -> Decision:
    try:
        allowed = asking.may_with(deployment, Action.REVIEW)
        if not allowed.done:
            return allowed
        return decide_review(
            ports,
            deployment.id,
            given.answer,
            given.by,
            given.at,
            seen,
            reason=given.reason,
            destroys=given.destroys,
        )
    except (CloudUnavailable, Conflict, ForgeRefused, ForgeUnavailable) as error:
        return Decision(False, f"{error} Try again.")
