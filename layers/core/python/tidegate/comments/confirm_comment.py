"""Verify a comment at the VCS provider if webhooks are unsigned: anybody with the token could have sent it.

An unverified one is audited, and refused.
"""

from __future__ import annotations

from tidegate.comments.answer_comment import Comment, outcome, refused
from tidegate.comments.texts.replies import not_confirmed
from tidegate.deploys.rules.audit import unconfirmed_message
from tidegate.ports import DeliveryOutcome, Ports
from tidegate.ports.webhook_verifier import WrittenComment
from tidegate.vcs.rules.webhook_verification import age_mismatch, comment_mismatch


def refuse_unconfirmed(ports: Ports, comment: Comment) -> DeliveryOutcome | None:
    """Return the result of an unverified comment, None for a verified one, or if webhooks are signed.

    Raise ForgeUnavailable and ForgeRefused, and AuditUnavailable.
    """
    if ports.webhook_verifier is None:
        return None
    written = ports.webhook_verifier.written_comment(
        comment.project, comment.repository, comment.pull_request, comment.comment
    )
    doubt = "The comment does not exist." if written is None else _doubt(comment, written)
    if not doubt:
        return None
    said = comment.delivery, comment.repository, comment.sender, doubt, comment.received_at
    ports.audit.publish(unconfirmed_message(*said))
    if written is None:  # There is no comment to reply to.
        return outcome(f"Refused: {doubt}")
    return refused(ports, comment, not_confirmed(doubt))


def _doubt(comment: Comment, written: WrittenComment) -> str:
    different = comment_mismatch(comment.sender, comment.text, written.author, written.text, [comment.prefix])
    return different or age_mismatch(written.written_at, written.edited_at, comment.received_at)
