"""Carry out ``cancel`` in a comment: cancel the pull request's plans, and dispatch it for its deployments.

The same comment again cancels nothing more, and is answered once.

Plans are cancelled here, by the function that stops executions of pull requests; the other function answers.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.comments.answer_comment import Comment
from tidegate.comments.dispatch_comment import dispatch_comment
from tidegate.comments.rules.command import Command
from tidegate.ports import DeliveryOutcome, Ports
from tidegate.pull_requests.cancel_plans import cancel_plans


def cancel_by_comment(ports: Ports, comment: Comment, command: Command) -> DeliveryOutcome:
    """Cancel plans, and dispatch the comment with the result. Raise as ``cancel_plans`` does."""
    told = cancel_plans(ports, comment.repository, comment.pull_request, comment.sender, whole=not command.roots)
    if told is not None:
        comment = replace(comment, plans=told.reason, plans_cancelled=told.done)
    return dispatch_comment(ports, comment, command)
