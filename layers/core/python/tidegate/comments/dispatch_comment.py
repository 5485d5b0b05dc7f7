"""Dispatch a comment to the function that answers buttons: it may read plans, settle reviews and stop runners.

A repeated comment is dispatched again, and decided once.
"""

from __future__ import annotations

from tidegate.comments.answer_comment import Comment
from tidegate.comments.rules.command import Command
from tidegate.ports import Delivery, DeliveryOutcome, Ports
from tidegate.rules.timestamp import timestamp_text

#: The kind of delivery of dispatched comments.
DECISION = "decision"


def dispatch_comment(ports: Ports, comment: Comment, command: Command) -> DeliveryOutcome:
    """Store the comment's request as its own delivery, and put it on the action queue."""
    fields = {
        "repository": comment.repository,
        "pull_request": comment.pull_request,
        "comment": comment.comment,
        "text": comment.text,
        "sender": comment.sender,
        "written_at": timestamp_text(comment.written_at) if comment.written_at else "",
        "plans": comment.plans,
        "plans_cancelled": comment.plans_cancelled,
    }
    delivery = Delivery(f"decision-{comment.delivery}", DECISION, fields, comment.received_at)
    ports.deliveries.store(delivery)
    ports.events.send(delivery)
    ports.deliveries.mark_queued(delivery.id)
    return DeliveryOutcome(f"The comment is answered as {delivery.id}: {command.verb}.")
