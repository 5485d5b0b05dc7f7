"""Carry out ``cancel`` in a comment: cancel the pull request's plans, and hand it over for its deployments."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.comments.answer_comment import Comment
from tidegate.comments.hand_over_comment import CommentHandover
from tidegate.comments.rules.command import Command
from tidegate.ports import DeliveryOutcome
from tidegate.pull_requests.cancel_plans import PlanCanceller


@dataclass(frozen=True, slots=True)
class CommentCanceller:
    """Cancels what comments ask for. The same comment once more cancels nothing more, and is answered once.

    Plans are cancelled here, where executions of pull requests are stopped anyway; the other function answers.
    """

    plans: PlanCanceller
    handover: CommentHandover

    def carry_out(self, comment: Comment, command: Command) -> DeliveryOutcome:
        """Cancel plans, and hand the comment over with what became of them. Raise as ``PlanCanceller.cancel`` does."""
        told = self.plans.cancel(comment.where, comment.pull_request, comment.sender, whole=not command.roots)
        if told is not None:
            comment = replace(comment, plans=told.reason, plans_cancelled=told.done)
        return self.handover.carry_out(comment, command)
