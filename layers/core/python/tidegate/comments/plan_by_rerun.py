"""Plan a pull request again after *Re-run* on one of its check runs, or on all checks of its head.

The same request again plans nothing more.

A refusal is commented in the pull request.
"""

from __future__ import annotations

from tidegate.comments.answer_comment import tell
from tidegate.comments.plan_by_comment import plan_refusal
from tidegate.comments.texts.replies import ANSWERED, why_not
from tidegate.ports import Delivery, DeliveryOutcome, Ports
from tidegate.pull_requests.find_record import known_record
from tidegate.pull_requests.receive_pull_request import follow_pull_request
from tidegate.pull_requests.rules.record import PullRequestState
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.vcs.conclude import conclude


def plan_by_rerun(ports: Ports, delivery: Delivery) -> str:
    """Return the result, and store it with the delivery. Raise ForgeUnavailable, ForgeRefused, Conflict."""
    return conclude(ports.deliveries, delivery.id, lambda: _all(ports, delivery))


def _all(ports: Ports, delivery: Delivery) -> DeliveryOutcome:
    told = [_planned(ports, delivery, number) for number in delivery.fields["pull_requests"]]
    none = f"The commit is not the head of an open {ports.terms.pull_request}."
    return DeliveryOutcome("\n".join(told) or none)


def _planned(ports: Ports, delivery: Delivery, number: int) -> str:
    repository = delivery.fields["repository"]
    reference = ports.terms.reference(number)
    try:
        seen = ports.pull_request_reader.seen_pull_request(repository, number)
        if seen.spec.head_sha != delivery.fields["head_sha"]:
            return f"{reference} has a newer head, which is planned."
        known = known_record(ports, repository, number)
        if known is not None and known.state is not PullRequestState.IDLE:
            return f"{reference} is being planned."
        request = PlanRequest(delivery.id, delivery.fields["sender"])
        refusal = plan_refusal(ports, repository, request, seen)
    except ANSWERED as error:
        refusal = why_not(error)
    if refusal:
        return " ".join(filter(None, (refusal, tell(ports.comments, repository, number, refusal))))
    return follow_pull_request(ports, repository, number, request=request)
